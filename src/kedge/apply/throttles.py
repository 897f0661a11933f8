"""Reads, sets, confirms and removes throttles on a live cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from kedge.apply.run_port import Run
from kedge.cluster.port import (
    Cluster,
    ConfigChange,
    ConfigOp,
    ConfigResource,
    ConfigSource,
    broker_resource,
    topic_resource,
)
from kedge.errors import KedgeError, Unavailable, UnknownBroker, UnknownTopicOrPartition
from kedge.execution import Lease, Setting, removable, still_leased, throttles_in, unconfirmed
from kedge.execution import journal as lines
from kedge.model import BrokerId

Changes = Mapping[ConfigResource, Sequence[ConfigChange]]
UNREACHED = (UnknownBroker, Unavailable)
ABSENT = (UnknownTopicOrPartition, *UNREACHED)
OWN_SOURCES = (ConfigSource.TOPIC, ConfigSource.BROKER)
CONFIRM_S = 30.0  # longer than any broker was seen to need to apply a changed config
CONFIRM_PAUSE_S = 0.1
DELETE_ATTEMPTS, DELETE_PAUSE_S = 10, 1.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """How to wait: replaced in tests."""

    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def present_throttles(cluster: Cluster, lease: Lease) -> tuple[Lease, list[str]]:
    """The throttles on the brokers and topics of a lease, and the brokers that did not answer."""
    brokers = {broker_resource(BrokerId(int(name))): name for name in lease.brokers}
    topics = {topic_resource(name): name for name in lease.topics}
    answers = cluster.describe_configs([*brokers, *topics]) if brokers or topics else {}
    found = {True: dict[str, dict[str, str]](), False: dict[str, dict[str, str]]()}
    unreached: list[str] = []
    for resource, entries in answers.items():
        of_topic = resource in topics
        if isinstance(entries, UnknownTopicOrPartition):
            continue
        if isinstance(entries, UNREACHED) and not of_topic:
            unreached.append(resource.name)
            continue
        if isinstance(entries, KedgeError):
            raise entries
        own = {entry.name: entry.value for entry in entries if entry.source in OWN_SOURCES}
        if throttles := throttles_in(own, of_topic=of_topic):
            found[of_topic][resource.name] = throttles
    return Lease(brokers=found[False], topics=found[True]), unreached


def set_throttles(cluster: Cluster, lease: Lease) -> None:
    """Set what the lease says; lists before rates, so that no rate is set without its list."""
    for changes in _setting(lease):
        for refusal in (cluster.alter_configs(changes) if changes else {}).values():
            if refusal is not None and not isinstance(refusal, ABSENT):
                raise refusal


def authorize_throttles(cluster: Cluster, lease: Lease) -> None:
    """Raise the refusal that `set_throttles` would meet; nothing is changed."""
    for changes in _setting(lease):
        answers = cluster.alter_configs(changes, validate_only=True) if changes else {}
        for refusal in answers.values():
            if refusal is not None:
                raise refusal


def _setting(lease: Lease) -> list[Changes]:
    def steps(configs: Mapping[str, str]) -> list[ConfigChange]:
        return [ConfigChange(config, ConfigOp.SET, value) for config, value in configs.items()]

    return [
        {topic_resource(name): steps(configs) for name, configs in lease.topics.items()},
        {_broker(name): steps(configs) for name, configs in lease.brokers.items()},
    ]


def _broker(name: str) -> ConfigResource:
    return broker_resource(BrokerId(int(name)))


def until_confirmed(cluster: Cluster, lease: Lease, waiting: Waiting) -> list[str]:
    """Wait until brokers report the rates of a lease; returns those that did not in time.

    Brokers apply changed configs some time after they are stored, and a move could be faster. They
    apply them as they are stored, lists first: a broker that reports its rate has the lists.
    """
    deadline = waiting.clock() + CONFIRM_S
    while True:
        try:
            silent = unconfirmed(lease, present_throttles(cluster, lease)[0])
        except Unavailable:
            silent = list(lease.brokers)
        if not silent or waiting.clock() >= deadline:
            return silent
        waiting.sleep(CONFIRM_PAUSE_S)


# ---- removing -----------------------------------------------------------------------------------


def remove_throttles(
    cluster: Cluster, lease: Lease, own: Collection[Setting], waiting: Waiting
) -> Lease:
    """Remove the values that the run has set; returns what is not confirmed to be gone.

    A broker that is down keeps its throttles: no other broker may change them.
    """
    present, unreached = present_throttles(cluster, lease)
    missed = _delete(cluster, removable(lease, own, present), unreached)
    deadline, attempts = waiting.clock() + CONFIRM_S, DELETE_ATTEMPTS
    while True:
        present, unreached = present_throttles(cluster, lease)
        left = still_leased(lease, own, present, {*unreached, *missed})
        # A broker that answers now can be asked again: the controller may have been moving.
        answering = [name for name in missed if name not in unreached]
        again = {name: lease.brokers[name] for name in answering} if attempts else {}
        waited_for = left.topics or again or set(left.brokers) - {*unreached, *missed}
        if not waited_for or waiting.clock() >= deadline:
            return left
        waiting.sleep(DELETE_PAUSE_S if again else CONFIRM_PAUSE_S)
        if again:
            attempts -= 1
            doomed = removable(Lease(again), own, present)
            missed = [*_delete(cluster, doomed, []), *(set(missed) & set(unreached))]


def _delete(
    cluster: Cluster, doomed: Mapping[str, Sequence[Setting]], unreached: Sequence[str]
) -> list[str]:
    """Delete settings, topics first; returns the brokers that could not be reached after all."""
    missed: list[str] = []
    for scope in ("topic", "broker"):
        changes: dict[ConfigResource, list[ConfigChange]] = {}
        for setting in doomed[scope]:
            if scope == "broker" and setting.name in unreached:
                continue
            resource = topic_resource(setting.name) if scope == "topic" else _broker(setting.name)
            changes.setdefault(resource, []).append(ConfigChange(setting.config, ConfigOp.DELETE))
        for resource, refusal in (cluster.alter_configs(changes) if changes else {}).items():
            if isinstance(refusal, UNREACHED) and scope == "broker":
                missed.append(resource.name)
            elif refusal is not None and not isinstance(refusal, UnknownTopicOrPartition):
                raise refusal
    return missed


def release(cluster: Cluster, files: Run, waiting: Waiting) -> Lease:
    """Remove the throttles of a run; what no broker confirms to be gone stays in its lease."""
    record = files.record()
    if not record.lease:
        return record.lease
    left = remove_throttles(cluster, record.lease, record.own, waiting)
    if left != record.lease:
        files.write(lines.released(left))
    return left
