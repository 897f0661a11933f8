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

from kedge.metrics.attribution.offsets import end_offset_at
from kedge.metrics.attribution.samples import Flags, Floats, Ints, Points, TopicSamples, row_of
from kedge.metrics.measurement import Series

_DELETED: Final = 0.5  # of the usual bytes per record: a segment was deleted meanwhile
_JOINING: Final = 2  # first intervals of a replica that appeared later: it copied old records
_ENOUGH_RECORDS: Final = 0.5  # of the usual number in an interval
_OFTEN: Final = 3  # deletions after which a log holds nothing that is older than the samples
_CLEAN: Final = 0.3  # of the records were appended in clean intervals: enough of them
_PAIRS: Final = 3  # moments with size and end offset of one replica that are enough


@dataclass(frozen=True, slots=True)
class RecordSizes:
    """Bytes per record by position of partition; NaN where its log does not tell them."""

    size: Floats
    compacted: Flags  # logs that shrank while their start stood
    highest: Floats  # of any interval: no log grows by more than was appended


@dataclass(frozen=True, slots=True)
class _Growth:
    """What logs of one partition's replicas gained between neighbouring samples."""

    records: Floats
    bytes: Floats
    start_stood: Flags
    near_deletion: Flags  # the start moved in the interval before or after, or is not known
    time: Ints
    kept: Floats  # at the end of each interval: size of the log over the records in it, or NaN

    @staticmethod
    def of(parts: list[_Growth]) -> _Growth:
        """The growth of several replicas."""
        return _Growth(
            np.concatenate([part.records for part in parts]),
            np.concatenate([part.bytes for part in parts]),
            np.concatenate([part.start_stood for part in parts]),
            np.concatenate([part.near_deletion for part in parts]),
            np.concatenate([part.time for part in parts]),
            np.concatenate([part.kept for part in parts]),
        )

    @property
    def grew(self) -> Flags:
        """Intervals with new records in which nothing seems to have been deleted."""
        return self.start_stood & (self.records > 0) & (self.bytes >= 0)


def record_sizes(samples: TopicSamples, partitions: Ints) -> RecordSizes:
    """Bytes per record of each partition, as far as the logs of its replicas tell them."""
    size = np.full(len(partitions), np.nan)
    compacted = np.zeros(len(partitions), np.bool_)
    highest = np.full(len(partitions), np.nan)
    ends = _Offsets.of(samples[Series.LOG_END_OFFSET])
    starts = _Offsets.of(samples[Series.LOG_START_OFFSET])
    for partition, sizes in samples[Series.LOG_SIZE].by_partition():
        if partition not in ends.of_partition:
            continue
        row = row_of(partitions, partition)
        joining = int(sizes.ts.min() + 1.5 * sizes.spacing())
        growth = _Growth.of(
            [_growth(own, ends, starts, int(own.ts[0]) > joining) for own in sizes.single()]
        )
        compacted[row] = _compacted(growth)
        if compacted[row]:
            size[row], highest[row] = _of_compacted(growth)
        else:
            size[row] = _of_clean(growth)
    return RecordSizes(size, compacted, highest)


@dataclass(frozen=True, slots=True)
class _Offsets:
    """One kind of offsets, by replica and by partition."""

    of_replica: dict[tuple[int, int], Points]
    of_partition: dict[int, Points]

    @staticmethod
    def of(points: Points) -> _Offsets:
        return _Offsets(
            {(int(own.partition[0]), int(own.broker[0])): own for own in points.single()},
            dict(points.by_partition()),
        )


def _growth(sizes: Points, ends: _Offsets, starts: _Offsets, joined_later: bool) -> _Growth:
    """Growth of one replica, from moments at which its size and end offset are both known."""
    partition, broker = int(sizes.partition[0]), int(sizes.broker[0])
    own_ends = ends.of_replica.get((partition, broker))
    own_starts = starts.of_replica.get((partition, broker))
    paired = None if own_ends is None else _paired(sizes.ts, own_ends.ts)
    if own_ends is not None and paired is not None:
        sizes = sizes.where(paired)
        end = own_ends.value[_positions(own_ends.ts, sizes.ts)]
    else:  # clients ask for sizes and offsets a little apart
        end = end_offset_at(ends.of_partition[partition], sizes.ts)
    if own_starts is None or _paired(sizes.ts, own_starts.ts) is None:
        own_starts = starts.of_partition.get(partition)
    skip = _JOINING if joined_later else 0
    moved, near = _deletions(sizes, own_starts)
    start = np.full(len(sizes), np.nan) if own_starts is None else _nearest(own_starts, sizes.ts)
    return _Growth(
        np.diff(end)[skip:],
        np.diff(sizes.value)[skip:],
        ~moved[skip:],
        near[skip:],
        np.diff(sizes.ts)[skip:],
        _over(sizes.value, end - start)[1:][skip:],
    )


