"""Weights of partitions by the growth of their logs, for sources without offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kedge.metrics.attribution.samples import Flags, Floats, Ints, Points, TopicSamples
from kedge.metrics.measurement import Series


@dataclass(frozen=True, slots=True)
class LogGrowth:
    """Usual growth of each partition's log in bytes per second; NaN where nothing tells it."""

    per_second: Floats
    shrank: Flags  # logs that lost bytes: their growth is a lower bound


def log_growth(samples: TopicSamples, partitions: Ints) -> LogGrowth:
    """The median growth of the intervals in which a log grew."""
    rate = np.full(len(partitions), np.nan)
    shrank = np.zeros(len(partitions), np.bool_)
    for partition, sizes in samples[Series.LOG_SIZE].by_partition():
        row = int(np.searchsorted(partitions, partition))
        rate[row], shrank[row] = _of_partition(sizes)
    return LogGrowth(rate, shrank)


def _of_partition(sizes: Points) -> tuple[float, bool]:
    gained: list[Floats] = []
    for own in sizes.single():
        gained.append(np.diff(own.value) / np.maximum(np.diff(own.ts), 1) * 1000)
    every = np.concatenate(gained)
    if not len(every):
        return float("nan"), False
    grew = every[every > 0]
    return (float(np.median(grew)) if len(grew) else 0.0), bool((every < 0).any())
