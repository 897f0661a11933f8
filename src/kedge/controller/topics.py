"""Handles new topics, new partitions, and deleted topics."""

from __future__ import annotations

from kedge.controller.context import Context
from kedge.controller.effects import (
    AssignTopicIds,
    ReadInitialisedPartitions,
    ReadTopicRecords,
    ReadTopics,
    RecordMessage,
    Script,
    StoreAssignment,
    TopicRecord,
)
from kedge.controller.partitions import ElectionRule, bring_online, mark_partitions
from kedge.controller.replicas import move_replicas
from kedge.controller.states import PartitionState, ReplicaState
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition

Records = dict[str, TopicRecord]


def on_topics_changed(context: Context) -> Script[None]:
    """Elect leaders of new topics; remove deleted ones, without a request to brokers."""
    now: set[str] = yield ReadTopics()
    new, vanished = sorted(now - context.topics), sorted(context.topics - now)
    context.topics = set(now)
    records: Records = (yield ReadTopicRecords(new)) if new else {}
    for topic in vanished:
        context.remove_topic(topic)
    yield from load_topic_ids(context, records)
    records = yield from replace_controller_replicas(context, records)
    yield from create_partitions(context, load_assignments(context, records))


def on_topic_modified(context: Context, topic: str) -> Script[None]:
    """Create new partitions of a topic.

    Changes to replicas of existing ones are ignored: only a reassignment changes those.
    """
    records: Records = yield ReadTopicRecords((topic,))
    record = records.get(topic)
    if record is None or topic not in context.topics:
        return
    new = {tp: a for tp, a in record.assignments.items() if not context.replicas(tp)}
    if not new:
        return
    if topic in context.topics_to_be_deleted:
        yield from undo_expansion(context, topic, record)
        return
    kept = yield from replace_controller_replicas(context, {topic: record})
    new = {tp: kept[topic].assignments[tp] for tp in new}
    for tp, assignment in new.items():
        context.set_assignment(tp, assignment)
    yield from create_partitions(context, sorted(new))


def undo_expansion(context: Context, topic: str, record: TopicRecord) -> Script[None]:
    """Write back a topic that is being deleted without its new partitions."""
    yield RecordMessage(f"topic {topic} is being deleted: its new partitions are taken back")
    initialised: set[int] = yield ReadInitialisedPartitions(topic)
    kept = sorted(tp for tp in record.assignments if tp.partition in initialised)
    assignments = {tp: context.assignment(tp) for tp in kept}
    yield StoreAssignment(topic, context.topic_ids.get(topic), assignments)


def load_topic_ids(context: Context, records: Records) -> Script[None]:
    """Set topic ids; assign ids to topics without one where the protocol has ids."""
    ids = {topic: record.topic_id for topic, record in records.items()}
    without_id = {topic: records[topic] for topic in sorted(ids) if ids[topic] is None}
    if without_id and context.settings.uses_topic_ids:
        ids |= yield AssignTopicIds(without_id)
    for topic, topic_id in ids.items():
        if topic_id is not None:
            context.set_topic_id(topic, topic_id)


def replace_controller_replicas(context: Context, records: Records) -> Script[Records]:
    """Replace replicas that brokers placed on this controller.

    Brokers create some topics themselves, and choose among all nodes in their metadata. A
    controller that is not a broker is one of them.
    """
    me = context.me
    if me in context.registered:
        return records
    kept = dict(records)
    for topic, record in records.items():
        assignments = record.assignments
        if any(me in each.replicas for each in assignments.values()):
            moved = {tp: with_replaced(context, me, tp, each) for tp, each in assignments.items()}
            topic_id = context.topic_ids.get(topic)
            yield RecordMessage(f"topic {topic} had replicas on the controller: brokers get them")
            yield StoreAssignment(topic, topic_id, moved)
            kept[topic] = TopicRecord(topic_id, moved)
    return kept


def with_replaced(
    context: Context, node: BrokerId, tp: TopicPartition, assigned: ReplicaAssignment
) -> ReplicaAssignment:
    """Return an assignment with a node replaced by another broker, or removed if there is none."""
    if node not in assigned.replicas:
        return assigned
    others = sorted(b for b in context.live if b not in assigned.replicas)
    replacement = others[tp.partition % len(others)] if others else None
    replicas = [replacement if b == node else b for b in assigned.replicas]
    return ReplicaAssignment(tuple([b for b in replicas if b is not None]))


def load_assignments(context: Context, records: Records) -> list[TopicPartition]:
    """Set the assignment of each partition."""
    found = sorted(tp for record in records.values() for tp in record.assignments)
    for tp in found:
        # sorted insertion keeps every table sorted, so that later sorts are cheap
        context.set_assignment(tp, records[tp.topic].assignments[tp])
    return found


def create_partitions(context: Context, partitions: list[TopicPartition]) -> Script[None]:
    """Bring new partitions online.

    Every assigned replica becomes online, dead ones too: the start or failure of their broker
    corrects that.
    """
    if not partitions:
        return
    yield from mark_partitions(context, partitions, PartitionState.NEW)
    yield from move_replicas(context, replicas_of(context, partitions), ReplicaState.NEW)
    yield from bring_online(context, partitions, ElectionRule())
    yield from move_replicas(context, replicas_of(context, partitions), ReplicaState.ONLINE)


def replicas_of(
    context: Context, partitions: list[TopicPartition]
) -> dict[BrokerId, list[TopicPartition]]:
    """Return the assigned replicas of partitions, by broker."""
    found: dict[BrokerId, list[TopicPartition]] = {}
    for tp in partitions:
        for broker in context.replicas(tp):
            found.setdefault(broker, []).append(tp)
    return found