def _over(size: Floats, records: Floats) -> Floats:
    return np.divide(size, records, out=np.full(len(size), np.nan), where=records > 0)


def _paired(ts: Ints, others: Ints) -> Flags | slice | None:
    """Which moments are also among the others; None if too few."""
    if np.array_equal(ts, others):
        return slice(None)
    same = np.isin(ts, others)
    return same if same.sum() >= _PAIRS else None


def _positions(known: Ints, ts: Ints) -> Ints | slice:
    return slice(None) if len(known) == len(ts) else np.searchsorted(known, ts)


def _deletions(sizes: Points, starts: Points | None) -> tuple[Flags, Flags]:
    """In which intervals the log start moved, and which are next to one or have no start known."""
    intervals = max(len(sizes) - 1, 0)
    if starts is None or not len(starts):
        return np.zeros(intervals, np.bool_), np.ones(intervals, np.bool_)
    moved = np.diff(_nearest(starts, sizes.ts)) != 0
    near = np.zeros(intervals, np.bool_)
    near[1:] |= moved[:-1]
    near[:-1] |= moved[1:]
    return moved, near & ~moved


def _nearest(points: Points, ts: Ints) -> Floats:
    """The highest value so far at the sample that is nearest to each moment."""
    if np.array_equal(points.ts, ts):
        return points.value
    order = np.argsort(points.ts, kind="stable")
    known, value = points.ts[order], np.maximum.accumulate(points.value[order])
    after = np.clip(np.searchsorted(known, ts), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    return value[np.where(ts - known[before] < known[after] - ts, before, after)]


def _compacted(growth: _Growth) -> bool:
    shrank = growth.start_stood & ~growth.near_deletion & (growth.bytes < 0)
    return bool((shrank & (growth.records >= 0)).any())


def _of_clean(growth: _Growth) -> float:
    """Growth over new records, summed over clean intervals.

    A log that is deleted in most intervals holds only records of the time that was sampled, so its
    size over its records is the better figure.
    """
    records, gained, grew = growth.records, growth.bytes, growth.grew
    clean = grew & ~growth.near_deletion
    deleted = ~growth.start_stood
    if deleted.sum() >= _OFTEN and records[clean].sum() < _CLEAN * records[records > 0].sum():
        return float(np.nanmedian(growth.kept))
    if clean.any():
        usual = float(gained[clean].sum() / records[clean].sum())
    elif grew.any():
        usual = _weighted_median(gained[grew] / records[grew], records[grew])
    else:
        return float("nan")
    # next to a deletion: the size may have been read after it and the log start before
    whole = clean | (grew & (gained >= _DELETED * usual * records))
    return float(gained[whole].sum() / records[whole].sum())


def _of_compacted(growth: _Growth) -> tuple[float, float]:
    """The median of intervals that grew, and the highest of those with enough records."""
    grew = growth.grew & (growth.bytes > 0)
    # after a lost sample an interval is longer, and less likely to be clean
    short = grew & (growth.time <= 1.5 * np.median(growth.time))
    grew = short if short.any() else grew
    if not grew.any():
        return float("nan"), float("nan")
    records, ratio = growth.records[grew], growth.bytes[grew] / growth.records[grew]
    enough = records >= _ENOUGH_RECORDS * np.median(growth.records[growth.records > 0])
    highest = float(ratio[enough].max()) if enough.any() else float("nan")
    return _weighted_median(ratio, records), highest


def _weighted_median(value: Floats, weight: Floats) -> float:
    order = np.argsort(value)
    reached = np.cumsum(weight[order])
    half = 0.5 * float(reached[-1])
    at = int(np.searchsorted(reached, half))
    return float(value[order][min(at, len(value) - 1)])
