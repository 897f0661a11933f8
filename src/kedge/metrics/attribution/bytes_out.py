"""Bytes that consumers read, by partition and interval.

Always split over all partitions of a topic: consumers may read from followers, and a broker counts
what it served, not what it leads.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kedge.metrics.attribution.bytes_in import Appended, Shares
from kedge.metrics.attribution.grid import Grid
from kedge.metrics.attribution.leadership import Leadership
from kedge.metrics.attribution.offsets import committed_offsets, read_steps
from kedge.metrics.attribution.result import Rule
from kedge.metrics.attribution.samples import Floats, Ints, TopicSamples
from kedge.metrics.attribution.split import split
from kedge.metrics.attribution.totals import Totals, totals
from kedge.metrics.measurement import Series

_EXPLAINED: Final = 0.9  # of bytes out: the rest are reads before commits and bytes read twice
_NO_READER: Final = 0.25  # of bytes in: less was left by no reader that keeps up
_FETCHED_TWICE: Final = 0.5  # of such a rest; the other half may be that of a reader which lags
_ENOUGH: Final = 0.3  # of an interval between commits that were sampled


def bytes_out(
    samples: TopicSamples,
    partitions: Ints,
    grid: Grid,
    leaders: Leadership | None,
    appended: Appended,
) -> Shares:
    """By committed offsets and bytes per record; the rest that no group explains by bytes in."""
    measured = totals(samples, Series.BYTES_OUT, Series.BYTES_OUT_RATE, grid, leaders)
    commits = committed_offsets(samples)
    steps = read_steps(samples, partitions)
    size = np.nan_to_num(appended.record_size)[:, None]
    read = grid.spread(steps, len(partitions)) * size
    between = np.zeros(grid.count)
    if len(commits):
        between = grid.overlap(int(commits.ts.min()), int(commits.ts.max()))
    if measured is None and _byte_series(samples):  # brokers count them, and there were none
        nothing = np.zeros_like(read)
        rule = [Rule.BYTES_IN] * len(partitions)
        return Shares(
            nothing, rule, np.zeros(len(partitions), np.bool_), appended.shares.covered_ms
        )
    if measured is None:
        rule = [Rule.COMMITS] * len(partitions)
        return Shares(read, rule, ~np.isfinite(appended.record_size), between)
    return _split(measured, _rate_of(read, between), appended)


def _byte_series(samples: TopicSamples) -> bool:
    return any(len(samples[series]) for series in (Series.BYTES_IN, Series.BYTES_IN_RATE))


def _rate_of(read: Floats, between: Floats) -> Floats:
    """Bytes per ms that groups read; in intervals that commits hardly cover the nearest."""
    covered = np.flatnonzero((between >= _ENOUGH * between.max(initial=0)) & (between > 0))
    if not len(covered):
        return np.zeros_like(read)
    every = np.arange(len(between))
    after = np.clip(np.searchsorted(covered, every), 0, len(covered) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(
        every - covered[before] < np.abs(covered[after] - every), covered[before], covered[after]
    )
    return (read / np.maximum(between, 1))[:, nearest]


def _split(measured: Totals, read_per_ms: Floats, appended: Appended) -> Shares:
    total = measured.of_topic
    explained = read_per_ms * measured.covered_ms
    by_in = appended.shares.amount
    rest = _unexplained(float(total.sum()), float(explained.sum()), float(by_in.sum()))
    left = float(total.sum() - explained.sum() - rest * by_in.sum())
    if explained.sum() > 0 and left > 0:  # fetched twice, by those who commit
        explained = explained * (1 + left / explained.sum())
    weight = explained + rest * by_in
    amount = split(total, weight, weight.sum(axis=1))
    told = explained.sum(axis=1) > rest * by_in.sum(axis=1)
    rule = [Rule.COMMITS if one else Rule.BYTES_IN for one in told]
    if explained.sum() > 0 and rest == 0:
        rule = [Rule.COMMITS] * len(rule)
    if not weight.sum() > 0 and total.sum() > 0:
        rule = [Rule.EVEN] * len(rule)
    uncertain = appended.shares.uncertain | np.full(len(rule), not explained.any())
    return Shares(amount, rule, uncertain, measured.covered_ms)


def _unexplained(total: float, explained: float, total_in: float) -> float:
    """What readers that never commit read, as a share of bytes in."""
    rest = total - explained
    if total_in <= 0 or rest <= 0:
        return 0.0
    if explained > 0 and explained >= _EXPLAINED * total:
        return 0.0
    if explained > 0 and rest < _NO_READER * total_in:
        return (1 - _FETCHED_TWICE) * rest / total_in
    return rest / total_in
