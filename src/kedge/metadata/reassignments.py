"""Reassignments: a partition moves to other replicas.

An order names the target. The partition gets the target's replicas in addition (`adding`), and the
others are to go (`removing`). When the whole target is in sync, whichever request shows that also
finishes the move: shrinking and reordering finish at once. A second order starts from the mixed
list of the first; so a cancellation goes back to what is left of the original replicas.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedge.metadata.assignments import Replicas, validate_listed
from kedge.metadata.change import Wanted
from kedge.metadata.decision import Decision, Situation, refuse_too_many
from kedge.metadata.image import Partition, Topic
from kedge.metadata.partition_changes import PartitionChanger
from kedge.metadata.records import Versioned
from kedge.metadata.refusal import SUCCESS, ApiError, Refused
from kedge.model.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class ReassignmentOrder:
    """The replicas that a partition should have; None cancels its reassignment."""

    topic: str
    partition: int
    replicas: Replicas | None


@dataclass(frozen=True, slots=True)
class AlterReassignments:
    """AlterPartitionReassignments."""

    orders: tuple[ReassignmentOrder, ...]
    allow_replication_factor_change: bool = True


@dataclass(frozen=True, slots=True)
class ListReassignments:
    """ListPartitionReassignments; None is all."""

    partitions: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A reassignment in progress."""

    topic: str
    partition: int
    replicas: Replicas
    adding: Replicas
    removing: Replicas


PartitionErrors = tuple[tuple[str, int, ApiError], ...]


def alter_reassignments(at: Situation, request: AlterReassignments) -> Decision[PartitionErrors]:
    """Start, change and cancel reassignments; an order that is refused does not stop the others."""
    changer = PartitionChanger(at)
    results: list[tuple[str, int, ApiError]] = []
    records: list[Versioned] = []
    seen: set[tuple[str, int]] = set()
    for order in request.orders:
        try:
            topic, now = _find(at, order)
            _refuse_twice(order, seen)
            if order.replicas is None:
                records += _cancel(changer, topic, order.partition, now)
            else:
                allow = request.allow_replication_factor_change
                records += _start(at, changer, topic, order.partition, order.replicas, allow)
            error = SUCCESS
        except Refused as refused:
            error = refused.error
        results.append((order.topic, order.partition, error))
    refuse_too_many(len(records))
    return Decision(tuple(results), tuple(records))


def _find(at: Situation, order: ReassignmentOrder) -> tuple[Topic, Partition]:
    topic = at.image.topic_named(order.topic)
    if topic is None:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {order.topic}."
        )
    now = topic.partitions.get(order.partition)
    if now is None:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Unable to find partition {order.topic}:{order.partition}.",
        )
    return topic, now


def _refuse_twice(order: ReassignmentOrder, seen: set[tuple[str, int]]) -> None:
    # Kafka makes both records from one state; a node may not be able to replay the second.
    if (order.topic, order.partition) in seen:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"The request has partition {order.topic}:{order.partition} more than once.",
        )
    seen.add((order.topic, order.partition))


def _cancel(
    changer: PartitionChanger, topic: Topic, number: int, now: Partition
) -> list[Versioned]:
    """Back to the replicas without those that were being added."""
    if not now.reassigning:
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    replicas = tuple(r for r in now.replicas if r not in now.adding)
    isr = tuple(r for r in now.isr if r not in now.adding)
    if not isr:
        if not changer.allows_unclean(topic):
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{number} because it "
                "would require an unclean leader election.",
            )
        isr = replicas[:1]
    wanted = Wanted(
        isr=isr, replicas=replicas, removing=(), adding=(), election=changer.election(topic)
    )
    return changer.change(topic, number, wanted)


def _start(
    at: Situation,
    changer: PartitionChanger,
    topic: Topic,
    number: int,
    target: Replicas,
    allow_factor_change: bool,
) -> list[Versioned]:
    now = topic.partitions[number]
    validate_listed(at, target, None)
    if not allow_factor_change:
        _refuse_factor_change(now, target)
    removing = tuple(sorted(set(now.replicas) - set(target)))
    adding = tuple(sorted(set(target) - set(now.replicas)))
    wanted = Wanted(replicas=(*target, *removing), removing=removing or None, adding=adding or None)
    return changer.change(topic, number, wanted)


def _refuse_factor_change(now: Partition, target: Replicas) -> None:
    size = len(now.replicas)
    if now.reassigning:
        size = len({*now.replicas, *now.adding}.difference(now.removing))
    if size != len(target):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {size} to {len(target)}",
        )


def list_reassignments(
    at: Situation, request: ListReassignments
) -> Decision[tuple[Reassignment, ...]]:
    """The reassignments in progress, sorted."""
    found: list[Reassignment] = []
    asked = None if request.partitions is None else frozenset(request.partitions)
    for topic_id, number in at.image.indexes.reassigning:
        topic = at.image.topics[topic_id]
        if asked is None or (topic.name, number) in asked:
            now = topic.partitions[number]
            found.append(Reassignment(topic.name, number, now.replicas, now.adding, now.removing))
    return Decision(tuple(sorted(found, key=lambda one: (one.topic, one.partition))))
