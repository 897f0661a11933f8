"""Log directories: where replicas are inside their brokers, and where a new replica goes.

A broker whose directories are unknown counts as one directory without a path. One with known
directories has one more, without path and limit, for replicas whose directory is unknown.

A new replica goes where the directory is least full afterwards, the largest replicas first; a
directory that it would fill beyond its limit is taken only when no other is left.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from kedge.balance.goals.capacity import capacities_of
from kedge.balance.goals.problem import Floats, Int32s
from kedge.model.broker import Broker
from kedge.model.columns import widened
from kedge.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class LogDirs:
    """All dirs of a cluster; those of one broker lie side by side, the one unnamed last."""

    broker: Int32s  # int32[U]
    path: tuple[str | None, ...]  # of each log_dir; None for the unnamed one
    limit: Floats  # float64[U]: bytes it may be filled to
    first: Int32s  # int32[B + 1]: where each broker's dirs start
    by_path: Int32s  # int32[B, paths]: log_dir of each of the snapshot's paths; -1 there is none

    def named(self, broker: int) -> range:
        """The dirs of a broker that have a path."""
        return range(int(self.first[broker]), int(self.first[broker + 1]) - 1)

    def unnamed(self, brokers: Int32s) -> Int32s:
        """The log_dir for what a broker does not say the directory of."""
        return (self.first[brokers + 1] - 1).astype(np.int32)

    def of_replicas(self, snapshot: Snapshot, initial: Int32s) -> Int32s:
        """int32[P, K]: the log directory of each initial replica (broker indexes); -1 pads."""
        path = widened(snapshot.log_dir, initial.shape[1])
        unnamed = self.unnamed(initial)
        if self.by_path.shape[1]:
            known = np.where(path >= 0, self.by_path[initial, path], -1)
            unnamed = np.where(known >= 0, known, unnamed)
        return np.where(initial >= 0, unnamed, np.int32(-1)).astype(np.int32)


def log_dirs_of(snapshot: Snapshot, share: float | None) -> LogDirs:
    """The dirs of a cluster; `share` is how much of a disk may be filled, None for all."""
    broker: list[int] = []
    path: list[str | None] = []
    limit: list[float] = []
    first = [0]
    for index, each in enumerate(snapshot.brokers):
        for name, capacity in _own_dirs(each):
            broker.append(index)
            path.append(name)
            limit.append(np.inf if capacity is None or share is None else share * capacity)
        first.append(len(broker))
    known = {name: log_dir for log_dir, name in enumerate(snapshot.log_dir_paths)}
    by_path = np.full((len(snapshot.brokers), len(known)), -1, np.int32)
    for log_dir, (index, name) in enumerate(zip(broker, path, strict=True)):
        if name in known:
            by_path[index, known[name]] = log_dir
    return LogDirs(
        np.array(broker, np.int32), tuple(path), np.array(limit), np.array(first, np.int32), by_path
    )


def _own_dirs(broker: Broker) -> list[tuple[str | None, float | None]]:
    if not broker.log_dirs:
        return [(None, capacities_of(broker)[0])]
    named: list[tuple[str | None, float | None]] = [(d.path, d.capacity) for d in broker.log_dirs]
    if len(named) == 1 and named[0][1] is None:
        named = [(named[0][0], capacities_of(broker)[0])]
    return [*named, (None, None)]


def choose_log_dirs(dirs: LogDirs, used: Floats, target: Int32s, size: Floats) -> Int32s:
    """int32[N, K]: the log_dir for each new replica; `used` is what stays there, and is updated."""
    chosen = np.where(target >= 0, dirs.unnamed(target), np.int32(-1)).astype(np.int32)
    several = np.diff(dirs.first) > 1
    row, column = np.nonzero((target >= 0) & several[target])
    largest_first = np.argsort(-size[row], kind="stable")
    for at in largest_first.tolist():
        i, j = int(row[at]), int(column[at])
        log_dir = _roomiest(dirs, used, int(target[i, j]), float(size[i]))
        used[log_dir] += size[i]
        chosen[i, j] = log_dir
    return chosen


def _roomiest(dirs: LogDirs, used: Floats, broker: int, size: float) -> int:
    def fullness(log_dir: int) -> tuple[bool, float]:
        after, limit = float(used[log_dir]) + size, float(dirs.limit[log_dir])
        return after > limit, after if limit == np.inf else after / limit

    return min(dirs.named(broker), key=fullness)


@dataclass(frozen=True, slots=True)
class LogDirMove:
    """A replica that changes its directory and stays on its broker."""

    row: int
    column: int
    log_dir: int


def even_out(
    dirs: LogDirs, used: Floats, dir_of: Int32s, size: Floats, tolerance: float, most: int = 50
) -> list[LogDirMove]:
    """Moves between directories of one broker that even them out; `used` is updated.

    `dir_of` int32[P, K] has the replicas that may be dir_moves, -1 elsewhere.
    """
    holds: defaultdict[int, list[tuple[float, int, int]]] = defaultdict(list)
    several = np.diff(dirs.first) > 2
    row, column = np.nonzero((dir_of >= 0) & several[dirs.broker[dir_of]])
    for i, j in zip(row.tolist(), column.tolist(), strict=True):
        holds[int(dir_of[i, j])].append((float(size[i]), i, j))
    moves: list[LogDirMove] = []
    for broker in np.flatnonzero(several).tolist():
        moves += _even_out_broker(dirs, used, dirs.named(broker), holds, tolerance, most)
    return moves


def _even_out_broker(
    dirs: LogDirs,
    used: Floats,
    named: range,
    holds: dict[int, list[tuple[float, int, int]]],
    tolerance: float,
    most: int,
) -> list[LogDirMove]:
    size_limit = {
        log_dir: 1.0 if dirs.limit[log_dir] == np.inf else float(dirs.limit[log_dir])
        for log_dir in named
    }
    mean = sum(float(used[log_dir]) for log_dir in named) / sum(size_limit.values())
    moves: list[LogDirMove] = []
    for _ in range(most):
        fullest = max(named, key=lambda log_dir: float(used[log_dir]) / size_limit[log_dir])
        emptiest = min(named, key=lambda log_dir: float(used[log_dir]) / size_limit[log_dir])
        excess = float(used[fullest]) - mean * size_limit[fullest]
        gap = mean * size_limit[emptiest] - float(used[emptiest])
        wanted = min(excess, gap)
        # neither may end fuller than the fullest is now
        equal = float(used[fullest]) / size_limit[fullest] * size_limit[emptiest] - float(
            used[emptiest]
        )
        fitting = [each for each in holds[fullest] if 0 < each[0] < min(2 * wanted, equal)]
        if excess <= tolerance * mean * size_limit[fullest] or not fitting:
            break
        size, row, column = best = min(fitting, key=lambda each: abs(each[0] - wanted))
        holds[fullest].remove(best)
        used[fullest] -= size
        used[emptiest] += size
        moves.append(LogDirMove(row, column, emptiest))
    return moves
