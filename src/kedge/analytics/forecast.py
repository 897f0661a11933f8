"""Forecasts of a load: a robust trend, a weekly or daily pattern, and an interval.

    load(t) = level + slope · (t - origin) + pattern[hour of the week of t] + noise

*Slope*: the median of the slopes between points half the history apart (Theil's estimator with each
point used once). The distance is a whole number of weeks (or days), so the pattern cancels out.
A slope within two standard errors of 0 is noise, and taken as 0.
*Pattern*: the median deviation from the trend in each hour of the week, from 14 days on. From 3
days on there is a pattern of 24 hours; with less, the trend alone. Weeks before the last eight
count no more: habits change.
*Level*: the median of what remains over the last day, so that a forecast starts where the load is.
*Interval*: noise, the uncertainty of the slope, and the drift of the level from day to day, as
independent errors: `z · sqrt(noise² + drift² · days + (slope_error · days)²)`.

Worked example: a disk with 100 GB that takes 2 GB a day and 1 GB more on Sundays is forecast at
114 GB in a week (115 on a Sunday) from two weeks of hourly sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kedge.analytics.robust import MEDIAN_ERROR, independent_count, median, spread
from kedge.model.columns import Floats, Int64s

HOUR_S = 3600.0
DAY_S = 86_400.0
DAY_HOURS, WEEK_HOURS = 24, 168
COVERED = 0.8  # the share of values within the interval
Z_80 = 1.2816  # normal deviations that have this share
BUCKETS_FROM_S = 2 * DAY_S  # a longer series is taken by the hour
DAY_PATTERN_FROM_S, WEEK_PATTERN_FROM_S = 3 * DAY_S, 14 * DAY_S
WEEKS_MAX = 8
SLOPE_ERRORS = 2.0  # a slope within so many of its standard errors is noise
HORIZON_DAYS = 5 * 365
LONG_AGO = 1 << 40  # hours; guards the arithmetic of damaged timestamps


class Pattern(StrEnum):
    """The season that a forecast repeats."""

    NONE = "none"
    DAY = "day"
    WEEK = "week"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The model of one series; times are seconds since the epoch, `origin` is the last point's."""

    origin: float
    level: float
    slope_per_day: float
    season: Floats  # by hour since the epoch, repeated; a single 0 without pattern
    noise: float = 0.0
    slope_error: float = 0.0
    drift_per_day: float = 0.0
    span_s: float = 0.0

    @property
    def pattern(self) -> Pattern:
        """The season that is repeated."""
        return {1: Pattern.NONE, DAY_HOURS: Pattern.DAY}.get(len(self.season), Pattern.WEEK)

    def at(self, times: Floats) -> Floats:
        """The expected load at these times, never below 0."""
        return np.maximum(self._expected(times, _hours(times)), 0.0)

    def low(self, times: Floats) -> Floats:
        """The lower end of the 80 % interval."""
        expected = self._expected(times, _hours(times))
        return np.maximum(expected - self._half_width(times), 0.0)

    def high(self, times: Floats) -> Floats:
        """The upper end of the 80 % interval."""
        return np.maximum(self._expected(times, _hours(times)) + self._half_width(times), 0.0)

    def days_until(self, limit: float, *, z: float = 0.0) -> float | None:
        """Days from the origin until the load reaches the limit; None if not within five years.

        With `z` the load is that many standard errors above what is expected.
        """
        first = np.floor(self.origin / HOUR_S) * HOUR_S
        starts = first + HOUR_S * np.arange(HORIZON_DAYS * DAY_HOURS + 1)
        hours = _hours(starts)
        begin = np.maximum(starts, self.origin)
        at_begin = self._expected(begin, hours) + z * self._deviation(begin)
        at_end = self._expected(starts + HOUR_S, hours) + z * self._deviation(starts + HOUR_S)
        reached = np.flatnonzero((at_begin >= limit) | (at_end >= limit))
        if not len(reached):
            return None
        place = int(reached[0])
        # within an hour the pattern is constant, so the load is a line (nearly, with `z`)
        rise = at_end[place] - at_begin[place]
        share = 0.0 if at_begin[place] >= limit else (limit - at_begin[place]) / rise
        crossing = begin[place] + share * (starts[place] + HOUR_S - begin[place])
        return float((crossing - self.origin) / DAY_S)

    def _expected(self, times: Floats, hours: Int64s) -> Floats:
        trend = self.level + self.slope_per_day * (times - self.origin) / DAY_S
        return trend + self.season[hours % len(self.season)]

    def _deviation(self, times: Floats) -> Floats:
        days = np.maximum(times - self.origin, 0.0) / DAY_S
        drift = self.drift_per_day**2 * days
        return np.sqrt(self.noise**2 + drift + (self.slope_error * days) ** 2)

    def _half_width(self, times: Floats) -> Floats:
        return Z_80 * self._deviation(times)


def fit(times: Floats, values: Floats, *, is_rate: bool = False) -> Forecast | None:
    """The forecast of a series with ascending times; None for fewer than two points.

    Rates follow the day: before there is a pattern of a day, a rise is the morning and no trend.
    """
    present = np.isfinite(values)
    times, values = times[present], values[present]
    if len(times) < 2 or times[-1] <= times[0]:
        return None
    span = float(times[-1] - times[0])
    if is_rate and span < DAY_PATTERN_FROM_S - HOUR_S:
        return _level_alone(times, values)
    if span < BUCKETS_FROM_S:
        return _trend_alone(times, values)
    first, grid = _hourly(*_recent(times, values))
    covered = len(grid) * HOUR_S
    period = 1
    if covered >= WEEK_PATTERN_FROM_S:
        period = WEEK_HOURS
    elif covered >= DAY_PATTERN_FROM_S:
        period = DAY_HOURS
    return _with_pattern(first, grid, period, float(times[-1]), span)


