"""Topics get more partitions, placed or as the request lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kedge.metadata.assignments import (
    Replicas,
    new_partitions,
    placed,
    refuse_all_fenced,
    validate_listed,
)
from kedge.metadata.decision import Decision, Situation, refuse_too_many
from kedge.metadata.image import Topic
from kedge.metadata.records import Versioned
from kedge.metadata.refusal import SUCCESS, ApiError, Refused
from kedge.model.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class MorePartitions:
    """A topic's new count of partitions, perhaps with the replicas of the new ones."""

    name: str
    count: int
    assignments: tuple[Replicas, ...] | None = None


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    """CreatePartitions."""

    topics: tuple[MorePartitions, ...]
    validate_only: bool = False


NamedErrors = tuple[tuple[str, ApiError], ...]


def create_partitions(at: Situation, request: CreatePartitions) -> Decision[NamedErrors]:
    """Add partitions; a topic that is refused does not stop the others."""
    results: list[tuple[str, ApiError]] = []
    records: list[Versioned] = []
    for wanted in request.topics:
        try:
            records += _expand(at, wanted)
            results.append((wanted.name, SUCCESS))
        except Refused as refused:
            results.append((wanted.name, refused.error))
    refuse_too_many(len(records))
    return Decision(tuple(results), () if request.validate_only else tuple(records))


def _expand(at: Situation, wanted: MorePartitions) -> list[Versioned]:
    topic = at.image.topic_named(wanted.name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    first = len(topic.partitions)
    _validate_count(wanted, first)
    more = wanted.count - first
    factor = len(topic.partitions[_pattern(topic)].replicas)
    lists = placed(at, more, factor) if wanted.assignments is None else wanted.assignments
    if wanted.assignments is not None:
        _validate_lists(at, wanted.assignments, more, first, factor)
    return new_partitions(at, topic.id, lists, first=first)


_HASH = 11_400_714_819_323_198_485  # Fibonacci hashing, as Kafka's tables do it
_LOAD = 0.75


def _pattern(topic: Topic) -> int:
    """The partition whose number of replicas new partitions get: the first of Kafka's hash table.

    That matters only while a topic has partitions of different size. The table doubles as it fills,
    one entry early if any entry was ever replaced; in its first slot the newest entry comes first.
    """
    capacity = 2
    replaced = any(partition.epoch for partition in topic.partitions.values())
    while (len(topic.partitions) + replaced) * _LOAD > capacity:
        capacity *= 2
    shift = 65 - capacity.bit_length()
    return max(n for n in topic.partitions if not (n * _HASH % 2**64) >> shift)


def _validate_count(wanted: MorePartitions, now: int) -> None:
    if wanted.count == now:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {now} partition(s).")
    if wanted.count < now:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {wanted.name} currently has {now} partition(s); {wanted.count} would not "
            "be an increase.",
        )


def _validate_lists(
    at: Situation, lists: Sequence[Replicas], more: int, first: int, factor: int
) -> None:
    if len(lists) != more:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {more} additional partition(s), but only {len(lists)} "
            "assignment(s) were specified.",
        )
    for number, replicas in enumerate(lists, first):
        validate_listed(at, replicas, factor)
        refuse_all_fenced(at, number, replicas)
