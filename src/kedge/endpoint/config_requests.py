"""Requests to describe and alter configs of topics and brokers, in the metadata store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from kedge.controller.events import UncleanElectionEnabled
from kedge.endpoint.cluster_access import ClusterAccess
from kedge.endpoint.config_entries import (
    ConfigEntry,
    ConfigKind,
    ConfigSetting,
    Resource,
    ResourceType,
    as_release,
    describe_all_brokers,
    describe_broker,
    validate_broker_configs,
)
from kedge.endpoint.metadata_caches import MetadataCache
from kedge.endpoint.threads import chunks
from kedge.errors import InvalidConfiguration, InvalidRequest, KedgeError
from kedge.model import BrokerId
from kedge.model.java_text import whole_number
from kedge.protocol.reader import TEXT_BYTES_MAX
from kedge.store.znodes import DEFAULT_ENTITY
from kedge.topic_changes import change_configs
from kedge.topics import (
    Alteration,
    ClusterView,
    Described,
    Op,
    Release,
    apply_alterations,
    describe,
    validate_alter,
    validate_name,
    validate_replace,
)
from kedge.topics.alter_configs import refuse_unknown

_UNCLEAN = "unclean.leader.election.enable"

Configs = Mapping[str, str]


class TopicEntries:
    """Configs of topics, described once for all topics with the same overrides."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._made: dict[frozenset[tuple[str, str]], tuple[ConfigEntry, ...]] = {}

    def of(self, overrides: Configs) -> tuple[ConfigEntry, ...]:
        """The configs of a topic with these overrides, whether it exists or not."""
        key = frozenset(overrides.items())
        if key not in self._made:
            view = self._view
            described = describe(overrides, view.broker_configs, view.release)
            self._made[key] = tuple(_topic_entry(each, view.release) for each in described)
        return self._made[key]


def _topic_entry(described: Described, release: Release) -> ConfigEntry:
    key = release.key(described.name)
    synonyms = tuple(ConfigSetting(s.source, s.name, s.value) for s in described.synonyms)
    return ConfigEntry(
        described.name,
        described.value,
        described.source,
        ConfigKind[key.kind.name],
        synonyms=synonyms,
    )


