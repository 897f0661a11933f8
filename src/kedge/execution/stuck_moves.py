"""Finds moves that do not get on: no new bytes, or no fewer bytes left than before.

    t        0 s    60 s   120 s            after 120 s
    arrived  10     10     10     of 100    stuck: no new bytes
    arrived  10     20     30
    size     100    110    120              no fewer left: the throttle is below what is written

A follower that is throttled shares its rate between what it has to catch up on and what producers
write meanwhile. Where they write more than the rate allows, the move never ends: the rate has to be
higher than the sum of what is written to the partitions that move into a broker, or out of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kedge.model import BrokerId, TopicPartition

GROWTH_WINDOW_S = 120.0
GROWTH_LEAST_S = 30.0
SAMPLE_S = 5.0
MARGIN = 1.1  # above what is written, so that a move gets on


class MoveBytes(NamedTuple):
    """How much of a move under way has arrived, of how much."""

    arrived: int
    size: int


@dataclass(slots=True)
class _Watched:
    arrived: int
    arrived_at: float
    left_least: int
    shrunk_at: float


class Idle(NamedTuple):
    """Seconds since the last new byte of a move, and since fewer were left than ever before."""

    without_bytes_s: float
    without_end_s: float


@dataclass(slots=True)
class MoveWatch:
    """Remembers when each move under way last got on."""

    _moves: dict[TopicPartition, _Watched] = field(default_factory=dict[TopicPartition, _Watched])

    def at(
        self, now: float, moves: Mapping[TopicPartition, MoveBytes]
    ) -> dict[TopicPartition, Idle]:
        """For each move, how long it has not got on; those not named are forgotten."""
        self._moves = {tp: each for tp, each in self._moves.items() if tp in moves}
        return {tp: self._idle(now, tp, each) for tp, each in moves.items()}

    def _idle(self, now: float, tp: TopicPartition, move: MoveBytes) -> Idle:
        left = max(0, move.size - move.arrived)
        watched = self._moves.setdefault(tp, _Watched(move.arrived, now, left, now))
        if move.arrived != watched.arrived:
            watched.arrived, watched.arrived_at = move.arrived, now
        if left < watched.left_least:
            watched.left_least, watched.shrunk_at = left, now
        return Idle(now - watched.arrived_at, now - watched.shrunk_at)


# ---- what is written meanwhile ------------------------------------------------------------------


@dataclass(slots=True)
class GrowthMeter:
    """Measures by how many bytes per second partitions grow, from their sizes over minutes."""

    _samples: dict[TopicPartition, list[tuple[float, int]]] = field(
        default_factory=dict[TopicPartition, list[tuple[float, int]]]
    )

    def at(self, now: float, sizes: Mapping[TopicPartition, int]) -> dict[TopicPartition, float]:
        """Bytes per second of each partition; none of one that was not observed for long."""
        self._samples = {tp: each for tp, each in self._samples.items() if tp in sizes}
        return {
            tp: self._growth(now, self._samples.setdefault(tp, []), s) for tp, s in sizes.items()
        }

    @staticmethod
    def _growth(now: float, samples: list[tuple[float, int]], size: int) -> float:
        if not samples or now - samples[-1][0] >= SAMPLE_S:
            samples.append((now, size))
        while len(samples) > 2 and samples[1][0] < now - GROWTH_WINDOW_S:
            samples.pop(0)
        began, before = samples[0]
        elapsed = now - began
        return max(0.0, (size - before) / elapsed) if elapsed >= GROWTH_LEAST_S else 0.0


class GrowingMove(NamedTuple):
    """A move and the bytes per second that producers write to its partition."""

    leader: BrokerId | None
    destinations: tuple[BrokerId, ...]
    growth: float


class NeededRate(NamedTuple):
    """The smallest throttle at which moves end, and the broker that needs it."""

    rate: int
    broker: BrokerId | None = None


NONE_NEEDED = NeededRate(0)


def needed_rate(moves: Iterable[GrowingMove]) -> NeededRate:
    """What the busiest broker needs to keep up with producers, both ways."""
    through: Counter[tuple[str, BrokerId]] = Counter()
    for leader, destinations, growth in moves:
        for broker in destinations:
            through["in", broker] += round(growth)
        if leader is not None:
            through["out", leader] += round(growth * len(destinations))
    if not any(through.values()):
        return NONE_NEEDED
    (_, broker), most = max(through.items(), key=lambda each: (each[1], each[0]))
    return NeededRate(round(most * MARGIN), broker)


def needed_rate_of_plan(moves: Iterable[GrowingMove], each_way: int) -> NeededRate:
    """What the busiest broker needs while it copies as many partitions at a time as it may.

    Which moves are under way together is not known before: the largest growths are taken.
    """
    ends: dict[tuple[str, BrokerId], list[float]] = {}
    for leader, destinations, growth in moves:
        for broker in destinations:
            ends.setdefault(("in", broker), []).append(growth)
        if leader is not None:
            ends.setdefault(("out", leader), []).append(growth * len(destinations))
    needs = {
        broker: sum(sorted(growths, reverse=True)[:each_way])
        for (_, broker), growths in sorted(ends.items())
    }
    broker = max(needs, key=lambda each: needs[each], default=None)
    return NONE_NEEDED if broker is None else NeededRate(round(needs[broker] * MARGIN), broker)


# ---- why ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StuckEvidence:
    """What is known about a move that is stuck."""

    leader: BrokerId | None
    destinations: tuple[BrokerId, ...]
    down: tuple[BrokerId, ...] = ()
    without_replica: tuple[BrokerId, ...] = ()  # brokers that have not created it
    offline_log_dirs: tuple[str, ...] = ()  # on the destinations
    full_log_dirs: tuple[str, ...] = ()
    rate: int | None = None
    needed: NeededRate = NONE_NEEDED


class StuckReason(NamedTuple):
    """Why a move is stuck; `disk_failed` where it cannot end on the disk that it goes to."""

    why: str
    disk_failed: bool = False


def why_stuck(evidence: StuckEvidence) -> StuckReason:
    """The likeliest reason, and what to do."""
    if evidence.offline_log_dirs and not evidence.down and evidence.leader is not None:
        return StuckReason(f"log directory {_listed(evidence.offline_log_dirs)} is offline", True)
    return StuckReason(_why_stuck(evidence))


def _why_stuck(evidence: StuckEvidence) -> str:
    if evidence.down:
        return f"broker {_listed(evidence.down)} is down"
    if evidence.leader is None:
        return "the partition has no leader"
    if evidence.full_log_dirs:
        return f"log directory {_listed(evidence.full_log_dirs)} has too little space"
    needed, broker = evidence.needed
    if evidence.rate is not None and needed > evidence.rate:
        return (
            f"the throttle of {evidence.rate} bytes/s is too low: broker {broker} needs {needed} "
            f"for what producers write; use kedge throttle --rate"
        )
    if evidence.without_replica:
        return (
            f"broker {_listed(evidence.without_replica)} has not created the replica; see its log"
        )
    return (
        f"broker {_listed(evidence.destinations)} does not fetch; its replica fetcher may have "
        "died: see its log, or restart it"
    )


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
