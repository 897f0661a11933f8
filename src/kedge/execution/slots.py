"""Selects the moves to start now.

Moves start in the order of the plan's waves, each as soon as both its ends have a free slot; none
waits for the slowest one of a wave. A slot is one copy into a broker, or one copy out of it, and
copies go out of the leader, from which followers fetch. A copy between two log directories of a
broker takes a slot into that broker.

    at most 1 each way, broker 1 leads orders-0 and orders-1, 2 leads orders-2
    orders-0 → 4    starts
    orders-1 → 5    waits: broker 1 is sending already
    orders-2 → 6    starts

Changes that copy nothing (another order, fewer replicas) take no slot. A move waits while a broker
that it needs is down. Which of the waiting moves start is decided by `scheduler`, for runs and for
predictions alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kedge.execution.move_status import ANYWHERE, MoveStatus, Observation, Statuses, Target
from kedge.execution.progress import Sizes
from kedge.execution.scheduler import CHOOSE_MOVES, CRITICAL, SlotMoves, no_slots_taken
from kedge.model import BrokerId
from kedge.model.columns import Int32s, ragged_of_lists
from kedge.plan import Change, Plan


def in_order(plan: Plan) -> list[Change]:
    """The changes of a plan, wave after wave."""
    changes = plan.changes
    if not plan.waves:
        return changes
    return [changes[index] for wave in plan.waves for index in wave]


@dataclass(slots=True)
class _Rows:
    """Waiting moves as rows for the scheduler, and what is under way, with brokers as indexes."""

    broker: dict[BrokerId, int] = field(default_factory=dict[BrokerId, int])
    changes: list[Change] = field(default_factory=list[Change])
    source: list[int] = field(default_factory=list[int])
    target: list[list[int]] = field(default_factory=list[list[int]])
    sending: Counter[int] = field(default_factory=Counter[int])
    taking: Counter[int] = field(default_factory=Counter[int])
    bytes_out: Counter[int] = field(default_factory=Counter[int])
    bytes_in: Counter[int] = field(default_factory=Counter[int])

    def index(self, broker: BrokerId | None) -> int:
        return -1 if broker is None else self.broker.setdefault(broker, len(self.broker))

    def take(self, copies: Iterable[BrokerId], leader: BrokerId | None) -> None:
        """A move is under way."""
        targets = [self.index(broker) for broker in copies]
        self.taking.update(targets)
        if leader is not None and targets:
            self.sending[self.index(leader)] += 1

    def wait(self, change: Change, copies: Sequence[BrokerId], leader: BrokerId | None) -> None:
        """A move may start."""
        self.changes.append(change)
        self.source.append(self.index(leader))
        self.target.append([self.index(broker) for broker in copies])

    def count_bytes(self, change: Change, leader: BrokerId | None, size: int) -> None:
        """A move has not ended: all its bytes are left, at both ends."""
        added = change.added
        if leader is not None:
            self.bytes_out[self.index(leader)] += size * len(added)
        self.bytes_in.update(dict.fromkeys(map(self.index, added), size))

    def chosen(self, each_way: int) -> list[Change]:
        """Ask the scheduler."""
        moves = SlotMoves(np.array(self.source, np.int32), _padded(self.target))
        count = len(self.broker)
        slots = no_slots_taken(count)
        for column, counted in zip(
            slots, (self.sending, self.taking, self.bytes_out, self.bytes_in), strict=True
        ):
            for broker, amount in counted.items():
                column[broker] = amount
        choose = CHOOSE_MOVES.for_size(len(self.changes))
        rows = choose(moves, slots, np.arange(len(self.changes)), each_way, CRITICAL)
        return [self.changes[row] for row in rows.tolist()]


def _padded(lists: list[list[int]]) -> Int32s:
    matrix = ragged_of_lists(lists).padded()
    return matrix if matrix.shape[1] else np.full((len(lists), 1), -1, np.int32)


def next_moves(
    changes: Sequence[Change],
    statuses: Statuses,
    seen: Observation,
    *,
    each_way: int,
    target: Target = ANYWHERE,
    sizes: Sizes | None = None,
) -> list[Change]:
    """What may start now, given what is under way; with `sizes`, the busiest brokers first."""
    rows = _Rows()
    for tp, move in seen.moving.items():
        rows.take(move.adding, seen.leaders.get(tp))
    rows.take((r.broker for r, each in seen.directories.items() if each.future is not None), None)
    for change in changes:
        leader = seen.leaders.get(change.tp)
        if sizes is not None and change.added:
            rows.count_bytes(change, leader, sizes.of_partition(change))
        if statuses[change.tp] is not MoveStatus.WAITING or not seen.alive.issuperset(change.after):
            continue
        copies = [broker for broker in change.after if broker not in seen.replicas[change.tp]]
        within = _copies_within(change, seen, target)
        rows.wait(change, copies + within, leader if copies else None)
    return rows.chosen(each_way) if rows.changes else []


def _copies_within(change: Change, seen: Observation, target: Target) -> list[BrokerId]:
    """The brokers that will copy their replica from one log directory to another."""
    return [
        replica.broker
        for replica, path in target.log_dirs_of(change).items()
        if (present := seen.directories.get(replica)) is not None
        and path not in (present.current, present.future)
    ]


def brokers_waited_for(
    changes: Sequence[Change], statuses: Statuses, seen: Observation
) -> list[BrokerId]:
    """The brokers that are down and that some change waits for, ascending."""
    wanted = {
        broker
        for change in changes
        if statuses[change.tp] is MoveStatus.WAITING
        for broker in change.after
    }
    return sorted(wanted - seen.alive)
