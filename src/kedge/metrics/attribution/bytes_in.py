"""Bytes that producers appended, by partition and interval."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kedge.metrics.attribution.grid import Grid
from kedge.metrics.attribution.growth import LogGrowth, log_growth
from kedge.metrics.attribution.leadership import Leadership
from kedge.metrics.attribution.offsets import record_steps
from kedge.metrics.attribution.record_size import RecordSizes, record_sizes
from kedge.metrics.attribution.result import Rule
from kedge.metrics.attribution.samples import Flags, Floats, Ints, TopicSamples
from kedge.metrics.attribution.split import split
from kedge.metrics.attribution.totals import Totals, totals
from kedge.metrics.measurement import Series


@dataclass(frozen=True, slots=True)
class Shares:
    """Bytes of partitions (rows) by interval, and how they were found."""

    amount: Floats
    rule: list[Rule]  # by partition
    uncertain: Flags  # by partition: logs are compacted or deleted, or nothing tells
    covered_ms: Floats  # by interval


@dataclass(frozen=True, slots=True)
class Appended:
    """Bytes in, and the bytes per record that they were found with."""

    shares: Shares
    record_size: Floats


def bytes_in(
    samples: TopicSamples, partitions: Ints, grid: Grid, leaders: Leadership | None
) -> Appended:
    """Split what brokers measured by weights of partitions; without it, the weights themselves."""
    measured = totals(samples, Series.BYTES_IN, Series.BYTES_IN_RATE, grid, leaders)
    has_offsets = np.isin(partitions, samples[Series.LOG_END_OFFSET].partition)
    records = grid.spread(record_steps(samples, partitions), len(partitions))
    sizes = record_sizes(samples, partitions)
    growth = log_growth(samples, partitions)
    sizes, guessed = _filled(samples, sizes, partitions, records, measured, grid)
    by_offsets = has_offsets & np.isfinite(sizes.size)
    covered = _covered(samples, grid) if measured is None else measured.covered_ms
    weight = np.where(
        by_offsets[:, None],
        records * np.nan_to_num(sizes.size)[:, None],
        np.nan_to_num(growth.per_second)[:, None] * (covered / 1000),
    )
    rule = _rules(by_offsets, growth)
    uncertain = np.where(by_offsets, guessed, growth.shrank | ~np.isfinite(growth.per_second))
    if measured is None:
        return Appended(Shares(weight, rule, uncertain, covered), sizes.size)
    if by_offsets.any():
        amount = split(measured.of_topic, weight, weight.sum(axis=1))
    else:
        amount = _split_by_broker(measured, weight, partitions, grid, leaders)
    if not weight.sum() > 0:
        rule = [Rule.EVEN if measured.amount.sum() > 0 else one for one in rule]
    return Appended(Shares(amount, rule, uncertain, covered), sizes.size)


def _rules(by_offsets: Flags, growth: LogGrowth) -> list[Rule]:
    known = np.isfinite(growth.per_second)
    return [
        Rule.OFFSETS if offsets else Rule.GROWTH if grown else Rule.EVEN
        for offsets, grown in zip(by_offsets, known, strict=True)
    ]


def _covered(samples: TopicSamples, grid: Grid) -> Floats:
    """The time between the first and the last sample of what tells bytes in."""
    for series in (Series.LOG_END_OFFSET, Series.LOG_SIZE):
        points = samples[series]
        if len(points):
            return grid.overlap(int(points.ts.min()), int(points.ts.max()))
    return np.zeros(grid.count)


def _split_by_broker(
    measured: Totals,
    weight: Floats,
    partitions: Ints,
    grid: Grid,
    leaders: Leadership | None,
) -> Floats:
    """Split what each broker measured over what it led, by weights that are only roughly known."""
    if leaders is None:
        return split(measured.of_topic, weight, weight.sum(axis=1))
    amount = np.zeros_like(weight)
    for row, broker in enumerate(measured.brokers):
        led = leaders.led(broker, partitions, grid)
        own = led * weight
        nothing = ~(own.sum(axis=0) > 0)
        own = np.where(nothing, np.where(led.sum(axis=0) > 0, led, weight), own)
        amount += split(measured.amount[row], own, (led * weight).sum(axis=1))
    return amount


def _filled(
    samples: TopicSamples,
    sizes: RecordSizes,
    partitions: Ints,
    records: Floats,
    measured: Totals | None,
    grid: Grid,
) -> tuple[RecordSizes, Flags]:
    """Bytes per record of partitions without a clean interval, from the topic or the whole log."""
    unknown = ~np.isfinite(sizes.size)
    if not unknown.any():
        return sizes, sizes.compacted & (measured is None)
    if measured is not None and not measured.from_rates:
        size = np.where(unknown, _topic_average(samples, records, measured, grid), sizes.size)
    else:
        kept = _kept(samples, partitions)
        size = np.where(unknown & ~sizes.compacted, kept, sizes.size)
    return replace(sizes, size=size), unknown | (sizes.compacted & (measured is None))


def _topic_average(samples: TopicSamples, records: Floats, measured: Totals, grid: Grid) -> float:
    messages = totals(samples, Series.MESSAGES_IN, Series.MESSAGES_IN_RATE, grid, None)
    count = float(records.sum() if messages is None else messages.amount.sum())
    return float(measured.amount.sum()) / count if count > 0 else float("nan")


def _kept(samples: TopicSamples, partitions: Ints) -> Floats:
    """Size of the log over the records in it, at the last samples."""
    last = {
        series: _last_highest(samples, series, partitions)
        for series in (Series.LOG_SIZE, Series.LOG_END_OFFSET, Series.LOG_START_OFFSET)
    }
    kept = last[Series.LOG_END_OFFSET] - np.nan_to_num(last[Series.LOG_START_OFFSET])
    size = last[Series.LOG_SIZE]
    return np.divide(size, kept, out=np.full(len(partitions), np.nan), where=kept > 0)


def _last_highest(samples: TopicSamples, series: Series, partitions: Ints) -> Floats:
    """The highest of the last values of each partition's replicas."""
    highest = np.full(len(partitions), np.nan)
    for own in samples[series].single():
        row = int(np.searchsorted(partitions, own.partition[0]))
        highest[row] = np.fmax(highest[row], own.value[-1])
    return highest
