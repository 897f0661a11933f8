"""Encodes and decodes a topic's assignment (`/brokers/topics/T`) and the state of each partition.

The assignment lists all replicas that may hold data now; replicas being added and removed are
listed again beside it (KIP-455). Version 1 had only the list, version 2 no topic id (KIP-516);
version 3 is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kedge.errors import MalformedJson
from kedge.model import BrokerId, Leadership, Recovery, ReplicaAssignment, TopicPartition
from kedge.model.scala_map_order import mutable_map_order
from kedge.store.znodes.json_fields import JsonFields, dump, load
from kedge.store.znodes.paths import partition_of, state_path, topic_path


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    """A topic's replicas by partition, and its id if it has one (22 characters of base64)."""

    partitions: Mapping[int, ReplicaAssignment]
    topic_id: str | None = None


def encode_topic(topic: TopicAssignment) -> bytes:
    """Encode an assignment, in version 3."""
    partitions = topic.partitions
    value: dict[str, Any] = {"partitions": _lists(partitions, lambda p: p.replicas, every=True)}
    if topic.topic_id is not None:
        value["topic_id"] = topic.topic_id
    value["adding_replicas"] = _lists(partitions, lambda p: p.adding)
    value["removing_replicas"] = _lists(partitions, lambda p: p.removing)
    value["version"] = 3
    return dump(value)


def _lists(
    partitions: Mapping[int, ReplicaAssignment],
    choose: Callable[[ReplicaAssignment], tuple[BrokerId, ...]],
    *,
    every: bool = False,
) -> dict[str, tuple[BrokerId, ...]]:
    lists = {str(number): choose(each) for number, each in partitions.items()}
    return {
        key: lists[key] for key in mutable_map_order(k for k, ids in lists.items() if every or ids)
    }


def decode_topic(topic: str, data: bytes | None) -> TopicAssignment:
    """Decode an assignment of any version (Kafka ignores it); partitions in ascending order."""
    fields = load(data, topic_path(topic))
    replicas, adding, removing = (
        fields.object(name) for name in ("partitions", "adding_replicas", "removing_replicas")
    )
    names = {partition_of(name, topic): name for name in replicas}
    partitions = {
        number: ReplicaAssignment(
            replicas.brokers(names[number]),
            _optional(adding, names[number]),
            _optional(removing, names[number]),
        )
        for number in sorted(names)
    }
    return TopicAssignment(partitions, fields.text("topic_id") if "topic_id" in fields else None)


def _optional(lists: JsonFields, name: str) -> tuple[BrokerId, ...]:
    return lists.brokers(name) if name in lists else ()


def encode_state(leadership: Leadership) -> bytes:
    """Encode a partition's state. Its partition epoch is the node's version and not written."""
    value: dict[str, Any] = {
        "controller_epoch": leadership.controller_epoch,
        "leader": leadership.leader,
        "version": 1,
    }
    if leadership.recovery is not Recovery.RECOVERED:
        value["leader_recovery_state"] = int(leadership.recovery)
    value["leader_epoch"] = leadership.leader_epoch
    value["isr"] = leadership.isr
    return dump(value)


def decode_state(tp: TopicPartition, data: bytes | None, version: int) -> Leadership:
    """Decode a partition's state, with the node's version as its partition epoch."""
    fields = load(data, state_path(tp))
    recovery = fields.integer("leader_recovery_state", 0)
    if recovery not in (0, 1):
        raise MalformedJson(f"leader_recovery_state {recovery} is not known", place=fields.place)
    return Leadership(
        leader=BrokerId(fields.integer("leader")),
        isr=fields.brokers("isr"),
        leader_epoch=fields.integer("leader_epoch"),
        partition_epoch=version,
        controller_epoch=fields.integer("controller_epoch"),
        recovery=Recovery(recovery),
    )
