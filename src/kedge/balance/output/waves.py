"""The sequence in which moves run, how long that takes, and how full disks get meanwhile.

A move is one partition's change: its new replicas are copied from the leader, all at once. Moves
start as soon as every broker that takes part has a free slot (list scheduling): at most so many
copies into a broker and so many out of its leader at a time. No move waits for a whole wave.

First come the moves that relieve the broker that is most over its share *by then*, small ones
before large ones: a broker's remaining excess shrinks with each of its moves, and sorting all
moves by it gives "the most overloaded broker first".

    broker 1 is 40 GB over, moves of 10 and 25    keys 40, 30
    broker 2 is 35 GB over, one move of 20        key  35        sequence: 10, 20, 25

Where that takes clearly longer than starting with the busiest brokers does (few moves, some of them
huge), the latter is taken.

A copy takes its disk space when it starts; what it replaces is deleted when it has ended. A move
whose target has no space waits for that. Only when nothing runs and nothing can start does the
first one start all the same (its peak then shows in the summary).

*Waves* are a preference: no broker is in one wave more often than it has slots, and every partition
is in one wave. The time is that of starting moves in this sequence; it cannot be shorter than the
busiest broker's bytes in one direction at the full rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from kedge.balance.goals.problem import Bools, Floats, Int32s
from kedge.jit import kernel, kernel_with
from kedge.model.columns import Int64s

WORTH_WAITING = 1.05  # relief first may take so much longer than the busiest brokers first
LOOK_AHEAD = 200  # waiting moves of one broker that are tried when it has a slot again


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What has to be copied and deleted, one row per changed partition.

    Brokers and log directories are indexes (see `log_dirs`), -1 pads.
    """

    size: Floats  # float64[N]: bytes of one replica
    source: Int32s  # int32[N]: the broker that copies are taken from
    target: Int32s  # int32[N, K]: brokers that get a copy
    target_dir: Int32s  # int32[N, K]
    deleted_dir: Int32s  # int32[N, K]: log directories that lose a copy
    dir_broker: Int32s  # int32[U]: the broker of each log directory
    dir_used: Floats  # float64[U]: bytes there before the first move
    dir_limit: Floats  # float64[U]: inf where none is known

    def __len__(self) -> int:
        return len(self.size)

    @property
    def copies(self) -> Int64s:
        """How many replicas each row copies."""
        return (self.target >= 0).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """When each move starts and ends, in seconds, and the most bytes in each log directory."""

    start: Floats
    finish: Floats
    peak: Floats  # float64[U]

    @property
    def seconds(self) -> float:
        """When the last move ends."""
        return float(self.finish.max(initial=0.0))


def waves_of(
    moves: Moves, excess: Floats, relieved: Int32s, *, brokers: int, each_way: int
) -> tuple[Int64s, Int64s]:
    """The sequence in which moves start, and the number of the wave of each.

    `excess` float64[B] is how far each broker is over its share, in bytes; `relieved` is the broker
    that each move relieves, -1 for none.
    """
    order = most_overloaded_first(moves, excess, relieved)
    first = list_schedule(moves, order, brokers=brokers, each_way=each_way, rate=1.0)
    by_busiest = busiest_first(moves, brokers=brokers)
    other = list_schedule(moves, by_busiest, brokers=brokers, each_way=each_way, rate=1.0)
    if first.seconds > WORTH_WAITING * other.seconds:
        order, first = by_busiest, other
    started = order[np.argsort(first.start[order], kind="stable")]
    wave = _wave_numbers.for_size(len(started))(
        moves.source[started], moves.target[started], brokers, each_way
    )
    by_wave = np.argsort(wave, kind="stable")
    return started[by_wave], wave[by_wave]


def most_overloaded_first(moves: Moves, excess: Floats, relieved: Int32s) -> Int64s:
    """Moves by the remaining excess of the broker that they relieve, most first."""
    small_first = np.lexsort((moves.size, relieved))
    ordered, sizes = relieved[small_first], moves.size[small_first]
    done = np.cumsum(sizes) - sizes
    first = np.searchsorted(ordered, ordered, side="left")
    left = np.where(ordered >= 0, excess[ordered], 0.0) - (done - done[first])
    free = moves.copies[small_first] == 0
    return small_first[np.lexsort((-left, ~free))]


