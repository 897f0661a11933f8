"""Checks of a new topic's name, existing topics and replicas, before it is written.

The sequence is Kafka's, and a caller gets the first failure only. What Kafka does not check is not
checked either: on ZooKeeper a replica may be placed on a broker that does not exist, and the check
of partition ids is a sum, which negative ids can pass and 32 bits can overflow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum

from kedge.errors import InvalidReplicaAssignment, TopicExists
from kedge.model import BrokerId
from kedge.topics.config_keys import Release
from kedge.topics.config_table import V3_9
from kedge.topics.configs import NOTHING, validate_configs
from kedge.topics.names import refuse_collision, validate_name
from kedge.topics.tiered import TieredRules, validate_tiered

ReplicaLists = Mapping[int, Sequence[BrokerId]]


class Flavour(Enum):
    """Which rules apply to replicas that the request lists."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


def validate_new_topic(
    topic: str,
    assignment: ReplicaLists,
    configs: Mapping[str, str],
    *,
    existing: Collection[str],
    marked: Collection[str] = (),
    release: Release = V3_9,
    underneath: Mapping[str, str] = NOTHING,
    tiered: TieredRules | None = None,
) -> None:
    """Refuse a topic that cannot be written, for the first reason in Kafka's sequence of checks."""
    validate_layout(topic, assignment, existing=existing, marked=marked)
    values = validate_configs(configs, release=release, underneath=underneath)
    if tiered:
        validate_tiered(values, tiered)


def validate_layout(
    topic: str,
    assignment: ReplicaLists,
    *,
    existing: Collection[str],
    marked: Collection[str] = (),
) -> None:
    """Refuse a topic for its name or its replicas: all that is checked before its configs."""
    validate_name(topic)
    if topic in marked:
        raise TopicExists(
            f"topic {topic} is marked for deletion", hint="wait until it is deleted, then create it"
        )
    refuse_existing(topic, existing)
    refuse_collision(topic, existing)
    validate_shape(assignment)


def refuse_existing(topic: str, existing: Collection[str]) -> None:
    """Refuse the name of a topic that exists."""
    if topic in existing:
        raise TopicExists(f"topic {topic} already exists")


def validate_shape(assignment: ReplicaLists) -> None:
    """Refuse partitions of unequal size, a broker twice in a partition, and gaps in the ids."""
    sizes = {len(replicas) for replicas in assignment.values()}
    if len(sizes) != 1:
        found = f"have {' and '.join(map(str, sorted(sizes)))} replicas" if sizes else "are missing"
        raise InvalidReplicaAssignment(f"the partitions {found}", hint="all need the same number")
    for partition, replicas in sorted(assignment.items()):
        _refuse_twice(partition, replicas)
    if _wrapped(sum(pid for pid in assignment if pid >= 0)) != _sum_of_ids(len(assignment)):
        raise InvalidReplicaAssignment(_gaps(assignment), hint="number partitions from 0")


def validate_shape_kraft(
    assignment: ReplicaLists, *, registered: Collection[BrokerId], active: Collection[BrokerId]
) -> None:
    """KRaft's stricter rules: every broker must exist, and one per partition must be active."""
    sizes: set[int] = set()
    for partition, replicas in sorted(assignment.items()):
        _validate_replicas(partition, replicas, registered)
        sizes.add(len(replicas))
        if len(sizes) > 1:
            raise InvalidReplicaAssignment(
                f"partition {partition} has {len(replicas)} replicas, those before it do not"
            )
        if not set(replicas) & set(active):
            raise InvalidReplicaAssignment(
                f"partition {partition}: none of {_join(replicas)} is active"
            )
    if not assignment or set(assignment) != set(range(len(assignment))):
        raise InvalidReplicaAssignment(_gaps(assignment), hint="number partitions from 0")


def _validate_replicas(
    partition: int, replicas: Sequence[BrokerId], registered: Collection[BrokerId]
) -> None:
    if not replicas:
        raise InvalidReplicaAssignment(f"partition {partition} has no replicas")
    if unknown := [broker for broker in replicas if broker not in registered]:
        raise InvalidReplicaAssignment(f"partition {partition}: no broker {_join(unknown)}")
    _refuse_twice(partition, replicas)


def _refuse_twice(partition: int, replicas: Sequence[BrokerId]) -> None:
    if len(set(replicas)) != len(replicas):
        raise InvalidReplicaAssignment(
            f"partition {partition} names a broker twice: {_join(replicas)}"
        )


def _sum_of_ids(count: int) -> int:
    return count * (count - 1) // 2


def _wrapped(total: int) -> int:
    """The sum in 32-bit arithmetic."""
    return (total + 2**31) % 2**32 - 2**31


def _gaps(assignment: ReplicaLists) -> str:
    shown = ", ".join(map(str, sorted(assignment)[:5])) or "none"
    return f"partition ids are not 0 to {len(assignment) - 1}: {shown}"


def _join(brokers: Sequence[BrokerId]) -> str:
    return ",".join(map(str, brokers))
