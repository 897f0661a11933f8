"""Who led each partition of a topic, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.metrics.attribution.grid import Grid
from kedge.metrics.attribution.samples import (
    Flags,
    Floats,
    Ints,
    Points,
    TopicSamples,
    row_of,
)
from kedge.metrics.measurement import NONE, Series


@dataclass(frozen=True, slots=True)
class Leadership:
    """Leaders of one topic's partitions over time, sorted by partition and time.

    A row holds until the next row of its partition; the first one also before it. `NONE` leads
    where a partition has no leader.
    """

    partition: Ints
    since_ms: Ints
    leader: Ints

    @staticmethod
    def of(rows: Iterable[tuple[int, int, int]]) -> Leadership:
        """From (partition, since ms, leader) in any order; repeated leaders are left out."""
        kept: list[tuple[int, int, int]] = []
        for row in sorted(rows):
            if not kept or kept[-1][0] != row[0] or kept[-1][2] != row[2]:
                kept.append(row)
        columns = np.array(kept, np.int64).reshape(-1, 3)
        return Leadership(columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy())

    @property
    def partitions(self) -> Ints:
        """The partitions that are known."""
        return np.unique(self.partition)

    def rows(self) -> list[tuple[int, int, int]]:
        """Partition, since ms and leader of each row."""
        columns = (self.partition, self.since_ms, self.leader)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def spans(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Partition, leader, start and end of each time of leading; open ends are far away."""
        same = np.append(self.partition[1:] == self.partition[:-1], [False])[: len(self.partition)]
        first = np.append([True], ~same[:-1])[: len(self.partition)]
        start = np.where(first, _PAST, self.since_ms)
        end = np.where(same, np.append(self.since_ms[1:], [0])[: len(same)], _FUTURE)
        return self.partition, self.leader, start, end

    def led(self, broker: int, partitions: Ints, grid: Grid) -> Floats:
        """The share of each interval in which a broker led each partition."""
        share = np.zeros((len(partitions), grid.count))
        partition, leader, start, end = self.spans()
        low = grid.edges[:-1]
        for at in np.flatnonzero((leader == broker) & np.isin(partition, partitions)):
            row = row_of(partitions, int(partition[at]))
            inside = np.minimum(low + grid.step_ms, end[at]) - np.maximum(low, start[at])
            share[row] += np.maximum(inside, 0) / grid.step_ms
        return share

    def moved(self, grid: Grid) -> Flags:
        """The intervals in which a leader changed, with those before and after."""
        changed = np.append([False], self.partition[1:] == self.partition[:-1])
        ts = self.since_ms[changed[: len(self.since_ms)]]
        inside = ts[(ts > grid.first_ms) & (ts <= grid.first_ms + grid.count * grid.step_ms)]
        moved = np.zeros(grid.count, np.bool_)
        for near in (-1, 0, 1):
            moved[np.clip(grid.at(inside) + near, 0, grid.count - 1)] = True
        return moved

    def at_ends(self, partitions: Ints, grid: Grid) -> Ints:
        """The leader of each partition at the end of each interval; `NONE` where unknown."""
        leaders = np.full((len(partitions), grid.count), NONE, np.int64)
        if not len(self.partition):
            return leaders
        ends = grid.edges[1:]
        for row, partition in enumerate(partitions):
            low, high = np.searchsorted(self.partition, [partition, partition + 1])
            if low < high:
                found = np.searchsorted(self.since_ms[low:high], ends, side="right") - 1
                leaders[row] = self.leader[low:high][np.maximum(found, 0)]
        return leaders


_PAST, _FUTURE = -(2**60), 2**60
_MISSED: Final = 1.5  # times the usual time between samples: the one before was not answered


@dataclass(frozen=True, slots=True)
class LeadingTimes:
    """When one broker led any partition of the topic, where that is known."""

    start: Ints
    end: Ints

    @staticmethod
    def of(leaders: Leadership | None, broker: int) -> LeadingTimes:
        """The times of one broker; none where leaders are not known."""
        if leaders is None:
            return LeadingTimes(np.empty(0, np.int64), np.empty(0, np.int64))
        _, leader, start, end = leaders.spans()
        return LeadingTimes(start[leader == broker], end[leader == broker])

    def began(self, low: int, high: int) -> int | None:
        """When it began to lead after a time of leading nothing, between two moments."""
        inside = np.sort(self.start[(self.start > low) & (self.start < high)])
        if not len(inside) or self._leads(int(inside[0]) - 1):
            return None
        return int(inside[0])

    def ended(self, low: int, high: int) -> int | None:
        """When it ended to lead anything, between two moments."""
        inside = np.sort(self.end[(self.end > low) & (self.end < high)])
        if not len(inside) or self._leads(int(inside[-1])):
            return None
        return int(inside[-1])

    def _leads(self, moment: int) -> bool:
        return bool(((self.start <= moment) & (moment < self.end)).any())


def known_leaders(
    changes: Leadership | None, observed: Leadership | None, seen: Leadership | None
) -> Leadership | None:
    """Who led, from a history of changes, leaders of single moments, and the measurements.

    A history holds from its first change of a partition on; before that, the leaders that are seen
    in the measurements do. A leader that was observed at one moment says nothing of the time
    before or after: it counts where neither of the others tells who led.
    """
    told, moments, measured = (
        [] if each is None else each.rows() for each in (changes, observed, seen)
    )
    first = {partition: since for partition, since, _ in reversed(told)}
    is_seen = {partition for partition, _, _ in measured}
    rows = [
        *told,
        *(r for r in moments if r[0] not in is_seen or r[1] >= first.get(r[0], _FUTURE)),
        *(r for r in measured if r[1] < first.get(r[0], _FUTURE)),
    ]
    return Leadership.of(rows) if rows else None


def leadership_seen(samples: TopicSamples) -> Leadership | None:
    """From the replicas that a leader counts, which followers give as 0; None if not exported."""
    points = samples[Series.REPLICAS]
    leads = points.value > 0
    if not leads.any():
        return None
    since = points.ts - _before(points) // 2  # between two samples of the new leader
    columns = (points.partition.astype(np.int64), points.ts, since, points.broker.astype(np.int64))
    return _changes_of_leader(*(column[leads] for column in columns))


def _before(points: Points) -> Ints:
    """The time since the sample before, of the same replica."""
    usual = points.spacing()
    same = (points.partition[1:] == points.partition[:-1]) & (
        points.broker[1:] == points.broker[:-1]
    )
    between = np.append([usual], np.where(same, np.diff(points.ts), usual))
    return np.minimum(between, int(_MISSED * usual))


def _changes_of_leader(partition: Ints, ts: Ints, since: Ints, broker: Ints) -> Leadership:
    order = np.lexsort((ts, partition))
    partition, since, broker = partition[order], since[order], broker[order]
    # brokers are scraped at different moments: for a while two seem to lead, the newer one does
    changed = np.append([True], (partition[1:] != partition[:-1]) | (broker[1:] != broker[:-1]))
    return Leadership(partition[changed], since[changed], broker[changed])