def busiest_first(moves: Moves, *, brokers: int) -> Int64s:
    """Moves by all bytes that the busier of their two ends has to copy, most first."""
    there = moves.target >= 0
    size = np.broadcast_to(moves.size[:, None], there.shape)
    taken = np.bincount(moves.target[there], size[there], brokers)
    sent = np.bincount(moves.source, moves.size * moves.copies, brokers)
    busiest = np.where(there, taken[moves.target], 0.0).max(axis=1, initial=0.0)
    busiest = np.maximum(busiest, sent[moves.source])
    return np.lexsort((-moves.size, -busiest, moves.copies > 0))


def list_schedule(
    moves: Moves, order: Int64s, *, brokers: int, each_way: int, rate: float
) -> Schedule:
    """The schedule of moves that start in this sequence, each as soon as it can."""
    # a flow has one slot's share of the rate; a leader with more flows than slots shares all of it
    seconds = moves.size * np.maximum(moves.copies, each_way) / rate
    flows = np.minimum(moves.copies, each_way)
    source, target = moves.source[order], moves.target[order]
    starts, rows = _rows_of_brokers(source, target, brokers)
    jobs = Jobs(
        size=moves.size[order],
        seconds=seconds[order],
        flows=flows[order],
        source=source,
        target=target,
        target_dir=moves.target_dir[order],
        deleted_dir=moves.deleted_dir[order],
        dir_broker=moves.dir_broker,
        dir_limit=moves.dir_limit,
        starts=starts,
        rows=rows,
        each_way=each_way,
        look_ahead=LOOK_AHEAD,
    )
    start, finish, peak = _run_schedule.for_size(10 * len(order))(jobs, moves.dir_used)
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return Schedule(start[back], finish[back], peak)


def makespan_bound(moves: Moves, *, brokers: int, rate: float) -> float:
    """No sequence is faster: the busiest broker's bytes in one direction at the full rate."""
    there = moves.target >= 0
    size = np.broadcast_to(moves.size[:, None], there.shape)
    taken = np.bincount(moves.target[there], size[there], brokers)
    sent = np.bincount(moves.source, moves.size * moves.copies, brokers)
    return float(max(taken.max(initial=0), sent.max(initial=0)) / rate)


def _rows_of_brokers(source: Int32s, target: Int32s, brokers: int) -> tuple[Int64s, Int64s]:
    """The rows in which each broker takes part, ascending: where its list starts, and all lists."""
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


class Jobs(NamedTuple):
    """Moves in the sequence in which they start, with the rows of each broker."""

    size: Floats  # [N]
    seconds: Floats  # [N]
    flows: Int64s  # [N]: slots of the leader that a move takes
    source: Int32s  # [N]
    target: Int32s  # [N, K]
    target_dir: Int32s  # [N, K]
    deleted_dir: Int32s  # [N, K]
    dir_broker: Int32s  # [U]
    dir_limit: Floats  # [U]
    starts: Int64s  # [B + 1]: where the list of each broker starts in `rows`
    rows: Int64s
    each_way: int  # slots of a broker in each direction
    look_ahead: int


class Slots(NamedTuple):
    """What is in use at one moment of the schedule."""

    taking: Int64s  # [B]: copies into a broker
    sending: Int64s  # [B]: copies out of it
    used: Floats  # [U]: bytes in each log directory
    peak: Floats  # [U]: the most so far


def _can_start(jobs: Jobs, slots: Slots, i: int, forced: bool) -> bool:
    """Whether all brokers of a move have free slots, and its targets space (unless forced)."""
    if jobs.target[i, 0] < 0:
        return True
    if slots.sending[jobs.source[i]] + jobs.flows[i] > jobs.each_way:
        return False
    for j in range(jobs.target.shape[1]):
        if jobs.target[i, j] >= 0:
            if slots.taking[jobs.target[i, j]] >= jobs.each_way:
                return False
            at = jobs.target_dir[i, j]
            if not forced and slots.used[at] + jobs.size[i] > jobs.dir_limit[at]:
                return False
    return True


