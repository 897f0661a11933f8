"""A small planner for simulations: it keeps the goals of the loop, and is near no bound.

The contract of both planners is tested (`tests/sim/watch/test_planners.py`): brokers that leave end
empty, no broker gets two replicas of a partition, partitions that rest stay, budgets are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kedge.balance import Goals
from kedge.errors import InfeasibleGoals
from kedge.model import BrokerId, Snapshot, TopicPartition
from kedge.plan import Plan, Reassignment, Summary

Replicas = tuple[BrokerId, ...]


class SmallPlanner:
    """One plan in the making: replicas by partition, and the bytes that each broker holds."""

    def __init__(self, snapshot: Snapshot, goals: Goals) -> None:
        self.goals = goals
        keys = snapshot.assignment.keys()
        self.before: dict[TopicPartition, Replicas] = snapshot.assignment.to_mapping()
        self.after = dict(self.before)
        self.size = {tp: max(int(size), 0) for tp, size in zip(keys, snapshot.size, strict=True)}
        self.rack = {b.id: b.rack for b in snapshot.brokers}
        self.capacity = {b.id: b.capacity.disk or 1.0 for b in snapshot.brokers}
        leaving = {BrokerId(b) for b in goals.remove_brokers}
        self.stay = [b.id for b in snapshot.brokers if b.state.stays and b.id not in leaving]
        self.bytes = self.moves = 0

    def load(self, broker: BrokerId) -> float:
        """The share of its disk that a broker has in use."""
        held = (self.size[tp] for tp, ids in self.after.items() if broker in ids)
        return sum(held) / self.capacity[broker]

    def racks_of(self, ids: Replicas) -> list[str | None]:
        """The racks of live replicas."""
        return [self.rack[b] for b in ids if b in self.stay and self.rack[b] is not None]

    def destinations(self, tp: TopicPartition, leaves: BrokerId) -> list[BrokerId]:
        """Brokers that may get a replica in place of another, the least loaded first."""
        others = tuple(b for b in self.after[tp] if b != leaves)
        used = self.racks_of(others)
        free = [b for b in self.stay if b not in others and b != leaves]
        apart = [b for b in free if self.rack[b] not in used]
        return sorted(apart or free, key=lambda b: (self.load(b), b))

    def move(self, tp: TopicPartition, leaves: BrokerId, joins: BrokerId) -> None:
        """Replace a replica, in its place."""
        self.after[tp] = tuple(joins if b == leaves else b for b in self.after[tp])
        self.bytes += self.size[tp]
        self.moves += 1

    def mandatory(self) -> None:
        """Empty brokers that leave, then racks apart."""
        for tp, ids in sorted(self.before.items()):
            for broker in (b for b in ids if b not in self.stay):
                there = self.destinations(tp, broker)
                if not there:
                    raise InfeasibleGoals(f"no broker is left for {tp}")
                self.move(tp, broker, there[0])
        for tp in sorted(self.after):
            if (tp.topic, tp.partition) not in self.goals.exclude_partitions:
                self._spread(tp)
        most = self.goals.max_bytes
        if most is not None and self.bytes > most:
            raise InfeasibleGoals(f"{self.bytes} bytes must move; the budget allows {most}")

    def _spread(self, tp: TopicPartition) -> None:
        """One replica per rack, as far as there are racks."""
        for broker in self.after[tp]:
            rack = self.rack[broker]
            crowded = rack is not None and self.racks_of(self.after[tp]).count(rack) > 1
            free = [
                b
                for b in self.destinations(tp, broker)
                if self.rack[b] not in self.racks_of(self.after[tp])
            ]
            if crowded and free:
                self.move(tp, broker, free[0])

    def optional(self) -> None:
        """From the fullest broker to the emptiest, while that helps and the budget allows."""
        while (step := next(self._steps(), None)) is not None:
            self.move(*step)

    def _steps(self) -> Iterator[tuple[TopicPartition, BrokerId, BrokerId]]:
        loads = {b: self.load(b) for b in self.stay}
        best = sum(loads.values()) / len(loads)
        limit = self.goals.above or best * (1 + self.goals.tolerance)
        hot = max(loads, key=lambda b: (loads[b], b))
        if loads[hot] <= limit:
            return
        held = [tp for tp, ids in self.after.items() if hot in ids and self._may_move(tp)]
        for tp in sorted(held, key=lambda tp: (-self.size[tp], tp)):
            for cold in self.destinations(tp, hot):
                lighter = loads[cold] + self.size[tp] / self.capacity[cold] < loads[hot] - 1e-9
                if lighter and not self._crowds(tp, hot, cold):
                    yield tp, hot, cold

    def _crowds(self, tp: TopicPartition, leaves: BrokerId, joins: BrokerId) -> bool:
        """Whether a move puts more replicas in one rack than there are in any now."""
        after = tuple(joins if b == leaves else b for b in self.after[tp])
        now, then = (Counter(self.racks_of(ids)) for ids in (self.after[tp], after))
        return max(then.values(), default=0) > max(now.values(), default=0)

    def _may_move(self, tp: TopicPartition) -> bool:
        most_bytes, most_moves = self.goals.max_bytes, self.goals.max_moves
        return (
            (tp.topic, tp.partition) not in self.goals.exclude_partitions
            and self.after[tp] == self.before[tp]
            and (most_bytes is None or self.bytes + self.size[tp] <= most_bytes)
            and (most_moves is None or self.moves < most_moves)
        )

    def plan(self) -> Plan:
        """The plan."""
        changed = sorted(tp for tp in self.after if self.after[tp] != self.before[tp])
        loads = [self.load(b) for b in self.stay]
        mean = sum(loads) / len(loads)
        after = max(loads) / mean if mean else 1.0
        return Plan(
            tuple(
                Reassignment(tp, self.after[tp], ("any",) * len(self.after[tp])) for tp in changed
            ),
            {tp: self.before[tp] for tp in changed},
            summary=Summary(
                self.moves,
                0,
                self.bytes,
                imbalance_after={"disk": after},
                imbalance_lower_bound={"disk": 1.0},
            ),
        )


def small_plan(snapshot: Snapshot, goals: Goals) -> Plan:
    """A plan that keeps the goals of the loop."""
    planner = SmallPlanner(snapshot, goals)
    if not planner.stay:
        raise InfeasibleGoals("no broker is alive")
    planner.mandatory()
    if goals.tolerance < 1:
        planner.optional()
    return planner.plan()
