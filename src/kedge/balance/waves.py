"""In which order moves run, how long that takes, and how full disks get meanwhile.

A move is one partition's change: its new replicas are copied from the leader, all at once. Moves
start as soon as every broker that takes part has a free slot (list scheduling): at most so many
copies into a broker and so many out of its leader at a time. Nobody waits for a whole wave.

First come the moves that relieve the broker that is most over its share *by then*, small ones
before large ones: a broker's remaining excess shrinks with each of its moves, and sorting all
moves by it is what "the most violated broker first" comes to.

    broker 1 is 40 GB over, moves of 10 and 25    keys 40, 30
    broker 2 is 35 GB over, one move of 20        key  35        order: 10, 20, 25

Where that order takes clearly longer than starting with the busiest brokers does (few moves, some
of them huge), the latter is taken.

A copy takes its room when it starts; what it replaces is dropped when it has ended. A move whose
target has no room waits for that, and only when nothing else runs and nothing can start is the
first one let through (its peak then shows in the summary).

*Waves* are an order of preference: no broker is in one wave more often than it has slots, and
every partition is in one wave. The time is that of starting moves in this order; it cannot be
shorter than the busiest broker's bytes in one direction at the full rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from kedge.balance.problem import Bools, Floats, Int32s
from kedge.jit import kernel
from kedge.model.columns import Int64s

WORTH_WAITING = 1.05  # relief first may take so much longer than the shortest order known
LOOK_AHEAD = 200  # waiting moves of one broker that are tried when it has a slot again


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What has to be copied and dropped, one row per changed partition.

    Brokers are indexes. A *place* is what has room of its own: a log directory, or the disk of a
    broker whose directories nobody knows. -1 pads.
    """

    size: Floats  # float64[N]: bytes of one replica
    source: Int32s  # int32[N]: the broker that copies are taken from
    target: Int32s  # int32[N, K]: brokers that get a copy
    target_place: Int32s  # int32[N, K]
    dropped_place: Int32s  # int32[N, K]: places that lose a copy
    place_broker: Int32s  # int32[U]: the broker of each place
    place_used: Floats  # float64[U]: bytes there before the first move
    place_limit: Floats  # float64[U]: inf where nobody knows

    def __len__(self) -> int:
        return len(self.size)

    @property
    def copies(self) -> Int64s:
        """How many replicas each row copies."""
        return (self.target >= 0).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """When each move starts and ends, in seconds, and the most that each place held."""

    start: Floats
    finish: Floats
    peak: Floats  # float64[U]

    @property
    def seconds(self) -> float:
        """When the last move has ended."""
        return float(self.finish.max(initial=0.0))


def waves_of(
    moves: Moves, excess: Floats, loser: Int32s, *, brokers: int, each_way: int
) -> tuple[Int64s, Int64s]:
    """The order to start moves in, and for each place in that order the number of its wave.

    `excess` is per broker how far it is over its share (in bytes), `loser` the broker that each
    move relieves, -1 for none.
    """
    order = by_relief(moves, excess, loser)
    first = scheduled(moves, order, brokers=brokers, each_way=each_way, rate=1.0)
    busiest_first = by_busiest(moves, brokers=brokers)
    other = scheduled(moves, busiest_first, brokers=brokers, each_way=each_way, rate=1.0)
    if first.seconds > WORTH_WAITING * other.seconds:
        order, first = busiest_first, other
    started = order[np.argsort(first.start[order], kind="stable")]
    wave = _wave_numbers.for_size(len(started))(
        moves.source[started], moves.target[started], brokers, each_way
    )
    by_wave = np.argsort(wave, kind="stable")
    return started[by_wave], wave[by_wave]


def by_relief(moves: Moves, excess: Floats, loser: Int32s) -> Int64s:
    """Moves by what is left of the excess of the broker that they relieve, most first."""
    small_first = np.lexsort((moves.size, loser))
    ordered, sizes = loser[small_first], moves.size[small_first]
    done = np.cumsum(sizes) - sizes
    first = np.searchsorted(ordered, ordered, side="left")
    left = np.where(ordered >= 0, excess[ordered], 0.0) - (done - done[first])
    free = moves.copies[small_first] == 0
    return small_first[np.lexsort((-left, ~free))]


def by_busiest(moves: Moves, *, brokers: int) -> Int64s:
    """Moves by the bytes that the busier of their ends has to pass on in all, most first."""
    there = moves.target >= 0
    size = np.broadcast_to(moves.size[:, None], there.shape)
    taken = np.bincount(moves.target[there], size[there], brokers)
    sent = np.bincount(moves.source, moves.size * moves.copies, brokers)
    busiest = np.where(there, taken[moves.target], 0.0).max(axis=1, initial=0.0)
    busiest = np.maximum(busiest, sent[moves.source])
    return np.lexsort((-moves.size, -busiest, moves.copies > 0))


def scheduled(moves: Moves, order: Int64s, *, brokers: int, each_way: int, rate: float) -> Schedule:
    """What happens when moves start in this order, each as soon as it can."""
    # a flow has one slot's share of the rate; a leader with more flows than slots shares all of it
    seconds = moves.size * np.maximum(moves.copies, each_way) / rate
    flows = np.minimum(moves.copies, each_way)
    ahead = [moves.source, moves.target, moves.target_place, moves.dropped_place]
    source, target, target_place, dropped_place = (part[order] for part in ahead)
    start, finish, peak = _list_schedule.for_size(10 * len(order))(
        *(
            moves.size[order],
            seconds[order],
            flows[order],
            source,
            target,
            target_place,
            dropped_place,
        ),
        *_jobs_of(source, target, brokers),
        *(moves.place_broker, moves.place_used, moves.place_limit),
        *(each_way, LOOK_AHEAD),
    )
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return Schedule(start[back], finish[back], peak)