def _begin(jobs: Jobs, slots: Slots, i: int) -> None:
    """Take the slots and the disk space of a move."""
    slots.sending[jobs.source[i]] += jobs.flows[i]
    for j in range(jobs.target.shape[1]):
        if jobs.target[i, j] >= 0:
            slots.taking[jobs.target[i, j]] += 1
            at = jobs.target_dir[i, j]
            slots.used[at] += jobs.size[i]
            slots.peak[at] = max(slots.peak[at], slots.used[at])


def _delete_replaced(jobs: Jobs, slots: Slots, i: int) -> None:
    """Free the disk space of the replicas that a move replaces."""
    for j in range(jobs.deleted_dir.shape[1]):
        if jobs.deleted_dir[i, j] >= 0:
            slots.used[jobs.deleted_dir[i, j]] -= jobs.size[i]


def _end(jobs: Jobs, slots: Slots, i: int, freed: Int64s) -> int:
    """Free slots and space of a move; the brokers that gained some go to `freed`, how many."""
    slots.sending[jobs.source[i]] -= jobs.flows[i]
    freed[0] = jobs.source[i]
    count = 1
    for j in range(jobs.target.shape[1]):
        if jobs.target[i, j] >= 0:
            slots.taking[jobs.target[i, j]] -= 1
            freed[count] = jobs.target[i, j]
            count += 1
    _delete_replaced(jobs, slots, i)
    for j in range(jobs.deleted_dir.shape[1]):
        if jobs.deleted_dir[i, j] >= 0:
            freed[count] = jobs.dir_broker[jobs.deleted_dir[i, j]]
            count += 1
    return count


@kernel_with(_can_start, _begin, _delete_replaced, _end)
def _run_schedule(jobs: Jobs, dir_used: Floats) -> tuple[Floats, Floats, Floats]:
    """Start rows in sequence, each as soon as it has slots and space; starts, ends, peaks."""
    count, brokers = len(jobs.size), len(jobs.starts) - 1
    start, finish = np.full(count, -1.0), np.zeros(count)
    taking, sending = np.zeros(brokers, np.int64), np.zeros(brokers, np.int64)
    slots = Slots(taking, sending, dir_used.copy(), dir_used.copy())
    head = jobs.starts[:-1].copy()
    running = [(0.0, -1)]  # the event that starts everything
    freed = np.zeros(1 + jobs.target.shape[1] + jobs.deleted_dir.shape[1], np.int64)
    now, begun, forced = 0.0, 0, False
    while begun < count or len(running) > 0:
        tries = 0
        if len(running) > 0:
            now, done = heappop(running)
            if done >= 0:
                tries = _end(jobs, slots, done, freed)
        else:
            forced = True  # nothing runs and nothing fits: the next row starts all the same
        every = tries == 0
        for t in range(1 if every else tries):
            first = 0 if every else head[freed[t]]
            last = count if every else jobs.starts[freed[t] + 1]
            looked, leading = 0, True
            for at in range(first, last):
                i = at if every else jobs.rows[at]
                if start[i] >= 0:
                    if leading and not every:
                        head[freed[t]] = at + 1
                    continue
                leading = False
                looked += 1
                if not every and looked > jobs.look_ahead:
                    break
                if not _can_start(jobs, slots, i, forced):
                    continue
                forced = False
                begun += 1
                start[i], finish[i] = now, now
                if jobs.target[i, 0] < 0:
                    _delete_replaced(jobs, slots, i)
                else:
                    finish[i] = now + jobs.seconds[i]
                    _begin(jobs, slots, i)
                    heappush(running, (finish[i], i))
    return start, finish, slots.peak


def over_limit(moves: Moves, schedule: Schedule) -> Bools:
    """bool[U]: log directories that exceed their limit at some moment, and did not before."""
    before = np.maximum(moves.dir_used, moves.dir_limit)
    return schedule.peak > before * (1 + 1e-9)
