"""Bytes that producers appended, by partition and interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kedge.metrics.attribution.grid import Grid
from kedge.metrics.attribution.leadership import Leadership
from kedge.metrics.attribution.result import Rule
from kedge.metrics.attribution.samples import Flags, Floats, Ints, TopicSamples
from kedge.metrics.attribution.split import split
from kedge.metrics.attribution.totals import Totals, totals
from kedge.metrics.attribution.weights import weights
from kedge.metrics.measurement import NONE, Series


@dataclass(frozen=True, slots=True)
class Shares:
    """Bytes of partitions (rows) by interval, and how they were found."""

    amount: Floats
    rule: list[Rule]  # by partition
    uncertain: Flags  # by partition: compacted or unmeasured, may be far off
    covered_ms: Floats  # by interval


@dataclass(frozen=True, slots=True)
class Appended:
    """Bytes in, and the bytes per record that they were found with; NaN where unknown."""

    shares: Shares
    record_size: Floats


def bytes_in(
    samples: TopicSamples, partitions: Ints, grid: Grid, leaders: Leadership | None
) -> Appended:
    """Split what brokers measured by weights of partitions; without it, the weights themselves."""
    measured = totals(samples, Series.BYTES_IN, Series.BYTES_IN_RATE, grid, leaders)
    covered = _between_samples(samples, grid) if measured is None else measured.covered_ms
    weight = weights(samples, partitions, grid, measured, covered)
    amount, rule = weight.amount, weight.rule
    if measured is not None:
        if weight.by_offsets:
            unseen = amount * _led_by_unseen(samples, partitions, grid, leaders)
            seen = amount - unseen
            amount = split(measured.of_topic, seen, seen.sum(axis=1)) + unseen
        else:
            amount = _split_by_broker(measured, amount, partitions, grid, leaders)
        if measured.amount.sum() > 0 and not weight.amount.sum() > 0:
            rule = [Rule.EVEN] * len(rule)
    return Appended(Shares(amount, rule, weight.uncertain, covered), weight.record_size)


def _between_samples(samples: TopicSamples, grid: Grid) -> Floats:
    """The time between the first and the last sample of what tells bytes in."""
    for series in (Series.LOG_END_OFFSET, Series.LOG_SIZE):
        points = samples[series]
        if len(points):
            return grid.overlap(int(points.ts.min()), int(points.ts.max()))
    return np.zeros(grid.count)


def _led_by_unseen(
    samples: TopicSamples, partitions: Ints, grid: Grid, leaders: Leadership | None
) -> Floats | float:
    """The share of each interval in which a partition was led by a broker that is not measured.

    Its bytes are in no counter, but its followers tell the offsets.
    """
    if leaders is None:
        return 0.0
    known = {*samples.answered, *samples.silent, NONE}
    unseen = sorted(set(leaders.leader.tolist()) - known)
    return sum((leaders.led(broker, partitions, grid) for broker in unseen), 0.0)


def _split_by_broker(
    measured: Totals,
    weight: Floats,
    partitions: Ints,
    grid: Grid,
    leaders: Leadership | None,
) -> Floats:
    """Split what each broker measured over what it led, by weights that are only roughly known.

    Where a leader moved, what all brokers measured is split: samples are older than the move.
    """
    if leaders is None:
        return split(measured.of_topic, weight, weight.sum(axis=1))
    moved = leaders.moved(grid)
    amount = split(np.where(moved, measured.of_topic, 0.0), weight, weight.sum(axis=1))
    for row, broker in enumerate(measured.brokers):
        led = leaders.led(broker, partitions, grid)
        own = led * weight
        own = np.where(own.sum(axis=0) > 0, own, np.where(led.sum(axis=0) > 0, led, weight))
        steady = np.where(moved, 0.0, measured.amount[row])
        amount += split(steady, own, (led * weight).sum(axis=1))
    return amount
