"""Validates CreatePartitions: more partitions for topics that exist (KIP-195).

A topic gets a new total. The new partitions are placed after the pattern of partition 0, or as the
request lists them: the i-th list is that of partition `existing + i`. Existing partitions never
change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kedge.errors import (
    DuplicateInRequest,
    InconsistentRacks,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidTopic,
    KedgeError,
    ReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kedge.model import Broker, BrokerId
from kedge.placement import choose_brokers, expand
from kedge.topics.view import ClusterView, Partitions, Replicas


@dataclass(frozen=True, slots=True)
class ExpandRequest:
    """A topic, its new number of partitions, and optionally the replicas of the new ones."""

    topic: str
    total: int
    assignments: Sequence[Sequence[BrokerId]] | None = None


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """The partitions to add to a topic."""

    topic: str
    added: Mapping[int, Replicas]


def validate_expand(request: ExpandRequest, view: ClusterView) -> NewPartitions:
    """The partitions to add, or the first refusal, raised."""
    return _validate(request, view, choose_brokers(view.brokers))


def validate_expands(
    requests: Sequence[ExpandRequest], view: ClusterView
) -> list[NewPartitions | KedgeError]:
    """One answer for each request, in order; brokers with mixed racks refuse them all."""
    try:
        brokers = choose_brokers(view.brokers)
    except InconsistentRacks as refusal:
        return [refusal for _ in requests]
    times = Counter(request.topic for request in requests)
    answers: list[NewPartitions | KedgeError] = []
    for request in requests:
        try:
            _refuse_repeated(request, times)
            answers.append(_validate(request, view, brokers))
        except KedgeError as refusal:
            answers.append(refusal)
    return answers


def _validate(
    request: ExpandRequest, view: ClusterView, brokers: Sequence[Broker]
) -> NewPartitions:
    partitions = _partitions(request.topic, view)
    _refuse_wrong_total(request, len(partitions))
    manual = _manual(request, len(partitions), brokers)
    existing = {pid: assignment.replicas for pid, assignment in partitions.items()}
    placed = expand(brokers, existing=existing, total=request.total, manual=manual)
    return NewPartitions(request.topic, placed.as_mapping())


def _refuse_repeated(request: ExpandRequest, times: Mapping[str, int]) -> None:
    if times[request.topic] > 1:
        raise DuplicateInRequest(f"the request expands topic {request.topic!r} more than once")


def _partitions(topic: str, view: ClusterView) -> Partitions:
    if topic in view.marked:
        raise InvalidTopic(f"topic {topic} is being deleted")
    partitions = view.topics.get(topic, {})
    if moving := sorted(pid for pid, now in partitions.items() if now.in_progress):
        raise ReassignmentInProgress(
            f"topic {topic}: partition {moving[0]} is being reassigned",
            hint="wait for the reassignment, or cancel it",
        )
    if not partitions:
        raise UnknownTopicOrPartition(f"Topic {topic!r} not found")
    return partitions


def _refuse_wrong_total(request: ExpandRequest, existing: int) -> None:
    if request.total < existing:
        raise InvalidPartitions(
            f"topic {request.topic} has {existing} partitions, {request.total} would be fewer",
            hint="partitions can only be added",
        )
    if request.total == existing:
        raise InvalidPartitions(f"topic {request.topic} has {existing} partitions already")


def _manual(
    request: ExpandRequest, existing: int, brokers: Sequence[Broker]
) -> dict[int, Replicas] | None:
    if request.assignments is None:
        return None
    known = {broker.id for broker in brokers}
    unknown = sorted({b for replicas in request.assignments for b in replicas} - known)
    if unknown:
        raise InvalidReplicaAssignment(
            f"topic {request.topic}: no broker {', '.join(map(str, unknown))}"
        )
    if len(request.assignments) != request.total - existing:
        raise InvalidReplicaAssignment(
            f"topic {request.topic}: {len(request.assignments)} replica lists "
            f"for {request.total - existing} new partitions"
        )
    return {existing + i: tuple(replicas) for i, replicas in enumerate(request.assignments)}
