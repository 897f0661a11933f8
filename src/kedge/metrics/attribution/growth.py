"""Growth of logs, which stands for bytes in where a source has no offsets.

Logs also lose bytes: whole segments by retention, records by compaction. An interval in which a log
shrank, or grew far less than it usually does, is taken for a usual one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.metrics.attribution.edges import Edges
from kedge.metrics.attribution.grid import Grid, Steps
from kedge.metrics.attribution.samples import Flags, Floats, Ints, Points, TopicSamples, row_of
from kedge.metrics.measurement import Series

_DELETED: Final = 0.5  # of the usual growth: something was deleted meanwhile


@dataclass(frozen=True, slots=True)
class LogGrowth:
    """Growth of each partition's log by interval."""

    amount: Floats
    known: Flags  # by partition: its log was sampled twice at least
    shrank: Flags  # by partition: it lost bytes, so that its growth is a lower bound
    mean_size: Floats


def log_growth(samples: TopicSamples, partitions: Ints, grid: Grid) -> LogGrowth:
    """Growth of the replica of each partition that was sampled most."""
    known = np.zeros(len(partitions), np.bool_)
    shrank = np.zeros(len(partitions), np.bool_)
    mean = np.zeros(len(partitions))
    parts: list[Steps] = []
    edges = Edges.of(samples[Series.LOG_SIZE])
    for partition, sizes in samples[Series.LOG_SIZE].by_partition():
        row = row_of(partitions, partition)
        own = max(sizes.single(), key=len)
        known[row] = len(own) > 1
        shrank[row] = bool((np.diff(own.value) < 0).any())
        mean[row] = own.value.mean()
        parts.append(edges.extended(_steps(row, own, shrank=bool(shrank[row])), own.ts))
    return LogGrowth(grid.spread(Steps.of(parts), len(partitions)), known, shrank, mean)


def _steps(row: int, own: Points, *, shrank: bool) -> Steps:
    gained, time = np.diff(own.value), np.diff(own.ts)
    if shrank:
        rate = gained / time
        usual = float(np.median(rate[rate > 0])) if (rate > 0).any() else 0.0
        gained = np.where(rate < _DELETED * usual, usual * time, np.maximum(gained, 0.0))
    return Steps(np.full(len(gained), row, np.int64), own.ts[:-1], own.ts[1:], gained)
