"""How far each partition of a plan is, told from the cluster alone.

A run that was killed remembers nothing that it needs: what the cluster shows says where each
partition stands, so going on is the same as starting.

    present        moving towards   the plan [1,2,3] → [4,2,3]
    [1,2,3]        –                waiting
    [4,2,3,1]      [4,2,3]          moving
    [4,2,3]        –                done
    [2,4,3]        –                waiting    the right brokers, yet in another order
    [1,2,3,9]      [9,2,3]          taken      somebody else moves it
    [7,8,9]        –                strayed    neither where it was nor where it should be
    none           –                gone       the topic was deleted
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import Change

Replicas = tuple[BrokerId, ...]


class Standing(StrEnum):
    """How far a partition is."""

    WAITING = "waiting"
    MOVING = "moving"
    DONE = "done"
    TAKEN = "taken"
    STRAYED = "strayed"
    GONE = "gone"


SETTLED = frozenset({Standing.DONE, Standing.GONE})
DRIFTED = frozenset({Standing.TAKEN, Standing.STRAYED})


@dataclass(frozen=True, slots=True)
class Observation:
    """What a cluster shows of the partitions of a plan."""

    alive: frozenset[BrokerId]
    replicas: Mapping[TopicPartition, Replicas]
    leaders: Mapping[TopicPartition, BrokerId | None]
    moving: Mapping[TopicPartition, ReplicaAssignment] = field(
        default_factory=dict[TopicPartition, ReplicaAssignment]
    )


def standing_of(change: Change, seen: Observation) -> Standing:
    """How far one partition is."""
    present = seen.replicas.get(change.tp)
    if present is None:
        return Standing.GONE
    move = seen.moving.get(change.tp)
    if move is not None:
        return Standing.MOVING if move.target == change.after else Standing.TAKEN
    if present == change.after:
        return Standing.DONE
    known = (frozenset(change.before), frozenset(change.after))
    return Standing.WAITING if frozenset(present) in known else Standing.STRAYED


def standings_of(changes: Iterable[Change], seen: Observation) -> dict[TopicPartition, Standing]:
    """How far each partition is."""
    return {change.tp: standing_of(change, seen) for change in changes}
