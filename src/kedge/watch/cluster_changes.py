"""What a controller has done between two reads of a cluster: brokers, leaders, ISRs, moves.

Every controller is observed from outside in the same way, Kedge's and Kafka's. Changes of one kind
are one line, however many partitions they are about:

    broker down       Broker 3 is down
    leaders           12 partitions: leader 3 → 1
    isr shrank        Broker 3 left the ISR of 40 partitions
    move phase        t-0: completing
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kedge.execution.preconditions import counted, named
from kedge.model import Snapshot, TopicPartition
from kedge.model.columns import Int32s, Int64s
from kedge.watch.samples import moving

GROUPS_MAX = 20  # lines of one kind


class ChangeKind(StrEnum):
    """What has changed."""

    BROKER_UP = "broker up"
    BROKER_DOWN = "broker down"
    CONTROLLER = "controller moved"
    TOPIC_CREATED = "topic created"
    TOPIC_DELETED = "topic deleted"
    LEADERS = "leaders moved"
    ISR_SHRANK = "isr shrank"
    ISR_GREW = "isr grew"
    MOVE_BEGAN = "move began"
    MOVE_PHASE = "move phase"
    MOVE_ENDED = "move ended"


class MovePhase(StrEnum):
    """How far the reassignment of a partition is, as replicas and ISR show it."""

    COPYING = "copying"
    COMPLETING = "completing"
    REMOVING = "removing"


PHASES: dict[MovePhase, str] = {
    MovePhase.COPYING: "The leader epoch was raised; added replicas fetch and are not in the ISR",
    MovePhase.COMPLETING: "The whole target is in the ISR; leadership moves into the target",
    MovePhase.REMOVING: "Replicas that are removed leave the ISR and are deleted",
}
"""The phases in their sequence, and what is seen in each."""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """One line of the timeline."""

    at: float
    kind: ChangeKind
    text: str
    count: int = 1
    brokers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """The reassignment of one partition."""

    tp: TopicPartition
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int

    @property
    def phase(self) -> MovePhase:
        """How far it is."""
        if not set(self.adding) <= set(self.isr):
            return MovePhase.COPYING
        return MovePhase.COMPLETING if self.adding else MovePhase.REMOVING

    @property
    def missing(self) -> tuple[int, ...]:
        """The added replicas that are not in sync yet."""
        return tuple(broker for broker in self.adding if broker not in self.isr)

    @property
    def text(self) -> str:
        """From where to where."""
        origin = [b for b in self.replicas if b not in self.adding]
        target = [b for b in self.replicas if b not in self.removing]
        before, after = (",".join(map(str, ids)) for ids in (origin, target))
        return f"{self.tp} {before} → {after}"


def moves_of(snapshot: Snapshot) -> dict[TopicPartition, Move]:
    """The reassignments under way."""
    if not snapshot.adding.shape[1] and not snapshot.removing.shape[1]:
        return {}
    rows = np.flatnonzero(moving(snapshot)).tolist()
    return {move.tp: move for move in (_move(snapshot, row) for row in rows)}


def _move(snapshot: Snapshot, row: int) -> Move:
    lists = (snapshot.assignment.replicas, snapshot.adding, snapshot.removing, snapshot.isr)
    replicas, adding, removing, isr = (
        tuple(int(b) for b in matrix[row].tolist() if b >= 0) for matrix in lists
    )
    tp = snapshot.assignment.key(row)
    return Move(tp, replicas, adding, removing, isr, int(snapshot.leader[row]))


def changes_between(before: Snapshot, after: Snapshot, at: float) -> list[ClusterChange]:
    """What has changed from one snapshot to the next."""
    old, new = _common_rows(before, after)
    return [
        *_broker_changes(before, after, at),
        *_topic_changes(before, after, at),
        *_leader_changes(before.leader[old].tolist(), after.leader[new].tolist(), at),
        *_isr_changes(before.isr[old], after.isr[new], at),
        *_move_changes(moves_of(before), moves_of(after), at),
    ]


def _common_rows(before: Snapshot, after: Snapshot) -> tuple[Int64s, Int64s]:
    """The rows of the partitions that are in both."""
    first, second = before.assignment, after.assignment
    if (
        first.topics == second.topics
        and np.array_equal(first.topic, second.topic)
        and np.array_equal(first.partition, second.partition)
    ):
        same = np.arange(len(first))
        return same, same
    places = {tp: row for row, tp in enumerate(first.keys())}
    pairs = [(places[tp], row) for row, tp in enumerate(second.keys()) if tp in places]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _broker_changes(before: Snapshot, after: Snapshot, at: float) -> Iterator[ClusterChange]:
    was, now = (
        {int(each.id) for each in snapshot.brokers if each.state.stays}
        for snapshot in (before, after)
    )
    for broker in sorted(was - now):
        yield ClusterChange(at, ChangeKind.BROKER_DOWN, f"Broker {broker} is down", 1, (broker,))
    for broker in sorted(now - was):
        yield ClusterChange(at, ChangeKind.BROKER_UP, f"Broker {broker} is up", 1, (broker,))


def _topic_changes(before: Snapshot, after: Snapshot, at: float) -> Iterator[ClusterChange]:
    was, now = set(before.assignment.topics), set(after.assignment.topics)
    for kind, names, verb in (
        (ChangeKind.TOPIC_CREATED, sorted(now - was), "created"),
        (ChangeKind.TOPIC_DELETED, sorted(was - now), "deleted"),
    ):
        if names:
            text = f"{counted(names, 'topic')} {verb}: {named(names)}"
            yield ClusterChange(at, kind, text, len(names))


def _leader_changes(was: list[int], now: list[int], at: float) -> list[ClusterChange]:
    pairs = Counter((a, b) for a, b in zip(was, now, strict=True) if a != b)
    return [
        ClusterChange(
            at,
            ChangeKind.LEADERS,
            f"{_partitions(count)}: leader {_leader(a)} → {_leader(b)}",
            count,
            tuple(broker for broker in (a, b) if broker >= 0),
        )
        for (a, b), count in pairs.most_common(GROUPS_MAX)
    ]


def _isr_changes(was: Int32s, now: Int32s, at: float) -> Iterator[ClusterChange]:
    for kind, first, second, verb in (
        (ChangeKind.ISR_SHRANK, was, now, "left"),
        (ChangeKind.ISR_GREW, now, was, "joined"),
    ):
        gone = Counter(_not_in(first, second))
        for broker, count in gone.most_common(GROUPS_MAX):
            text = f"Broker {broker} {verb} the ISR of {_partitions(count)}"
            yield ClusterChange(at, kind, text, count, (broker,))


def _not_in(first: Int32s, second: Int32s) -> list[int]:
    """The entries of each row that the same row of the other matrix lacks."""
    present = (first[:, :, None] == second[:, None, :]).any(axis=2)
    return first[(first >= 0) & ~present].tolist()


def _move_changes(
    was: dict[TopicPartition, Move], now: dict[TopicPartition, Move], at: float
) -> Iterator[ClusterChange]:
    began = [now[tp].text for tp in sorted(now.keys() - was.keys())]
    if began:
        yield _of_moves(at, ChangeKind.MOVE_BEGAN, began, "began")
    for phase in MovePhase:
        reached = [
            str(tp)
            for tp in sorted(now.keys() & was.keys())
            if now[tp].phase is phase and was[tp].phase is not phase
        ]
        if reached:
            yield _of_moves(at, ChangeKind.MOVE_PHASE, reached, f"reached {phase}")
    ended = [str(tp) for tp in sorted(was.keys() - now.keys())]
    if ended:
        yield _of_moves(at, ChangeKind.MOVE_ENDED, ended, "ended")


def _of_moves(at: float, kind: ChangeKind, names: Iterable[str], verb: str) -> ClusterChange:
    every = list(names)
    return ClusterChange(at, kind, f"{counted(every, 'move')} {verb}: {named(every)}", len(every))


def _partitions(count: int) -> str:
    return f"{count:,} partition{'s' if count > 1 else ''}"


def _leader(broker: int) -> str:
    return "none" if broker < 0 else str(broker)
