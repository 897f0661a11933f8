"""Empties brokers for good: cordons them, checks that nothing is left, removes registrations.

The moves are those of a plan. Around them:

    cordon       no new replica is placed on the brokers (KIP-1066, Kafka 4.3 and later)
    what_is_left replicas on the brokers, in the metadata or in a log directory, copies in progress
                 included
    unregister   KRaft forgets the brokers, once they are stopped
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kedge.apply.throttles import Waiting
from kedge.cluster.port import (
    Cluster,
    ConfigChange,
    ConfigOp,
    ConfigSource,
    broker_resource,
)
from kedge.errors import KedgeError, RefusedCommand
from kedge.execution import named
from kedge.model import BrokerId, TopicPartition

CORDONED_LOG_DIRS, ALL_LOG_DIRS = "cordoned.log.dirs", "*"
DELETE_S = 30.0  # brokers delete the replicas that have left them within this time
PAUSE_S = 0.2


# ---- cordon -------------------------------------------------------------------------------------


def cordonable(cluster: Cluster, brokers: Collection[BrokerId]) -> list[BrokerId]:
    """The brokers that can be cordoned and are not.

    A broker that knows the config lists it; one whose cluster has not finalized a metadata version
    that supports it refuses the change, so the change is validated first.
    """
    found: list[BrokerId] = []
    answers = cluster.describe_configs([broker_resource(broker) for broker in sorted(brokers)])
    for resource, entries in answers.items():
        values = {} if isinstance(entries, KedgeError) else {e.name: e.value for e in entries}
        if values.get(CORDONED_LOG_DIRS, ALL_LOG_DIRS) != ALL_LOG_DIRS:
            found.append(BrokerId(int(resource.name)))
    refused = _set_cordoned(cluster, found, validate_only=True)
    return [broker for broker in found if broker not in refused]


def cordon(cluster: Cluster, brokers: Collection[BrokerId]) -> None:
    """Cordon every log directory of brokers."""
    for refusal in _set_cordoned(cluster, brokers, validate_only=False).values():
        raise refusal


def cordoned(cluster: Cluster, brokers: Collection[BrokerId]) -> list[BrokerId]:
    """The brokers among these whose own config cordons every log directory."""
    answers = cluster.describe_configs([broker_resource(broker) for broker in sorted(brokers)])
    return [
        BrokerId(int(resource.name))
        for resource, entries in answers.items()
        for entry in (() if isinstance(entries, KedgeError) else entries)
        if entry.name == CORDONED_LOG_DIRS
        and entry.source is ConfigSource.BROKER
        and entry.value == ALL_LOG_DIRS
    ]


def uncordon(cluster: Cluster, brokers: Collection[BrokerId]) -> None:
    """Let brokers receive new replicas again."""
    removal = [ConfigChange(CORDONED_LOG_DIRS, ConfigOp.DELETE)]
    changes = {broker_resource(broker): removal for broker in brokers}
    for refusal in (cluster.alter_configs(changes) if changes else {}).values():
        if refusal is not None:
            raise refusal


def _set_cordoned(
    cluster: Cluster, brokers: Collection[BrokerId], *, validate_only: bool
) -> dict[BrokerId, KedgeError]:
    change = [ConfigChange(CORDONED_LOG_DIRS, ConfigOp.SET, ALL_LOG_DIRS)]
    changes = {broker_resource(broker): change for broker in brokers}
    answers = cluster.alter_configs(changes, validate_only=validate_only) if changes else {}
    return {BrokerId(int(r.name)): refusal for r, refusal in answers.items() if refusal is not None}


# ---- what is left -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remains:
    """What brokers still hold; `unread` are those whose log directories could not be read."""

    replicas: dict[BrokerId, list[TopicPartition]]
    unread: list[BrokerId]

    @property
    def empty(self) -> bool:
        """Whether nothing was found."""
        return not self.replicas


def what_is_left(cluster: Cluster, brokers: Collection[BrokerId], waiting: Waiting) -> Remains:
    """What brokers hold after their drain; replicas that are being deleted are waited for."""
    deadline = waiting.clock() + DELETE_S
    while True:
        found = _holdings(cluster, brokers)
        if found.empty or waiting.clock() >= deadline:
            return found
        waiting.sleep(PAUSE_S)


def _holdings(cluster: Cluster, brokers: Collection[BrokerId]) -> Remains:
    held = {broker: set[TopicPartition]() for broker in sorted(brokers)}
    for name, topic in cluster.describe_topics(list(cluster.topic_names())).items():
        for each in () if isinstance(topic, KedgeError) else topic.partitions:
            for broker in held.keys() & set(each.replicas):
                held[broker].add(TopicPartition(name, each.partition))
    unread: list[BrokerId] = []
    for broker, dirs in cluster.log_dirs(list(held)).items():
        if isinstance(dirs, KedgeError):
            unread.append(broker)
            continue
        held[broker] |= {stored.tp for each in dirs for stored in each.replicas}
    return Remains({broker: sorted(tps) for broker, tps in held.items() if tps}, unread)


# ---- registrations ------------------------------------------------------------------------------


def check_registrations(cluster: Cluster) -> None:
    """Refuse to unregister where no registration outlives its broker."""
    if not cluster.keeps_registrations():
        raise RefusedCommand(
            "--unregister: this cluster keeps no registrations of stopped brokers "
            "(ZooKeeper mode, or older than Kafka 2.8)",
            hint="leave --unregister out",
        )


def refuse_alive(cluster: Cluster, brokers: Sequence[BrokerId]) -> None:
    """Refuse to unregister brokers that are alive."""
    alive = sorted(cluster.describe().alive & set(brokers))
    if alive:
        them = "it" if len(alive) == 1 else "them"
        raise RefusedCommand(
            f"{named([f'broker {broker}' for broker in alive])} cannot be unregistered while alive",
            hint=f"stop {them}, then run kedge drain {' '.join(map(str, brokers))} --unregister",
        )


def unregister(cluster: Cluster, brokers: Sequence[BrokerId]) -> None:
    """Remove the registrations of brokers that are stopped and hold nothing."""
    refuse_alive(cluster, brokers)
    for broker in brokers:
        if (refusal := cluster.unregister_broker(broker)) is not None:
            raise refusal
