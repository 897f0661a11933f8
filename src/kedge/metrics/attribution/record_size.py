"""Bytes per record of each partition, from the growth of its log in clean intervals.

Clean is an interval in which the log start stood and the log did not shrink. Size, end and start
offset are compared within one replica and one scrape: replicas are scraped at different moments. A
log that shrinks while its start stands is being compacted; there, intervals that grew are partly
clean, and the median of them is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.metrics.attribution.samples import Flags, Floats, Ints, Points, TopicSamples
from kedge.metrics.measurement import Series

_DELETED: Final = 0.5  # of the usual bytes per record: a segment was deleted meanwhile
_JOINING: Final = 2  # first intervals of a replica that appeared later: it copied old records
_PAIRS: Final = 3  # moments with size and end offset of one replica that are enough


@dataclass(frozen=True, slots=True)
class RecordSizes:
    """Bytes per record by position of partition; NaN where its log does not tell them."""

    size: Floats
    compacted: Flags  # logs that shrank while their start stood


@dataclass(frozen=True, slots=True)
class _Growth:
    """What logs of one partition's replicas gained between neighbouring samples."""

    records: Floats
    bytes: Floats
    start_stood: Flags
    near_deletion: Flags  # the start moved in the interval before or after, or is not known


def record_sizes(samples: TopicSamples, partitions: Ints) -> RecordSizes:
    """Bytes per record of each partition, as far as the logs of its replicas tell them."""
    size = np.full(len(partitions), np.nan)
    compacted = np.zeros(len(partitions), np.bool_)
    ends = dict(samples[Series.LOG_END_OFFSET].by_partition())
    starts = dict(samples[Series.LOG_START_OFFSET].by_partition())
    for partition, sizes in samples[Series.LOG_SIZE].by_partition():
        if partition not in ends:
            continue
        row = int(np.searchsorted(partitions, partition))
        growth = [
            _growth(own, ends[partition], starts.get(partition), _joined_later(own, sizes))
            for own in sizes.single()
        ]
        compacted[row] = any(_compacted(one) for one in growth)
        size[row] = _bytes_per_record(growth, compacted=bool(compacted[row]))
    return RecordSizes(size, compacted)


def _joined_later(own: Points, sizes: Points) -> bool:
    return int(own.ts[0]) > int(sizes.ts.min()) + 1.5 * max(sizes.spacing(), 1)


def _growth(sizes: Points, ends: Points, starts: Points | None, joined_later: bool) -> _Growth:
    """Growth of one replica, from moments at which its size and end offset are both known."""
    own_ends = ends.where(ends.broker == sizes.broker[0])
    same = np.isin(sizes.ts, own_ends.ts)
    if same.sum() >= _PAIRS:
        sizes = sizes.where(same)
        end = own_ends.value[np.searchsorted(own_ends.ts, sizes.ts)]
    else:  # clients ask for sizes and offsets a little apart
        end = _between(ends, sizes.ts)
    skip = _JOINING if joined_later else 0
    moved, near = _deletions(sizes, starts)
    return _Growth(np.diff(end)[skip:], np.diff(sizes.value)[skip:], ~moved[skip:], near[skip:])


def _between(ends: Points, ts: Ints) -> Floats:
    """The highest end offset at other moments, in a line between, before and after samples."""
    order = np.argsort(ends.ts, kind="stable")
    known = ends.ts[order]
    value = np.maximum.accumulate(ends.value[order])
    known, first = np.unique(known, return_index=True)
    value = np.maximum.reduceat(value, first) if len(value) else value
    if len(known) < 2:
        return np.full(len(ts), value[0])
    right = np.clip(np.searchsorted(known, ts), 1, len(known) - 1)
    slope = (value[right] - value[right - 1]) / (known[right] - known[right - 1])
    return value[right - 1] + slope * (ts - known[right - 1])


def _deletions(sizes: Points, starts: Points | None) -> tuple[Flags, Flags]:
    """In which intervals the log start moved, and which are next to one or have no start known."""
    intervals = max(len(sizes) - 1, 0)
    if starts is None or not len(starts):
        return np.zeros(intervals, np.bool_), np.ones(intervals, np.bool_)
    own = starts.where(starts.broker == sizes.broker[0])
    if np.isin(sizes.ts, own.ts).sum() < _PAIRS:
        own = starts
    order = np.argsort(own.ts, kind="stable")
    known, value = own.ts[order], np.maximum.accumulate(own.value[order])
    after = np.clip(np.searchsorted(known, sizes.ts), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.where(sizes.ts - known[before] < known[after] - sizes.ts, before, after)
    moved = np.diff(value[nearer]) != 0
    near = np.zeros(intervals, np.bool_)
    near[1:] |= moved[:-1]
    near[:-1] |= moved[1:]
    return moved, near & ~moved


def _compacted(growth: _Growth) -> bool:
    shrank = growth.start_stood & ~growth.near_deletion & (growth.bytes < 0)
    return bool((shrank & (growth.records >= 0)).any())


def _bytes_per_record(growth: list[_Growth], *, compacted: bool) -> float:
    records = np.concatenate([one.records for one in growth])
    gained = np.concatenate([one.bytes for one in growth])
    stood = np.concatenate([one.start_stood for one in growth])
    near = np.concatenate([one.near_deletion for one in growth])
    grew = stood & (records > 0) & (gained >= 0)
    if compacted:
        return _of_compacted(records[grew & (gained > 0)], gained[grew & (gained > 0)])
    clean = grew & ~near
    chosen = clean if clean.any() else grew
    if not chosen.any():
        return float("nan")
    usual = gained[chosen].sum() / records[chosen].sum()
    if not clean.any():
        usual = _weighted_quantile(gained[grew] / records[grew], records[grew], 0.5)
    # next to a deletion: the size may have been read after it and the log start before
    whole = clean | (grew & (gained >= _DELETED * usual * records))
    total = records[whole].sum()
    return float(gained[whole].sum() / total) if total else float("nan")


def _of_compacted(records: Floats, gained: Floats) -> float:
    if not len(records):
        return float("nan")
    return _weighted_quantile(gained / records, records, 0.5)


def _weighted_quantile(value: Floats, weight: Floats, share: float) -> float:
    order = np.argsort(value)
    reached = np.cumsum(weight[order])
    at = int(np.searchsorted(reached, share * reached[-1]))
    return float(value[order][min(at, len(value) - 1)])
