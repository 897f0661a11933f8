"""What each partition seems to have gained: the weights by which measured bytes are split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.metrics.attribution.grid import Grid
from kedge.metrics.attribution.growth import LogGrowth, log_growth
from kedge.metrics.attribution.offsets import record_steps
from kedge.metrics.attribution.record_size import RecordSizes, record_sizes
from kedge.metrics.attribution.result import Rule
from kedge.metrics.attribution.samples import Flags, Floats, Ints, TopicSamples, row_of
from kedge.metrics.attribution.topic_size import record_size_of_topic
from kedge.metrics.attribution.totals import Totals, totals
from kedge.metrics.measurement import Series

_SEEN: Final = 0.8  # of the bytes measured: where logs grew by less, compaction hid the growth
_ALIKE: Final = 10.0  # times: records of a topic's partitions differ less


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes that partitions (rows) seem to have gained by interval, and what they were found by."""

    amount: Floats
    rule: list[Rule]
    uncertain: Flags
    record_size: Floats  # NaN where nothing tells it
    by_offsets: bool  # of any partition


def weights(
    samples: TopicSamples,
    partitions: Ints,
    grid: Grid,
    measured: Totals | None,
    covered_ms: Floats,
) -> Weights:
    """New records times bytes per record; without offsets the growth of the log."""
    has_offsets = np.isin(partitions, samples[Series.LOG_END_OFFSET].partition)
    records = grid.spread(record_steps(samples, partitions), len(partitions))
    found = record_sizes(samples, partitions)
    if measured is None:
        size = _without_totals(samples, partitions, found)
    else:
        size = _with_totals(samples, grid, found, records, measured)
    growth = log_growth(samples, partitions, grid)
    size = np.where(has_offsets, size, np.nan)
    by_offsets = np.isfinite(size)
    grown = _growth(growth, by_offsets, measured, covered_ms)
    amount = np.where(by_offsets[:, None], records * np.nan_to_num(size)[:, None], grown)
    rule = [
        Rule.OFFSETS if offsets else Rule.GROWTH if known else Rule.EVEN
        for offsets, known in zip(by_offsets, growth.known, strict=True)
    ]
    guessed = ~np.isfinite(found.size) | (found.compacted & (size != found.size))
    uncertain = np.where(
        by_offsets, guessed & (records.sum(axis=1) > 0), growth.shrank | ~growth.known
    )
    return Weights(amount, rule, uncertain, size, bool(by_offsets.any()))


def _with_totals(
    samples: TopicSamples, grid: Grid, found: RecordSizes, records: Floats, measured: Totals
) -> Floats:
    """Fill in sizes with the mean of the topic where logs tell none, or none that can be right."""
    gained = records.sum(axis=1)
    total = float(measured.amount.sum())
    own = np.isfinite(found.size)
    seen = float((gained * np.nan_to_num(found.size)).sum())
    hidden = found.compacted & own
    unknown = ~own
    if hidden.any() and own.all() and seen < _SEEN * total:
        rest = total - float((gained * found.size)[~hidden].sum())
        many = float(gained[hidden].sum())
        return np.where(hidden, rest / many, found.size) if rest > 0 and many else found.size
    if not unknown.any():
        return found.size
    return np.where(unknown, _topic_average(samples, grid, gained, total), found.size)


def _topic_average(samples: TopicSamples, grid: Grid, gained: Floats, total: float) -> float:
    messages = totals(samples, Series.MESSAGES_IN, Series.MESSAGES_IN_RATE, grid, None)
    count = float(gained.sum() if messages is None else messages.amount.sum())
    return total / count if count > 0 else float("nan")


def _without_totals(samples: TopicSamples, partitions: Ints, found: RecordSizes) -> Floats:
    """Sizes where only logs tell them: of the records that are kept, or the highest growth seen.

    Where a compacted log is sampled more rarely than it is cleaned, no interval is clean and each
    tells too little. Records of a topic are alike, so the highest figure of its logs is nearest.
    """
    kept = _kept(samples, partitions)
    if not len(samples[Series.LOG_SIZE]):
        return np.full(len(partitions), record_size_of_topic(samples))
    size = np.where(np.isfinite(found.size) | found.compacted, found.size, kept)
    if not np.isfinite(found.highest).any():
        return size
    top = float(np.nanmax(found.highest))
    low = found.compacted & (np.nan_to_num(found.size) < 0.5 * top)
    if low.sum() * 2 < found.compacted.sum():
        return size
    alike = found.compacted & ~(found.highest * _ALIKE < top)
    return np.where(alike, top, np.where(found.compacted, found.highest, size))


def _kept(samples: TopicSamples, partitions: Ints) -> Floats:
    """Size of the log over the records in it, at the last samples."""
    size, end, start = (
        _last_highest(samples, series, partitions)
        for series in (Series.LOG_SIZE, Series.LOG_END_OFFSET, Series.LOG_START_OFFSET)
    )
    kept = end - np.nan_to_num(start)
    return np.divide(size, kept, out=np.full(len(partitions), np.nan), where=kept > 0)


def _last_highest(samples: TopicSamples, series: Series, partitions: Ints) -> Floats:
    """The highest of the last values of each partition's replicas."""
    highest = np.full(len(partitions), np.nan)
    for own in samples[series].single():
        row = row_of(partitions, int(own.partition[0]))
        highest[row] = np.fmax(highest[row], own.value[-1])
    return highest


def _growth(
    growth: LogGrowth, by_offsets: Flags, measured: Totals | None, covered_ms: Floats
) -> Floats:
    """Growth of logs; of compacted ones in proportion to their size where it hides the growth."""
    hidden = growth.shrank & ~by_offsets
    if measured is None or by_offsets.any() or not growth.mean_size[hidden].sum() > 0:
        return growth.amount
    total = measured.of_topic
    if growth.amount.sum() >= _SEEN * total.sum():
        return growth.amount
    rest = float(total.sum() - growth.amount[~hidden].sum())
    share = growth.mean_size / growth.mean_size[hidden].sum()
    time = covered_ms / covered_ms.sum()
    return np.where(hidden[:, None], max(rest, 0.0) * share[:, None] * time, growth.amount)