def _recent(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """The last weeks of a series, in whole hours."""
    end = np.floor(times[-1] / HOUR_S) + 1
    recent = times >= (end - WEEKS_MAX * WEEK_HOURS) * HOUR_S
    return times[recent], values[recent]


def _hours(times: Floats) -> Int64s:
    return np.clip(np.floor(times / HOUR_S), -LONG_AGO, LONG_AGO).astype(np.int64)


def _level_alone(times: Floats, values: Floats) -> Forecast:
    """The median of a short series, and how far its values are from it."""
    level, span = median(values), float(times[-1] - times[0])
    noise = _noise(values - level, 1)
    return Forecast(float(times[-1]), level, 0.0, np.zeros(1), noise=noise, span_s=span)


def _trend_alone(times: Floats, values: Floats) -> Forecast:
    """Trend and level of a short series, each point used once."""
    half = len(times) // 2
    elapsed = (times[half:] - times[: len(times) - half]) / DAY_S
    rises = (values[half:] - values[: len(values) - half])[elapsed > 0] / elapsed[elapsed > 0]
    origin = float(times[-1])
    days = (times - origin) / DAY_S
    steep = values - median(rises) * days
    error = _slope_error(rises, steep)
    slope = _significant(median(rises), error)
    detrended = values - slope * days
    level = median(detrended)
    return Forecast(
        origin,
        level,
        slope,
        np.zeros(1),
        noise=_noise(detrended - level, 1),
        slope_error=error,
        span_s=float(times[-1] - times[0]),
    )


def _slope_error(rises: Floats, detrended: Floats) -> float:
    """The standard error of the median of slopes that neighbours in time share their noise of."""
    residuals = detrended - median(detrended)
    return float(MEDIAN_ERROR * spread(rises) / np.sqrt(independent_count(residuals)))


def _hourly(times: Floats, values: Floats) -> tuple[int, Floats]:
    """The first hour since the epoch, and the median of each hour; NaN where it has no points."""
    hours = _hours(times)
    grid = np.full(int(hours[-1] - hours[0]) + 1, np.nan)
    starts = np.flatnonzero(np.diff(hours, prepend=hours[0] - 1))
    for begin, end in zip(starts, [*starts[1:], len(hours)], strict=True):
        grid[hours[begin] - hours[0]] = median(values[begin:end])
    return int(hours[0]), grid


def _with_pattern(first: int, grid: Floats, period: int, origin: float, span_s: float) -> Forecast:
    """Slope by whole periods, pattern by slot, level of the last day, errors of what remains."""
    days = (np.arange(len(grid)) + first + 0.5) * HOUR_S / DAY_S - origin / DAY_S
    distance = _distance(len(grid), period)
    rises = (grid[distance:] - grid[: len(grid) - distance]) / (distance / DAY_HOURS)
    rises = rises[np.isfinite(rises)]
    slots = (first + np.arange(len(grid))) % period
    slope, error = 0.0, 0.0
    if len(rises):
        steep = grid - median(rises) * days
        remains = steep - _season(steep, slots, period)[slots]
        error = _slope_error(rises, remains[np.isfinite(remains)])
        slope = _significant(median(rises), error)
    detrended = grid - slope * days
    season = _season(detrended, slots, period)
    remains = detrended - season[slots]
    known = remains[np.isfinite(remains)]
    return Forecast(
        origin,
        _recent_level(remains),
        slope,
        season,
        noise=_noise(known - median(known), len(grid) / period if period > 1 else 1),
        slope_error=error,
        drift_per_day=_drift(remains),
        span_s=span_s,
    )


def _distance(count: int, period: int) -> int:
    """Half the series, as whole periods where there are some."""
    periods = count // period
    return max(periods // 2, 1) * period if periods >= 2 else count // 2


def _season(detrended: Floats, slots: Int64s, period: int) -> Floats:
    """The median deviation of each slot; that of the hour of the day for a slot without values."""
    if period == 1:
        return np.zeros(1)
    deviation = detrended - np.nanmedian(detrended)
    by_hour = _slot_medians(deviation, slots % DAY_HOURS, DAY_HOURS)
    by_hour = np.where(np.isfinite(by_hour), by_hour, 0.0)
    own = _slot_medians(deviation, slots, period)
    return np.where(np.isfinite(own), own, np.tile(by_hour, period // DAY_HOURS))


def _slot_medians(values: Floats, slots: Int64s, count: int) -> Floats:
    """The median of each slot; NaN where it has no values."""
    known = np.isfinite(values)
    return np.array([median(values[known & (slots == slot)]) for slot in range(count)])


def _noise(residuals: Floats, periods: float) -> float:
    """The deviation of values from the pattern, as four of five residuals keep within it.

    The pattern was fitted to the same values: with `periods` values in a slot their residuals are
    too small, and the pattern itself has an error.
    """
    kept = float(np.quantile(np.abs(residuals), COVERED)) / Z_80
    return kept * float(np.sqrt((periods + 1) / (periods - 1))) if periods > 1 else kept


def _significant(slope: float, error: float) -> float:
    return slope if abs(slope) > SLOPE_ERRORS * error else 0.0


def _recent_level(remains: Floats) -> float:
    known = np.flatnonzero(np.isfinite(remains))
    return median(remains[known[-DAY_HOURS:]])


def _drift(remains: Floats) -> float:
    """How far the level of a day is from that of the day before, beyond the trend."""
    whole = remains[len(remains) % DAY_HOURS :].reshape(-1, DAY_HOURS)
    known = whole[np.isfinite(whole).any(axis=1)]
    if len(known) < 3:
        return 0.0
    return spread(np.diff(np.nanmedian(known, axis=1)))
