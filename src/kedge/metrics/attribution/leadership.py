"""Who led each partition of a topic, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kedge.metrics.attribution.grid import Grid
from kedge.metrics.attribution.samples import Flags, Floats, Ints, TopicSamples, row_of
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


def leadership_seen(samples: TopicSamples) -> Leadership | None:
    """From the replicas that a leader counts, which followers give as 0; None if not exported."""
    points = samples[Series.REPLICAS]
    leads = points.where(points.value > 0)
    if not len(leads):
        return None
    return _changes_of_leader(
        leads.partition.astype(np.int64), leads.ts, leads.broker.astype(np.int64)
    )


def _changes_of_leader(partition: Ints, ts: Ints, broker: Ints) -> Leadership:
    order = np.lexsort((ts, partition))
    partition, ts, broker = partition[order], ts[order], broker[order]
    # brokers are scraped at different moments: for a while two seem to lead, the newer one does
    changed = np.append([True], (partition[1:] != partition[:-1]) | (broker[1:] != broker[:-1]))
    return Leadership(partition[changed], ts[changed], broker[changed])
