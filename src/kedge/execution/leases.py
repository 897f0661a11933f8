"""Throttles of a run: which to set, and which to remove again.

Only what is nobody's is set, and only what is still as it was set is removed: a throttle that
somebody else has put there, before the run or while it lasted, is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kedge.errors import ReassignmentInProgress
from kedge.execution.journal import Lease, Settings
from kedge.execution.standing import SETTLED, Observation, Standing
from kedge.model import TopicPartition
from kedge.plan import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    Change,
    broker_rates,
    move_map,
    throttles_of,
)


def lease_for(
    changes: Iterable[Change],
    standings: Mapping[TopicPartition, Standing],
    seen: Observation,
    rate: int,
) -> Lease:
    """The throttles for all that is still to be moved, at so many bytes per second and broker."""
    open_ = {c.tp: c.after for c in changes if standings[c.tp] not in SETTLED}
    ours = {tp: move for tp, move in seen.moving.items() if tp in open_}
    throttles = throttles_of(move_map(ours, open_, seen.replicas))
    rates = broker_rates(rate)
    topics: dict[str, dict[str, str]] = {
        topic: dict(zip(TOPIC_THROTTLES, (leaders, throttles.follower[topic]), strict=True))
        for topic, leaders in throttles.leader.items()
        if throttles.follower[topic]
    }
    return Lease({str(b): rates for b in throttles.brokers if b in seen.alive}, topics)


def refuse_foreign(present: Lease, ours: Lease) -> None:
    """Refuse to run where throttles stand that are not ours; `present` is what is set now."""
    for kind, settings, own in (
        ("broker", present.brokers, ours.brokers),
        ("topic", present.topics, ours.topics),
    ):
        for name, configs in settings.items():
            for config, value in configs.items():
                if own.get(name, {}).get(config) != value:
                    raise ReassignmentInProgress(
                        f"{kind} {name} has {config} already, set by somebody else",
                        hint="wait until they are done; if nobody is, delete it with "
                        "kedge configs alter --delete-config, or run with --no-throttle",
                    )


def unheard(lease: Lease, present: Lease) -> list[str]:
    """The brokers that do not tell the rates of the lease as theirs, yet."""
    return [
        name
        for name, rates in lease.brokers.items()
        if not rates.items() <= present.brokers.get(name, {}).items()
    ]


def still_ours(lease: Lease, present: Lease) -> dict[str, dict[str, list[str]]]:
    """The configs to delete, by kind (`brokers`, `topics`) and name.

    One that is not seen is deleted all the same: brokers tell of a new config a moment late, and
    deleting what is not there changes nothing.
    """
    return {
        "brokers": _unchanged(lease.brokers, present.brokers),
        "topics": _unchanged(lease.topics, present.topics),
    }


def _unchanged(leased: Settings, present: Settings) -> dict[str, list[str]]:
    found = {
        name: [
            config
            for config, value in configs.items()
            if present.get(name, {}).get(config) in (None, value)
        ]
        for name, configs in leased.items()
    }
    return {name: configs for name, configs in found.items() if configs}


def throttles_in(configs: Mapping[str, str | None], *, of_topic: bool) -> dict[str, str]:
    """The throttles among the configs of a topic or broker; empty lists throttle nothing."""
    names = TOPIC_THROTTLES if of_topic else BROKER_THROTTLES
    return {name: value for name in names if (value := configs.get(name))}
