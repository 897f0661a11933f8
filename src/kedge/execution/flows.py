"""What a run has brought into and out of each broker, and its moves in flight with their rates.

A partition is copied from its leader. The leader may change at the end of a move, so the source is
kept from the first observation at which the move was not over; of a move that was over by then it
is the replica that came first before.

Copies between log directories of one broker are moves in flight, but neither go in nor out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kedge.execution.move_status import SETTLED, MoveStatus
from kedge.execution.progress import Copies, Pace, Work
from kedge.model import BrokerId, TopicPartition


@dataclass(frozen=True, slots=True)
class BrokerFlow:
    """Bytes of a run that have come into and gone out of a broker, and how many will."""

    broker: BrokerId
    bytes_in: int = 0
    total_in: int = 0
    bytes_out: int = 0
    total_out: int = 0


@dataclass(frozen=True, slots=True)
class MoveFlow:
    """A move in flight; seconds left are None while nothing is known of its rate."""

    tp: TopicPartition
    source: BrokerId | None
    destinations: tuple[BrokerId, ...]
    bytes_done: int
    bytes_total: int
    bytes_per_second: float
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Flows:
    """All brokers of a run, ascending, and its moves in flight."""

    brokers: tuple[BrokerFlow, ...] = ()
    moves: tuple[MoveFlow, ...] = ()


NO_FLOWS = Flows()


@dataclass(slots=True)
class FlowMeter:
    """Turns one observation after the other into flows."""

    _sources: dict[TopicPartition, BrokerId | None] = field(
        default_factory=dict[TopicPartition, "BrokerId | None"]
    )
    _paces: dict[TopicPartition, Pace] = field(default_factory=dict[TopicPartition, Pace])

    def at(self, now: float, work: Work) -> Flows:
        """The flows at a moment; each call is given a later one."""
        moving = [e for e in work.copies if work.statuses[e.change.tp] is MoveStatus.MOVING]
        for each in work.copies:
            self._note_source(each, work)
        moves = tuple(self._move(each, now) for each in moving)
        self._paces = {each.tp: self._paces[each.tp] for each in moves}
        return Flows(self._brokers(work), moves)

    def _note_source(self, copies: Copies, work: Work) -> None:
        tp, before = copies.change.tp, copies.change.before
        if tp in self._sources:
            return
        leader = work.leaders.get(tp)
        over = work.statuses[tp] in SETTLED or leader is None
        self._sources[tp] = (before[0] if before else None) if over else leader

    def _move(self, copies: Copies, now: float) -> MoveFlow:
        tp, left = copies.change.tp, copies.total - copies.arrived
        rate = self._paces.setdefault(tp, Pace()).at(now, copies.arrived)
        return MoveFlow(
            tp,
            self._sources[tp],
            (*copies.to_brokers, *copies.within_brokers),
            copies.arrived,
            copies.total,
            rate,
            left / rate if rate else None,
        )

    def _brokers(self, work: Work) -> tuple[BrokerFlow, ...]:
        into: dict[BrokerId, list[int]] = {}
        out: dict[BrokerId, list[int]] = {}
        for each in work.copies:
            source = self._sources[each.change.tp]
            for broker, arrived in each.to_brokers.items():
                _add(into, broker, arrived, each.size)
                if source is not None:
                    _add(out, source, arrived, each.size)
        return tuple(
            BrokerFlow(broker, *into.get(broker, (0, 0)), *out.get(broker, (0, 0)))
            for broker in sorted(into.keys() | out.keys())
        )


def _add(sums: dict[BrokerId, list[int]], broker: BrokerId, arrived: int, size: int) -> None:
    sums.setdefault(broker, [0, 0])
    sums[broker][0] += arrived
    sums[broker][1] += size
