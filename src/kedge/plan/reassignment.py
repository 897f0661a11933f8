"""Replicas, adding and removing of one partition's reassignment (KIP-455).

A move is always computed from the *origin*: the replicas that were there before anything was
being added. Overriding a move therefore forgets the half-added replicas of the first target, and
cancelling is nothing but a move back to the origin.

    step                 replicas        adding     removing   stopped at once
    at rest              1,2,3
    reassign_to 4,5,6    4,5,6,1,2,3     4,5,6      1,2,3
    reassign_to 7,2,3    7,2,3,1         7          1          4,5,6
    cancel               2,3,1                                 7

The last line shows what a cancel cannot bring back: the origin is kept as a set, in the order that
the target gave it, so 1 is no longer the preferred leader.
"""

from __future__ import annotations

from collections.abc import Sequence

from kedge.model import BrokerId, ReplicaAssignment
from kedge.model.partition import without


def reassign_to(current: ReplicaAssignment, target: Sequence[BrokerId]) -> ReplicaAssignment:
    """The assignment that starts a move to `target`, whatever move is under way now."""
    origin, wanted = current.origin, tuple(target)
    full = tuple(dict.fromkeys(wanted + origin))
    return ReplicaAssignment(full, adding=without(full, origin), removing=without(full, wanted))


def cancel(current: ReplicaAssignment) -> ReplicaAssignment:
    """The assignment that gives a move up: back to the origin, nothing coming or going."""
    return reassign_to(current, current.origin)


def unneeded_replicas(old: ReplicaAssignment, new: ReplicaAssignment) -> tuple[BrokerId, ...]:
    """The replicas that `new` no longer knows, to be stopped as soon as it is stored."""
    return without(old.replicas, new.replicas)
