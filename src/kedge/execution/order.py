"""Which moves to start now.

Moves start in the order of the plan's waves, each as soon as both its ends have a free slot; nobody
waits for the slowest move of a wave. A slot is one copy into a broker, or one copy out of it, and
copies go out of the leader: that is whom followers fetch from.

    at most 1 each way, broker 1 leads orders-0 and orders-1, 2 leads orders-2
    orders-0 → 4    starts
    orders-1 → 5    waits: broker 1 is sending already
    orders-2 → 6    starts

Changes that copy nothing (another order, fewer replicas) take no slot. A move waits while a broker
that it wants is down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kedge.execution.standing import Observation, Standing
from kedge.model import BrokerId, TopicPartition
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
    standings: Mapping[TopicPartition, Standing],
    seen: Observation,
    *,
    each_way: int,
) -> list[Change]:
    """What may start now, given what is under way."""
    slots = _Slots(each_way)
    for tp, move in seen.moving.items():
        slots.take(move.adding, seen.leaders.get(tp))
    chosen: list[Change] = []
    for change in changes:
        if standings[change.tp] is not Standing.WAITING or not seen.alive.issuperset(change.after):
            continue
        copies = [broker for broker in change.after if broker not in seen.replicas[change.tp]]
        leader = seen.leaders.get(change.tp)
        if not copies or slots.free_for(copies, leader):
            slots.take(copies, leader)
            chosen.append(change)
    return chosen


def waiting_for_brokers(
    changes: Sequence[Change], standings: Mapping[TopicPartition, Standing], seen: Observation
) -> list[BrokerId]:
    """The brokers that are down and that some change waits for, ascending."""
    wanted = {
        broker
        for change in changes
        if standings[change.tp] is Standing.WAITING
        for broker in change.after
    }
    return sorted(wanted - seen.alive)
