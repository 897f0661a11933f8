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
that it needs is down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from kedge.execution.move_status import ANYWHERE, MoveStatus, Observation, Statuses, Target
from kedge.model import BrokerId
from kedge.plan import Change, Plan


def in_order(plan: Plan) -> list[Change]:
    """The changes of a plan, wave after wave."""
    changes = plan.changes
    if not plan.waves:
        return changes
    return [changes[index] for wave in plan.waves for index in wave]


@dataclass(slots=True)
class _Slots:
    """Copies into and out of each broker."""

    each_way: int
    incoming: Counter[BrokerId] = field(default_factory=Counter[BrokerId])
    outgoing: Counter[BrokerId] = field(default_factory=Counter[BrokerId])

    def take(self, copies: Sequence[BrokerId], leader: BrokerId | None) -> None:
        self.incoming.update(copies)
        if leader is not None and copies:
            self.outgoing[leader] += 1

    def free_for(self, copies: Sequence[BrokerId], leader: BrokerId | None) -> bool:
        if any(self.incoming[broker] >= self.each_way for broker in copies):
            return False
        return leader is None or self.outgoing[leader] < self.each_way


def next_moves(
    changes: Sequence[Change],
    statuses: Statuses,
    seen: Observation,
    *,
    each_way: int,
    target: Target = ANYWHERE,
) -> list[Change]:
    """What may start now, given what is under way."""
    slots = _Slots(each_way)
    for tp, move in seen.moving.items():
        slots.take(move.adding, seen.leaders.get(tp))
    slots.incoming.update(
        replica.broker for replica, each in seen.directories.items() if each.future is not None
    )
    chosen: list[Change] = []
    for change in changes:
        if statuses[change.tp] is not MoveStatus.WAITING or not seen.alive.issuperset(change.after):
            continue
        copies = [broker for broker in change.after if broker not in seen.replicas[change.tp]]
        within = _copies_within(change, seen, target)
        leader = seen.leaders.get(change.tp) if copies else None
        if not copies + within or slots.free_for(copies + within, leader):
            slots.take(copies + within, leader)
            chosen.append(change)
    return chosen


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