class ConfigRequests:
    """Describe and alter the configs of topics, and of the brokers that the endpoint serves."""

    def __init__(self, cluster: ClusterAccess) -> None:
        self._cluster = cluster

    # ---- describe -----------------------------------------------------------------------------

    async def describe(
        self, node: BrokerId, resources: Sequence[Resource]
    ) -> list[Sequence[ConfigEntry] | KedgeError]:
        """All configs of each resource. In chunks: other requests use the store in between, and
        the rest is left out when the caller is cancelled."""
        cache = self._cluster.cache(node)
        found: list[Sequence[ConfigEntry] | KedgeError] = []
        for some in chunks(resources):
            found += await self._cluster.thread.run(partial(self._describe, node, some, cache))
        return found

    def _describe(
        self, node: BrokerId, resources: Sequence[Resource], cache: MetadataCache
    ) -> list[Sequence[ConfigEntry] | KedgeError]:
        view = self._cluster.views.for_configs(cache, node, _topics(resources))
        topics = TopicEntries(view)
        answers: list[Sequence[ConfigEntry] | KedgeError] = []
        for resource in resources:
            try:
                answers.append(self._describe_one(node, resource, view, topics))
            except KedgeError as refusal:
                answers.append(refusal)
        return answers

    def _describe_one(
        self, node: BrokerId, resource: Resource, view: ClusterView, topics: TopicEntries
    ) -> Sequence[ConfigEntry]:
        if resource.type == ResourceType.TOPIC:
            validate_name(resource.name)
            refuse_unknown(resource.name, view)
            return topics.of(view.overrides(resource.name))
        if resource.type == ResourceType.BROKER_LOGGER and resource.name == str(node):
            return []  # there are no loggers
        if _broker_of(node, resource) is None:
            return describe_all_brokers(view.broker_configs.dynamic_default, view.release)
        return describe_broker(view.broker_configs, view.release)

    # ---- alter --------------------------------------------------------------------------------

    async def alter(
        self,
        node: BrokerId,
        changes: Mapping[Resource, Sequence[Alteration]],
        *,
        replace: bool,
        validate_only: bool,
    ) -> Mapping[Resource, KedgeError | None]:
        """Change configs step by step; with `replace` the steps (all SET) are all that remains.
        The controller elects leaders where unclean ones are allowed from now on."""
        cache = self._cluster.cache(node)
        alter = partial(self._alter, replace=replace, validate_only=validate_only)
        outcome: dict[Resource, KedgeError | None] = {}
        for some in chunks(list(changes)):
            part = {resource: changes[resource] for resource in some}
            outcome |= await self._cluster.thread.run(partial(alter, node, part, cache))
        for resource, error in outcome.items():
            if error is None and not validate_only and any(map(_allows_unclean, changes[resource])):
                topic = resource.name if resource.type == ResourceType.TOPIC else None
                self._cluster.put_to_controllers(UncleanElectionEnabled(topic))
        return outcome

    def _alter(
        self,
        node: BrokerId,
        changes: Mapping[Resource, Sequence[Alteration]],
        cache: MetadataCache,
        *,
        replace: bool,
        validate_only: bool,
    ) -> dict[Resource, KedgeError | None]:
        """Change each resource by itself; None where it succeeded."""
        view = self._cluster.views.for_configs(cache, node, _topics(changes))
        outcome: dict[Resource, KedgeError | None] = {}
        for resource, steps in changes.items():
            try:
                entity, configs = self._validate(node, resource, steps, view, replace)
                _refuse_long(configs)
                if not validate_only:
                    change_configs(self._cluster.store.batch, {entity: configs})
                outcome[resource] = None
            except KedgeError as refusal:
                outcome[resource] = refusal
        return outcome

    def _validate(
        self,
        node: BrokerId,
        resource: Resource,
        steps: Sequence[Alteration],
        view: ClusterView,
        replace: bool,
    ) -> tuple[str, Configs]:
        if resource.type == ResourceType.TOPIC:
            return f"topics/{resource.name}", self._validate_topic(
                resource.name, steps, view, replace
            )
        broker = _broker_of(node, resource)
        entity = f"brokers/{DEFAULT_ENTITY if broker is None else broker}"
        layers = view.broker_configs
        stored = layers.dynamic_default if broker is None else layers.dynamic
        known = as_release(view.release)
        after = apply_alterations({} if replace else stored, steps, known)
        touched = [step.name for step in steps if step.op is not Op.DELETE]
        validate_broker_configs(after, touched, view.release, for_all=broker is None)
        return entity, after

    def _validate_topic(
        self, topic: str, steps: Sequence[Alteration], view: ClusterView, replace: bool
    ) -> Configs:
        policy = self._cluster.settings.alter_policy
        if replace:
            return validate_replace(topic, _texts(steps), view, policy=policy).configs
        return validate_alter(topic, steps, view, policy=policy).configs


def _broker_of(node: BrokerId, resource: Resource) -> BrokerId | None:
    """The broker that a resource names, None for all brokers. A node answers only for itself."""
    if resource.type != ResourceType.BROKER:
        raise InvalidRequest(f"{resource} has no configs here")
    if resource.name == "":
        return None
    number = whole_number(resource.name)
    if number is None:
        raise InvalidRequest(f"{resource.name!r} is not a broker's id")
    if number != node:
        raise InvalidRequest(
            f"this is broker {node}, not {number}",
            hint="send it to that broker, or leave the id empty",
        )
    return node


def _refuse_long(configs: Configs) -> None:
    """Refuse values that no response can hold: APPEND can make them longer than a string may be."""
    for name, text in configs.items():
        if len(text.encode()) > TEXT_BYTES_MAX:
            raise InvalidConfiguration(
                f"{name} would have more than {TEXT_BYTES_MAX} bytes", hint="give a shorter list"
            )


def _texts(steps: Sequence[Alteration]) -> dict[str, str]:
    empty = [step.name for step in steps if step.value is None]
    if empty:
        raise InvalidRequest(f"no value for {', '.join(empty)}")
    return {step.name: step.value for step in steps if step.value is not None}


def _topics(resources: Iterable[Resource]) -> list[str]:
    return [r.name for r in resources if r.type == ResourceType.TOPIC]


def _allows_unclean(step: Alteration) -> bool:
    wanted = step.op is Op.SET and step.name == _UNCLEAN
    return wanted and (step.value or "").strip().lower() == "true"