def shortest_seconds(moves: Moves, *, brokers: int, rate: float) -> float:
    """No order is faster: the busiest broker's bytes in one direction at the full rate."""
    there = moves.target >= 0
    size = np.broadcast_to(moves.size[:, None], there.shape)
    taken = np.bincount(moves.target[there], size[there], brokers)
    sent = np.bincount(moves.source, moves.size * moves.copies, brokers)
    return float(max(taken.max(initial=0), sent.max(initial=0)) / rate)


def _jobs_of(source: Int32s, target: Int32s, brokers: int) -> tuple[Int64s, Int64s]:
    """The rows in which each broker takes part, ascending: offsets, and rows end to end."""
    ends = np.concatenate([source[:, None], target], axis=1)
    copies = (target >= 0).sum(axis=1, keepdims=True)
    ends = np.where(copies > 0, ends, -1)
    row, column = np.nonzero(ends >= 0)
    broker = ends[row, column]
    by_broker = np.argsort(broker, kind="stable")
    offsets = np.searchsorted(broker[by_broker], np.arange(brokers + 1))
    return offsets.astype(np.int64), row[by_broker].astype(np.int64)


@kernel
def _wave_numbers(source: Int32s, target: Int32s, brokers: int, each_way: int) -> Int64s:
    """The first wave in which all brokers of a move still have a slot, move by move."""
    level = np.zeros((2, brokers), np.int64)
    used = np.zeros((2, brokers), np.int64)
    wave = np.zeros(len(source), np.int64)
    for i in range(len(source)):
        if target[i, 0] < 0:
            continue
        at = level[0, source[i]]
        for b in target[i]:
            if b >= 0:
                at = max(at, level[1, b])
        wave[i] = at
        for j in range(-1, target.shape[1]):
            side = 0 if j < 0 else 1
            b = source[i] if j < 0 else target[i, j]
            if b < 0:
                continue
            if level[side, b] < at:
                level[side, b] = at
                used[side, b] = 0
            used[side, b] += 1
            if used[side, b] == each_way:
                level[side, b] += 1
                used[side, b] = 0
    return wave


@kernel
def _list_schedule(
    size: Floats,
    seconds: Floats,
    flows: Int64s,
    source: Int32s,
    target: Int32s,
    target_place: Int32s,
    dropped_place: Int32s,
    offsets: Int64s,
    rows: Int64s,
    place_broker: Int32s,
    place_used: Floats,
    place_limit: Floats,
    each_way: int,
    look_ahead: int,
) -> tuple[Floats, Floats, Floats]:
    """Start rows in order, each as soon as it has slots and room; starts, ends, peaks."""
    count, width, brokers = len(size), target.shape[1], len(offsets) - 1
    start, finish = np.full(count, -1.0), np.zeros(count)
    used, peak = place_used.copy(), place_used.copy()
    taking, sending = np.zeros(brokers, np.int64), np.zeros(brokers, np.int64)
    head = offsets[:-1].copy()
    running = [(0.0, -1)]  # which starts everything
    to_try = np.zeros(1 + width + dropped_place.shape[1], np.int64)
    now, begun, forced = 0.0, 0, False
    while begun < count or len(running) > 0:
        tries = 0
        if len(running) > 0:
            now, done = heappop(running)
            if done >= 0:
                sending[source[done]] -= flows[done]
                to_try[0] = source[done]
                tries = 1
                for j in range(width):
                    if target[done, j] >= 0:
                        taking[target[done, j]] -= 1
                        to_try[tries] = target[done, j]
                        tries += 1
                for j in range(dropped_place.shape[1]):
                    place = dropped_place[done, j]
                    if place >= 0:
                        used[place] -= size[done]
                        to_try[tries] = place_broker[place]
                        tries += 1
        else:
            forced = True  # nothing runs and nothing fits: the first one has to go all the same
        every = tries == 0
        for t in range(1 if every else tries):
            first = 0 if every else head[to_try[t]]
            last = count if every else offsets[to_try[t] + 1]
            looked, leading = 0, True
            for at in range(first, last):
                i = at if every else rows[at]
                if start[i] >= 0:
                    if leading and not every:
                        head[to_try[t]] = at + 1
                    continue
                leading = False
                looked += 1
                if not every and looked > look_ahead:
                    break
                copies = target[i, 0] >= 0
                fits = not copies or sending[source[i]] + flows[i] <= each_way
                for j in range(width):
                    if target[i, j] >= 0 and fits:
                        fits = taking[target[i, j]] < each_way
                        place = target_place[i, j]
                        if fits and not forced and used[place] + size[i] > place_limit[place]:
                            fits = False
                if not fits:
                    continue
                forced = False
                start[i], finish[i] = now, now
                begun += 1
                if not copies:
                    for j in range(dropped_place.shape[1]):
                        if dropped_place[i, j] >= 0:
                            used[dropped_place[i, j]] -= size[i]
                    continue
                finish[i] = now + seconds[i]
                sending[source[i]] += flows[i]
                for j in range(width):
                    if target[i, j] >= 0:
                        taking[target[i, j]] += 1
                        place = target_place[i, j]
                        used[place] += size[i]
                        peak[place] = max(peak[place], used[place])
                heappush(running, (finish[i], i))
    return start, finish, peak


def over_limit(moves: Moves, schedule: Schedule) -> Bools:
    """bool[U]: places that hold more than their limit at some moment, and did not before."""
    before = np.maximum(moves.place_used, moves.place_limit)
    return schedule.peak > before * (1 + 1e-9)
