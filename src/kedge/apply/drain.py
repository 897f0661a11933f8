"""Empties brokers for good: checks that nothing is left on them, removes their registrations.

The moves are those of a plan, and `cordons` keeps new replicas away meanwhile. After them:

    what_is_left replicas on the brokers, in the metadata or in a log directory, copies in progress
                 included
    unregister   KRaft forgets the brokers, once they are stopped
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kedge.apply.throttles import Waiting
from kedge.cluster.port import Cluster
from kedge.errors import KedgeError, RefusedCommand, UnknownBroker
from kedge.execution import named
from kedge.model import BrokerId, TopicPartition

DELETE_S = 30.0  # brokers delete the replicas that have left them within this time
PAUSE_S = 0.2


# ---- what is left -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remains:
    """What brokers still hold.

    `unread` are the brokers whose log directories could not be read: all of them, or those that are
    `offline`, which list no replicas whatever they hold.
    """

    replicas: dict[BrokerId, list[TopicPartition]]
    unread: list[BrokerId]
    offline: dict[BrokerId, list[str]]

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
    offline: dict[BrokerId, list[str]] = {}
    for broker, dirs in cluster.log_dirs(list(held)).items():
        if isinstance(dirs, KedgeError):
            unread.append(broker)
            continue
        held[broker] |= {stored.tp for each in dirs for stored in each.replicas}
        if failed := [each.path for each in dirs if each.error is not None]:
            unread.append(broker)
            offline[broker] = failed
    return Remains({broker: sorted(tps) for broker, tps in held.items() if tps}, unread, offline)


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


def unregister(cluster: Cluster, brokers: Sequence[BrokerId]) -> list[BrokerId]:
    """Remove the registrations of brokers that are stopped and hold nothing; returns the brokers
    that had one. Some may have none, since an earlier command has unregistered them.
    """
    refuse_alive(cluster, brokers)
    answers = {broker: cluster.unregister_broker(broker) for broker in brokers}
    removed = [broker for broker, refusal in answers.items() if refusal is None]
    for refusal in answers.values():
        if refusal is not None and not (removed and isinstance(refusal, UnknownBroker)):
            raise refusal
    return removed
