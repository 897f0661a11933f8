"""Sizes of replicas, leaders and numbers of replicas at the end of each interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.metrics.attribution.grid import Grid
from kedge.metrics.attribution.samples import Floats, Ints, Points, TopicSamples, row_of
from kedge.metrics.measurement import NONE, Series

_CARRIED_SAMPLES: Final = 5  # a value holds for as many missing samples
_CARRIED_MS: Final = 300_000  # and at least for this time


@dataclass(frozen=True, slots=True)
class ReplicaSizes:
    """The last size of each replica in each interval; columns of equal length."""

    row: Ints  # position of the partition
    broker: Ints
    interval: Ints
    size: Floats


def replica_sizes(samples: TopicSamples, partitions: Ints, grid: Grid) -> ReplicaSizes:
    """Of each replica from its first to its last sample; a short gap keeps the size before it."""
    points = samples[Series.LOG_SIZE]
    carried = max(_CARRIED_SAMPLES * points.spacing(), _CARRIED_MS)
    columns: list[tuple[Ints, Ints, Ints, Floats]] = []
    for own in points.single():
        interval, value = _last_values(own, grid, carried)
        row, broker = row_of(partitions, int(own.partition[0])), int(own.broker[0])
        rows, brokers = (np.full(len(interval), one, np.int64) for one in (row, broker))
        columns.append((rows, brokers, interval, value))
    if not columns:
        none = np.empty(0, np.int64)
        return ReplicaSizes(none, none, none, np.empty(0, np.float64))
    return ReplicaSizes(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))


def _last_values(own: Points, grid: Grid, carried: int) -> tuple[Ints, Floats]:
    """Intervals, and the last value at or before the end of each."""
    first, last = int(grid.at(own.ts[:1])[0]), int(grid.at(own.ts[-1:])[0])
    interval = np.arange(first, last + 1, dtype=np.int64)
    ends = grid.first_ms + (interval + 1) * grid.step_ms
    ends[-1] = max(int(ends[-1]), int(own.ts[-1]))
    found = np.searchsorted(own.ts, ends, side="right") - 1
    fresh = (found >= 0) & (ends - grid.step_ms - own.ts[found] < carried)
    return interval[fresh], own.value[found[fresh]]


def replica_counts(samples: TopicSamples, series: Series, partitions: Ints, grid: Grid) -> Ints:
    """A gauge of leaders by partition and interval, carried over gaps; NONE where never known."""
    counts = np.full((len(partitions), grid.count), NONE, np.int64)
    points = samples[series]
    points = points.where(points.value > 0)
    ends = grid.edges[1:]
    for partition, own in points.by_partition():
        row = row_of(partitions, partition)
        order = np.argsort(own.ts, kind="stable")
        found = np.searchsorted(own.ts[order], ends, side="right") - 1
        counts[row] = own.value[order][np.maximum(found, 0)]
    return counts
