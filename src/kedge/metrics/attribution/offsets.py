"""Records that partitions gained and groups read, from end offsets and committed offsets."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from kedge.metrics.attribution.edges import Edges
from kedge.metrics.attribution.grid import Steps
from kedge.metrics.attribution.samples import Floats, Ints, Points, TopicSamples, row_of
from kedge.metrics.measurement import NONE, Series

_RECREATED: Final = 0.5  # of its highest end offset: a partition that falls below is a new one


def record_steps(samples: TopicSamples, partitions: Ints) -> Steps:
    """New records between samples of the end offset; rows are positions of partitions.

    Every replica has an end offset. The highest of them so far, at each moment, is what was
    appended: replicas that copy or were scraped earlier are behind it.
    """
    points = _told_by_brokers(samples[Series.LOG_END_OFFSET])
    edges = Edges.of(points)
    parts: list[Steps] = []
    for partition, own in points.by_partition():
        row = row_of(partitions, partition)
        order = np.argsort(own.ts, kind="stable")
        parts.append(edges.extended(_highest(row, own.ts[order], own.value[order]), own.ts))
    return Steps.of(parts)


def _told_by_brokers(points: Points) -> Points:
    """Leave out offsets that clients asked for where brokers tell them too, with other delays."""
    of_broker = points.broker != NONE
    told = np.isin(points.partition, np.unique(points.partition[of_broker]))
    return points.where(of_broker | ~told)


def _highest(row: int, ts: Ints, end_offset: Floats) -> Steps:
    highest = np.maximum.accumulate(end_offset)
    recent = end_offset[-max(len(end_offset) // 10, 1) :].max()
    if recent < _RECREATED * highest[-1]:
        cut = int(len(end_offset) - np.argmax(end_offset[::-1]))  # after its last highest value
        fresh = _highest(row, ts[cut:], end_offset[cut:])
        return Steps.of([_steps(row, ts[:cut], highest[:cut]), fresh])
    return _steps(row, ts, highest)


def _steps(row: int, ts: Ints, highest: Floats) -> Steps:
    grown = np.append([True], highest[1:] > highest[:-1]) if len(ts) else np.empty(0, np.bool_)
    if len(ts):
        # an idle stretch is one step of nothing, so that growth begins where the idleness ended
        grown[:-1] |= grown[1:]
        grown[-1] = True
    ts, highest = ts[grown], highest[grown]
    amount = np.diff(highest)
    keep = amount > 0
    rows = np.full(int(keep.sum()), row, np.int64)
    return Steps(rows, ts[:-1][keep], ts[1:][keep], amount[keep])


def end_offset_at(ends: Points, ts: Ints) -> Floats:
    """The highest end offset at other moments, in a line between, before and after samples."""
    order = np.argsort(ends.ts, kind="stable")
    known = ends.ts[order]
    value = np.maximum.accumulate(ends.value[order])
    known, first = np.unique(known, return_index=True)
    value = np.maximum.reduceat(value, first)
    if len(known) < 2:
        return np.full(len(ts), value[0])
    right = np.clip(np.searchsorted(known, ts), 1, len(known) - 1)
    slope = (value[right] - value[right - 1]) / (known[right] - known[right - 1])
    return value[right - 1] + slope * (ts - known[right - 1])


def read_steps(samples: TopicSamples, partitions: Ints) -> Steps:
    """Records read between samples of committed offsets, of all groups; rows are partitions."""
    parts: list[Steps] = []
    for own in committed_offsets(samples).single():
        row = row_of(partitions, int(own.partition[0]))
        amount = np.maximum(np.diff(own.value), 0)  # a group that was set back reads again later
        parts.append(Steps(np.full(len(amount), row, np.int64), own.ts[:-1], own.ts[1:], amount))
    return Steps.of(parts)


def committed_offsets(samples: TopicSamples) -> Points:
    """Offsets that groups committed; from lags where an exporter gives only these."""
    told, lags = samples[Series.COMMITTED_OFFSET], samples[Series.GROUP_LAG]
    if len(told) or not len(lags):
        return told
    ends = dict(samples[Series.LOG_END_OFFSET].by_partition())
    parts = [
        replace(own, value=np.maximum(end_offset_at(ends[partition], own.ts) - own.value, 0.0))
        for partition, own in lags.by_partition()
        if partition in ends
    ]
    return Points.of(parts)
