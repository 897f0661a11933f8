"""Bytes per record of a whole topic, where a source tells the size of no single log.

An exporter beside the brokers may know only what all replicas of a topic take, its replication
factor, and the offsets of its partitions. Records of all partitions then count as alike.
"""

from __future__ import annotations

import numpy as np

from kedge.metrics.attribution.offsets import end_offset_at
from kedge.metrics.attribution.samples import Floats, Ints, TopicSamples
from kedge.metrics.measurement import Series


def record_size_of_topic(samples: TopicSamples) -> float:
    """Growth over new records where nothing was deleted, else size over records kept; or NaN."""
    sizes, factor = samples[Series.TOPIC_SIZE], samples[Series.REPLICATION_FACTOR]
    if not len(sizes) or not len(factor):
        return float("nan")
    own = next(iter(sizes.single()))
    size = own.value / factor.value[-1]
    ends, starts = (
        _sum_at(samples, series, own.ts)
        for series in (Series.LOG_END_OFFSET, Series.LOG_START_OFFSET)
    )
    gained, records = np.diff(size), np.diff(ends)
    clean = (np.diff(starts) == 0) & (gained >= 0) & (records > 0)
    if clean.any() and gained[clean].sum() > 0:
        return float(gained[clean].sum() / records[clean].sum())
    kept = ends - starts
    return float(size[-1] / kept[-1]) if kept[-1] > 0 else float("nan")


def _sum_at(samples: TopicSamples, series: Series, ts: Ints) -> Floats:
    """The sum of an offset over all partitions, at the moments of the sizes."""
    parts = [end_offset_at(own, ts) for _, own in samples[series].by_partition()]
    return np.sum(parts, axis=0) if parts else np.zeros(len(ts))
