"""Decides which throttles a run sets, and which of them it may remove.

Only configs that are not set are set, and only values that the run has set are removed: a throttle
that someone else set, before the run or while it lasted, is never touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kedge.errors import RefusedCommand
from kedge.execution.journal import Lease, Setting, Settings
from kedge.execution.move_status import (
    ANYWHERE,
    SETTLED,
    MoveStatus,
    Observation,
    Statuses,
    Target,
    log_dir_requests,
)
from kedge.model.runs_topic import TOPICS_OF_RUNS
from kedge.plan import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    Change,
    broker_rates,
    log_dir_brokers,
    log_dir_rates,
    move_map,
    throttles_of,
)
from kedge.plan.throttles import LOG_DIR_RATE


def lease_for(
    changes: Iterable[Change],
    statuses: Statuses,
    seen: Observation,
    rate: int | None,
    target: Target = ANYWHERE,
    *,
    log_dir_rate: int | None = None,
) -> Lease:
    """The throttles for all that is still to be moved, at so many bytes per second and broker.

    The run waits for the topics that its steps are written to: these are not throttled. Copies
    between log directories have the same rate, unless they are given one of their own.
    """
    unthrottled = SETTLED | {MoveStatus.HIDDEN}
    open_changes = [change for change in changes if statuses[change.tp] not in unthrottled]
    wanted = {
        change.tp: change.after for change in open_changes if change.tp.topic not in TOPICS_OF_RUNS
    }
    own = {tp: move for tp, move in seen.moving.items() if tp in wanted}
    throttles = throttles_of(move_map(own, wanted, seen.replicas))
    topics: dict[str, dict[str, str]] = {
        topic: dict(zip(TOPIC_THROTTLES, (leaders, throttles.follower[topic]), strict=True))
        for topic, leaders in throttles.leader.items()
        if throttles.follower[topic]
    }
    brokers: dict[str, dict[str, str]] = {}
    if rate is None:
        topics = {}
    elif topics:
        alive = (broker for broker in throttles.brokers if broker in seen.alive)
        brokers = {str(broker): dict(broker_rates(rate)) for broker in alive}
    within = log_dir_rate or rate
    if within is not None:
        for broker in log_dir_brokers(log_dir_requests(open_changes, seen, target)):
            brokers.setdefault(str(broker), {}).update(log_dir_rates(within))
    return Lease(brokers, topics)


def other_rates(
    lease: Lease, rate: int | None, log_dir_rate: int | None
) -> dict[str, dict[str, str]]:
    """The rates of a lease's brokers after a change: only those that differ from the lease's."""

    def wanted(config: str) -> int | None:
        return (log_dir_rate or rate) if config == LOG_DIR_RATE else rate

    found = {
        name: {
            config: str(new)
            for config, value in rates.items()
            if (new := wanted(config)) is not None and str(new) != value
        }
        for name, rates in lease.brokers.items()
    }
    return {name: rates for name, rates in found.items() if rates}


def missing_from(lease: Lease, wanted: Lease) -> Lease:
    """The settings of `wanted` that a lease has no value for."""
    known = {each[:3] for each in lease.settings()}
    return Lease.of(each for each in wanted.settings() if each[:3] not in known)


def foreign_throttle(present: Lease, own: Collection[Setting]) -> str:
    """The first throttle that no run of Kedge has set, as a phrase; empty where there is none."""
    for setting in present.settings():
        if setting not in own:
            return (
                f"{setting.scope} {setting.name} has {setting.config} = {setting.value}, "
                "which this run did not set"
            )
    return ""


def refuse_foreign(present: Lease, own: Collection[Setting]) -> None:
    """Refuse to run where throttles are set that no run of Kedge has set."""
    if found := foreign_throttle(present, own):
        raise RefusedCommand(
            found[0].upper() + found[1:],
            hint="wait until its owner is done; if it is a leftover, delete it with "
            "kedge configs alter --delete-config, or run with --no-throttle",
        )


def unconfirmed(lease: Lease, present: Lease) -> list[str]:
    """The brokers that do not report the rates of the lease yet."""
    return [
        name
        for name, rates in lease.brokers.items()
        if not rates.items() <= present.brokers.get(name, {}).items()
    ]


def removable(lease: Lease, own: Collection[Setting], present: Lease) -> dict[str, list[Setting]]:
    """The settings to delete, by scope: those that are as the run has set them.

    A setting that is not shown is deleted all the same: brokers show a new config a moment late,
    and deleting what is not set changes nothing.
    """
    shown = {(each.scope, each.name, each.config): each.value for each in present.settings()}
    found: dict[str, list[Setting]] = {"broker": [], "topic": []}
    for setting in lease.settings():
        value = shown.get(setting[:3])
        if value is None or setting._replace(value=value) in own:
            found[setting.scope].append(setting)
    return found


def still_leased(
    lease: Lease, own: Collection[Setting], present: Lease, unreached: Collection[str]
) -> Lease:
    """What is left of a lease after its removal: what is still set, or could not be read.

    `unreached` are the brokers that did not respond. A value that another client has set since is
    no longer leased.
    """
    shown = {each[:3] for each in present.settings() if each in own}

    def left(scope: str, settings: Settings) -> dict[str, dict[str, str]]:
        kept = {
            name: {
                config: value
                for config, value in configs.items()
                if (scope == "broker" and name in unreached) or (scope, name, config) in shown
            }
            for name, configs in settings.items()
        }
        return {name: configs for name, configs in kept.items() if configs}

    return Lease(left("broker", lease.brokers), left("topic", lease.topics))


def throttles_in(configs: Mapping[str, str | None], *, of_topic: bool) -> dict[str, str]:
    """The throttles among the configs of a topic or broker; empty lists throttle nothing."""
    names = TOPIC_THROTTLES if of_topic else BROKER_THROTTLES
    return {name: value for name in names if (value := configs.get(name))}
