"""Replicas of new partitions: placed by the striped placer, or as the request lists them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.metadata import metadata_version
from kedge.metadata.decision import Situation
from kedge.metadata.ids import MIGRATING, Uuid
from kedge.metadata.partition_changes import default_directory
from kedge.metadata.records import PartitionRecord, Versioned
from kedge.metadata.refusal import Refused
from kedge.model import Broker, BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.placement import place_striped

Replicas = tuple[int, ...]

ALL_FENCED = "All brokers are currently fenced or in controlled shutdown."


def placed(at: Situation, partitions: int, replication_factor: int) -> list[Replicas]:
    """Replicas for new partitions, or INVALID_REPLICATION_FACTOR with the placer's reason.

    Brokers in controlled shutdown get nothing, fenced ones only what the others cannot take.
    """
    usable = {b: s for b, s in at.soft.brokers.items() if not s.shutting_down}
    fenced = frozenset(BrokerId(b) for b, s in usable.items() if s.fenced)
    if replication_factor <= 0:
        raise _invalid_factor(
            f"Invalid replication factor {replication_factor}: the replication factor must be "
            "positive."
        )
    if len(fenced) == len(usable):
        raise _invalid_factor("All brokers are currently fenced.")
    if replication_factor > len(usable):
        raise _invalid_factor(
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {len(usable)} broker(s) are registered."
        )
    brokers = [Broker(BrokerId(b), at.image.brokers[b].rack) for b in sorted(usable)]
    placement = place_striped(
        brokers,
        partitions=partitions,
        replication_factor=replication_factor,
        draw=at.draw,
        fenced=fenced,
    )
    return list(placement.as_mapping().values())


def validate_listed(at: Situation, replicas: Sequence[int], expected: int | None) -> None:
    """Refuse a list that is empty, names a broker twice or an unknown one, or has another size."""
    if not replicas:
        raise _invalid("The manual partition assignment includes an empty replica list.")
    previous: int | None = None
    for broker in sorted(replicas):
        if broker not in at.image.brokers:
            raise _invalid(
                f"The manual partition assignment includes broker {broker}, but no such broker is "
                "registered."
            )
        if broker == previous:
            raise _invalid(
                f"The manual partition assignment includes the broker {broker} more than once."
            )
        previous = broker
    if expected is not None and len(replicas) != expected:
        raise _invalid(
            f"The manual partition assignment includes a partition with {len(replicas)} "
            "replica(s), but this is not consistent with previous partitions, which have "
            f"{expected} replica(s)."
        )


def refuse_all_fenced(at: Situation, partition: int, replicas: Iterable[int]) -> None:
    """Refuse a list of which no broker is active: the partition would have no leader."""
    if not any(map(at.image.is_active, replicas)):
        raise _invalid(
            "All brokers specified in the manual partition assignment for partition "
            f"{partition} are fenced or in controlled shutdown."
        )


def new_partitions(
    at: Situation, topic_id: Uuid, lists: Iterable[Replicas], *, first: int = 0
) -> list[Versioned]:
    """New partitions: the active replicas are in sync, and the first of them leads."""
    version = metadata_version.partition_version(at.level)
    known: dict[Replicas, tuple[Replicas, tuple[Uuid, ...]]] = {}  # many lists are alike
    records: list[Versioned] = []
    for number, replicas in enumerate(lists, first):
        found = known.get(replicas)
        if found is None:
            found = known[replicas] = _in_sync(at, replicas), _directories(at, replicas)
        isr, directories = found
        record = PartitionRecord(number, topic_id, replicas, isr, isr[0], directories=directories)
        records.append(Versioned(record, version))
    return records


def _in_sync(at: Situation, replicas: Replicas) -> Replicas:
    isr = tuple(replica for replica in replicas if at.image.is_active(replica))
    if not isr:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {len(replicas)} time(s): {ALL_FENCED}",
        )
    return isr


def _directories(at: Situation, replicas: Replicas) -> tuple[Uuid, ...]:
    if not metadata_version.has_directories(at.level):
        return (MIGRATING,) * len(replicas)
    return tuple(default_directory(at, replica) for replica in replicas)


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _invalid_factor(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
