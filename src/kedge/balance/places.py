"""Where replicas lie inside their brokers: log directories, and the one to put a new replica in.

A *place* is one log directory of one broker. A broker whose directories nobody knows is one place;
one that tells its directories has one more, without limit, for replicas of which it does not say
where they are.

A new replica goes where the directory is least full afterwards, the largest replicas first; a
directory that it would fill beyond its limit is taken only when no other is left.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from kedge.balance.aim import capacities_of
from kedge.balance.problem import Floats, Int32s
from kedge.model.broker import Broker
from kedge.model.columns import widened
from kedge.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """All places of a cluster; those of one broker lie side by side, the one unnamed last."""

    broker: Int32s  # int32[U]
    path: tuple[str | None, ...]  # of each place; None for the unnamed one
    limit: Floats  # float64[U]: bytes it may be filled to
    first: Int32s  # int32[B + 1]: where each broker's places start
    by_path: Int32s  # int32[B, paths]: place of each of the snapshot's paths; -1 there is none

    def named(self, broker: int) -> range:
        """The places of a broker that have a path."""
        return range(int(self.first[broker]), int(self.first[broker + 1]) - 1)

    def unnamed(self, brokers: Int32s) -> Int32s:
        """The place for what a broker does not say the directory of."""
        return (self.first[brokers + 1] - 1).astype(np.int32)

    def of_replicas(self, snapshot: Snapshot, home: Int32s) -> Int32s:
        """int32[P, K]: the place of each replica at home (broker indexes); -1 where none is."""
        path = widened(snapshot.log_dir, home.shape[1])
        unnamed = self.unnamed(home)
        if self.by_path.shape[1]:
            told = np.where(path >= 0, self.by_path[home, path], -1)
            unnamed = np.where(told >= 0, told, unnamed)
        return np.where(home >= 0, unnamed, np.int32(-1)).astype(np.int32)


def places_of(snapshot: Snapshot, share: float | None) -> Places:
    """The places of a cluster; `share` is how much of a disk may be filled, None for all."""
    broker: list[int] = []
    path: list[str | None] = []
    limit: list[float] = []
    first = [0]
    for index, each in enumerate(snapshot.brokers):
        for name, capacity in _places(each):
            broker.append(index)
            path.append(name)
            limit.append(np.inf if capacity is None or share is None else share * capacity)
        first.append(len(broker))
    known = {name: place for place, name in enumerate(snapshot.log_dir_paths)}
    by_path = np.full((len(snapshot.brokers), len(known)), -1, np.int32)
    for place, (index, name) in enumerate(zip(broker, path, strict=True)):
        if name in known:
            by_path[index, known[name]] = place
    return Places(
        np.array(broker, np.int32), tuple(path), np.array(limit), np.array(first, np.int32), by_path
    )


def _places(broker: Broker) -> list[tuple[str | None, float | None]]:
    if not broker.log_dirs:
        return [(None, capacities_of(broker)[0])]
    named: list[tuple[str | None, float | None]] = [(d.path, d.capacity) for d in broker.log_dirs]
    if len(named) == 1 and named[0][1] is None:
        named = [(named[0][0], capacities_of(broker)[0])]
    return [*named, (None, None)]


def chosen_places(places: Places, used: Floats, target: Int32s, size: Floats) -> Int32s:
    """int32[N, K]: the place for each new replica; `used` is what stays there, and is updated."""
    chosen = np.where(target >= 0, places.unnamed(target), np.int32(-1)).astype(np.int32)
    several = np.diff(places.first) > 1
    row, column = np.nonzero((target >= 0) & several[target])
    largest_first = np.argsort(-size[row], kind="stable")
    for at in largest_first.tolist():
        i, j = int(row[at]), int(column[at])
        place = _roomiest(places, used, int(target[i, j]), float(size[i]))
        used[place] += size[i]
        chosen[i, j] = place
    return chosen


def _roomiest(places: Places, used: Floats, broker: int, size: float) -> int:
    def fullness(place: int) -> tuple[bool, float]:
        after, limit = float(used[place]) + size, float(places.limit[place])
        return after > limit, after if limit == np.inf else after / limit

    return min(places.named(broker), key=fullness)


@dataclass(frozen=True, slots=True)
class Shift:
    """A replica that changes its directory and stays on its broker."""

    row: int
    column: int
    place: int


def evened(
    places: Places, used: Floats, place_of: Int32s, size: Floats, tolerance: float, most: int = 50
) -> list[Shift]:
    """Moves between directories of one broker that even them out; `used` is updated.

    `place_of` int32[P, K] has the replicas that may be shifted, -1 elsewhere.
    """
    holds: defaultdict[int, list[tuple[float, int, int]]] = defaultdict(list)
    several = np.diff(places.first) > 2
    row, column = np.nonzero((place_of >= 0) & several[places.broker[place_of]])
    for i, j in zip(row.tolist(), column.tolist(), strict=True):
        holds[int(place_of[i, j])].append((float(size[i]), i, j))
    shifts: list[Shift] = []
    for broker in np.flatnonzero(several).tolist():
        shifts += _evened_broker(places, used, places.named(broker), holds, tolerance, most)
    return shifts


def _evened_broker(
    places: Places,
    used: Floats,
    named: range,
    holds: dict[int, list[tuple[float, int, int]]],
    tolerance: float,
    most: int,
) -> list[Shift]:
    room = {
        place: 1.0 if places.limit[place] == np.inf else float(places.limit[place])
        for place in named
    }
    mean = sum(float(used[place]) for place in named) / sum(room.values())
    shifts: list[Shift] = []
    for _ in range(most):
        fullest = max(named, key=lambda place: float(used[place]) / room[place])
        emptiest = min(named, key=lambda place: float(used[place]) / room[place])
        excess = float(used[fullest]) - mean * room[fullest]
        gap = mean * room[emptiest] - float(used[emptiest])
        wanted = min(excess, gap)
        # neither may end fuller than the fullest is now
        equal = float(used[fullest]) / room[fullest] * room[emptiest] - float(used[emptiest])
        fitting = [each for each in holds[fullest] if 0 < each[0] < min(2 * wanted, equal)]
        if excess <= tolerance * mean * room[fullest] or not fitting:
            break
        size, row, column = best = min(fitting, key=lambda each: abs(each[0] - wanted))
        holds[fullest].remove(best)
        used[fullest] -= size
        used[emptiest] += size
        shifts.append(Shift(row, column, emptiest))
    return shifts
