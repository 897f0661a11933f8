"""Functions on time series of different lengths, for all keys at once.

A series is the points of one key in the order of time. Folds go from the first point to the last,
so that floating-point results do not depend on how keys or days were read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.pipeline.models.key_index import Numbers, Reals

DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where the points of each key are in flat arrays: key k has `bounds[k]` to `bounds[k + 1]`."""

    bounds: Numbers

    @property
    def lengths(self) -> Numbers:
        """The number of points of each key."""
        return np.diff(self.bounds)

    @property
    def keys(self) -> Numbers:
        """The key of each point."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def first(self, values: Numbers) -> Numbers:
        """The first value of each key; every key has one."""
        return values[self.bounds[:-1]]

    def last(self, values: Numbers) -> Numbers:
        """The last value of each key; every key has one."""
        return values[self.bounds[1:] - 1]


def offsets_of(keys: Numbers, count: int) -> Offsets:
    """The offsets of points that are sorted by the number of their key."""
    return Offsets(np.searchsorted(keys, np.arange(count + 1)).astype(np.int64))


def ratio(total: Numbers, count: Numbers) -> Reals:
    """Total by count; NaN where the count is 0."""
    found = np.full(len(total), np.nan)
    np.divide(total.astype(np.float64), count, out=found, where=count != 0)
    return found


def ewma(
    offsets: Offsets, t: Numbers, values: Reals, half_life_s: int, start: tuple[Numbers, Reals]
) -> tuple[Numbers, Reals]:
    """The moving average of each key, with the time of its last point; NaN without points.

    A value that is `half_life_s` old has half the weight. It continues from `start`, the result of
    the points before; points that are NaN are left out.
    """
    known = ~np.isnan(values)
    kept = offsets_of(offsets.keys[known], len(offsets.lengths))
    t, values = t[known], values[known]
    at, mean = start[0].copy(), start[1].copy()
    weights = _Weights(half_life_s)
    for step in range(int(kept.lengths.max(initial=0))):
        keys = np.flatnonzero(kept.lengths > step)
        points = kept.bounds[keys] + step
        value, before = values[points], mean[keys]
        weight = weights.of(t[points] - at[keys])
        blended = value + (before - value) * weight
        mean[keys] = np.where(np.isnan(before), value, blended)
        at[keys] = t[points]
    return at, mean


class _Weights:
    """Weights by age; few ages occur, and equal ages have equal weights everywhere."""

    def __init__(self, half_life_s: int) -> None:
        self._half_life_s = half_life_s
        self._last: tuple[int, float] = (0, 1.0)

    def of(self, ages: Numbers) -> Reals:
        if len(ages) and (ages == ages[0]).all():
            age = int(ages[0])
            if self._last[0] != age:
                self._last = age, self._weight(age)
            return np.full(len(ages), self._last[1])
        distinct, where = np.unique(ages, return_inverse=True)
        return np.array([self._weight(int(age)) for age in distinct])[where]

    def _weight(self, age: int) -> float:
        return math.pow(2.0, -age / self._half_life_s)


def slopes_per_day(offsets: Offsets, t: Numbers, values: Reals) -> tuple[Offsets, Reals]:
    """The slopes per day between each point and the one half a series later, ascending by key.

    This is Theil's estimator with each point used once: the median of the slopes tolerates a
    quarter of outliers, at a cost linear in the length of the series.
    """
    half = offsets.lengths // 2
    pairs = np.where(offsets.lengths > 1, offsets.lengths - half, 0)
    keys = np.repeat(np.arange(len(pairs)), pairs)
    within = np.arange(len(keys)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    start = offsets.bounds[:-1][keys] + within
    end = start + half[keys]
    span = (t[end] - t[start]).astype(np.float64)
    rising = span > 0
    slopes = (values[end] - values[start])[rising] / span[rising] * DAY_S
    keys = keys[rising]
    order = np.lexsort((slopes, keys))
    return offsets_of(keys, len(pairs)), slopes[order]


def at_rank(offsets: Offsets, ordered: Reals, share: float) -> Reals:
    """The nearest-rank percentile of each key's ascending values; NaN without values."""
    lengths = offsets.lengths
    rank = np.maximum(nearest_rank(lengths, share), 1) - 1
    found = np.full(len(lengths), np.nan)
    some = lengths > 0
    found[some] = ordered[(offsets.bounds[:-1] + rank)[some]]
    return found


def nearest_rank(counts: Numbers, share: float) -> Numbers:
    """The nearest rank of a share, from 1, of so many values."""
    return np.ceil(share * counts).astype(np.int64)


def median(offsets: Offsets, ordered: Reals) -> Reals:
    """The median of each key's ascending values, of two middle ones their mean; NaN without."""
    lengths, first = offsets.lengths, offsets.bounds[:-1]
    found = np.full(len(lengths), np.nan)
    some = lengths > 0
    low, high = first + (lengths - 1) // 2, first + lengths // 2
    found[some] = (ordered[low[some]] + ordered[high[some]]) / 2
    return found


def fraction_positive(offsets: Offsets, values: Reals) -> Reals:
    """The fraction of each key's values above 0; 0 without values."""
    positive = np.bincount(offsets.keys[values > 0], minlength=len(offsets.lengths))
    return positive / np.maximum(offsets.lengths, 1)


def sums(slots: Numbers, values: Numbers, count: int) -> Numbers:
    """The exact sum of the values in each of `count` slots."""
    found = np.zeros(count, np.int64)
    np.add.at(found, slots, values)
    return found


def half_up(values: Reals, digits: int = 0) -> Reals:
    """Rounded to digits, with halves away from zero; NaN stays."""
    scaled = np.abs(values) * 10.0**digits
    return np.copysign(np.floor(scaled + 0.5), values) / 10.0**digits
