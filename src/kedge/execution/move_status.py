"""Derives the status of each partition of a plan from the cluster alone.

A run that was killed needs no memory of its own: the cluster's replicas, reassignments and log
directories say where each partition is, so continuing is the same as starting.

    present        reassigning to   the plan [1,2,3] → [4,2,3]
    [1,2,3]        –                waiting
    [4,2,3,1]      [4,2,3]          moving
    [4,2,3]        –                done
    [4,2,3]        –                waiting    a replica is in another log directory than planned
    [4,2,3]        –                moving     … and is being copied to the planned one
    [2,4,3]        –                waiting    the right brokers, in another order
    [1,2,3,9]      [9,2,3]          foreign    another reassignment is in progress
    [7,8,9]        –                drifted    neither where it was nor where it should be
    none           –                gone       the topic was deleted
    unknown        –                hidden     this user may not see the topic (any more)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import Change, Directories, PartitionReplica

Replicas = tuple[BrokerId, ...]
LogDirs = Mapping[PartitionReplica, str]


class MoveStatus(StrEnum):
    """How far a partition is."""

    WAITING = "waiting"
    MOVING = "moving"
    DONE = "done"
    FOREIGN_MOVE = "moved by another reassignment"
    DRIFTED = "drifted"
    GONE = "gone"
    HIDDEN = "hidden"


Statuses = Mapping[TopicPartition, MoveStatus]

SETTLED = frozenset({MoveStatus.DONE, MoveStatus.GONE})
DIVERGED = frozenset({MoveStatus.FOREIGN_MOVE, MoveStatus.DRIFTED})


@dataclass(frozen=True, slots=True)
class Observation:
    """What a cluster shows of the partitions of a plan.

    `directories` has the replicas whose broker answered, where the plan names log directories;
    `hidden` the topics that this user may not see, with the missing permission. Reassignments in
    progress are seen of all topics.
    """

    alive: frozenset[BrokerId]
    replicas: Mapping[TopicPartition, Replicas]
    leaders: Mapping[TopicPartition, BrokerId | None]
    moving: Mapping[TopicPartition, ReplicaAssignment] = field(
        default_factory=dict[TopicPartition, ReplicaAssignment]
    )
    directories: Mapping[PartitionReplica, Directories] = field(
        default_factory=dict[PartitionReplica, Directories]
    )
    hidden: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Target:
    """Where partitions go: the log directories that the plan names, and whether this is a rollback.

    A rollback may override a reassignment in progress that goes where the plan came from: that is
    the run which it undoes.
    """

    log_dirs: LogDirs = field(default_factory=dict[PartitionReplica, str])
    rollback: bool = False

    def log_dirs_of(self, change: Change) -> dict[PartitionReplica, str]:
        """The log directories that the plan names for the replicas of one partition."""
        if not self.log_dirs:
            return {}
        replicas = (PartitionReplica(*change.tp, broker) for broker in change.after)
        return {each: self.log_dirs[each] for each in replicas if each in self.log_dirs}


ANYWHERE = Target()


def status_of(change: Change, seen: Observation, target: Target = ANYWHERE) -> MoveStatus:
    """How far one partition is."""
    present, move = seen.replicas.get(change.tp), seen.moving.get(change.tp)
    if present is None:
        return _status_of_unseen(change, move, seen)
    if move is not None:
        return _status_of_move(change, move, target)
    if present == change.after:
        return _status_of_directories(change, seen, target)
    known = (frozenset(change.before), frozenset(change.after))
    return MoveStatus.WAITING if frozenset(present) in known else MoveStatus.DRIFTED


def _status_of_unseen(
    change: Change, move: ReplicaAssignment | None, seen: Observation
) -> MoveStatus:
    if change.tp.topic not in seen.hidden:
        return MoveStatus.GONE
    under_way = move is not None and move.target == change.after
    return MoveStatus.MOVING if under_way else MoveStatus.HIDDEN


def _status_of_move(change: Change, move: ReplicaAssignment, target: Target) -> MoveStatus:
    if move.target == change.after:
        return MoveStatus.MOVING
    overridable = target.rollback and frozenset(move.target) == frozenset(change.before)
    return MoveStatus.WAITING if overridable else MoveStatus.FOREIGN_MOVE


def _status_of_directories(change: Change, seen: Observation, target: Target) -> MoveStatus:
    """All replicas are in place: whether each is in the log directory that the plan names."""
    found = MoveStatus.DONE
    for replica, path in target.log_dirs_of(change).items():
        present = seen.directories.get(replica)
        if present is None or present.current is None:
            return MoveStatus.WAITING
        if present.future == path:
            found = MoveStatus.MOVING
        elif present.current != path or present.future is not None:
            return MoveStatus.WAITING
    return found


def statuses_of(
    changes: Iterable[Change], seen: Observation, target: Target = ANYWHERE
) -> dict[TopicPartition, MoveStatus]:
    """How far each partition is."""
    return {change.tp: status_of(change, seen, target) for change in changes}


def goes_back(change: Change, seen: Observation) -> bool:
    """Whether a reassignment brings a partition back to where the plan has found it."""
    move = seen.moving.get(change.tp)
    return move is not None and frozenset(move.target) == frozenset(change.before)


def log_dir_requests(
    changes: Iterable[Change], seen: Observation, target: Target
) -> dict[PartitionReplica, str]:
    """The replicas that must be sent to another log directory than they are in or going to.

    A replica that its broker does not have yet is included: the broker remembers the directory and
    creates the replica there.
    """
    wanted: dict[PartitionReplica, str] = {}
    for change in changes:
        for replica, path in target.log_dirs_of(change).items():
            present = seen.directories.get(replica)
            heading = None if present is None else present.future or present.current
            if heading != path and replica.broker in seen.alive:
                wanted[replica] = path
    return wanted
