"""Validates changes of a topic's configs.

Steps are merged into the stored map and the whole result is validated, so an invalid override that
was stored under older rules blocks every change until it is corrected or deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kedge.errors import InvalidRequest, UnknownTopicOrPartition
from kedge.topics.config_steps import Alteration, Op, apply_alterations
from kedge.topics.config_types import show
from kedge.topics.configs import validate_configs
from kedge.topics.effective import Described, describe
from kedge.topics.policy import AlterPolicy, AlterProposal, Policy, allow
from kedge.topics.tiered import validate_tiered
from kedge.topics.view import ClusterView

__all__ = ["AlterPolicy", "NewConfigs", "describe_topic", "validate_alter", "validate_replace"]


@dataclass(frozen=True, slots=True)
class NewConfigs:
    """All overrides of the topic to be written, possibly none."""

    topic: str
    configs: Mapping[str, str]


def validate_alter(
    topic: str,
    steps: Sequence[Alteration],
    view: ClusterView,
    *,
    policy: Policy[AlterProposal] = allow,
) -> NewConfigs:
    """The overrides after these steps, or the first refusal, raised."""
    _refuse_no_name(topic)
    configs = apply_alterations(view.overrides(topic), steps, view.release)
    wanted = {step.name: None if step.op is Op.DELETE else step.value for step in steps}
    return _validate(NewConfigs(topic, configs), AlterProposal(topic, wanted), view, policy)


def validate_replace(
    topic: str,
    configs: Mapping[str, str],
    view: ClusterView,
    *,
    policy: Policy[AlterProposal] = allow,
) -> NewConfigs:
    """These overrides and no others (the older AlterConfigs), or the first refusal, raised."""
    _refuse_no_name(topic)
    wanted = NewConfigs(topic, dict(configs))
    return _validate(wanted, AlterProposal(topic, dict(configs)), view, policy)


def describe_topic(topic: str, view: ClusterView) -> list[Described]:
    """Every config of a topic and its source."""
    refuse_unknown(topic, view)
    return describe(view.overrides(topic), view.broker_configs, view.release)


def _validate(
    wanted: NewConfigs,
    proposal: AlterProposal,
    view: ClusterView,
    policy: Policy[AlterProposal],
) -> NewConfigs:
    refuse_unknown(wanted.topic, view)
    values = validate_configs(
        wanted.configs, release=view.release, underneath=view.config_defaults()
    )
    if view.tiered:
        validate_tiered(values, view.tiered, was_enabled=_was_tiered(wanted.topic, view))
    policy(proposal)
    return wanted


def _was_tiered(topic: str, view: ClusterView) -> bool:
    return view.overrides(topic).get("remote.storage.enable", "").lower() == show(True)


def _refuse_no_name(topic: str) -> None:
    if not topic:
        raise InvalidRequest("configs of all topics cannot be set at once", hint="name a topic")


def refuse_unknown(topic: str, view: ClusterView) -> None:
    if not view.knows(topic):
        raise UnknownTopicOrPartition(f"Topic {topic!r} not found")
