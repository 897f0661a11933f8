"""Forecasts of series whose future is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.analytics.back_test import back_test
from kedge.analytics.forecast import DAY_S, HOUR_S, Pattern, fit
from kedge.model.columns import Floats

START = 1_767_571_200.0  # a Monday, 00:00 UTC
HOURS = np.arange(28 * 24)


def after(hours: Any, step_s: float = HOUR_S, start: float = START) -> Floats:
    """Times so many steps after a start."""
    return np.asarray(start + step_s * hours, np.float64)


TIMES = after(HOURS)


def weekly(hours: np.ndarray) -> np.ndarray:
    """A load with a daily wave that is lower on two days of the week."""
    weekend = (hours // 24) % 7 >= 5
    return 100 + 20 * np.sin(2 * np.pi * hours / 24) - 30 * weekend


def test_a_weekly_pattern_with_a_trend_is_repeated_exactly() -> None:
    model = fit(TIMES, weekly(HOURS) + 2.0 * HOURS / 24)
    assert model is not None
    assert model.pattern is Pattern.WEEK
    ahead = np.arange(28 * 24, 35 * 24)
    # an hour is forecast as a whole, so the trend within it is that of its middle
    expected = weekly(ahead) + 2.0 * ahead / 24
    assert model.at(after(ahead + 0.5)) == pytest.approx(expected, abs=1e-9)
    assert model.slope_per_day == pytest.approx(2.0)
    assert model.high(TIMES[-1:] + DAY_S) == pytest.approx(model.at(TIMES[-1:] + DAY_S))


@pytest.mark.parametrize(
    ("days", "pattern"),
    [(1, Pattern.NONE), (2.5, Pattern.NONE), (5, Pattern.DAY), (15, Pattern.WEEK)],
)
def test_the_pattern_needs_enough_history(days: float, pattern: Pattern) -> None:
    hours = HOURS[: int(days * 24)]
    model = fit(after(hours), weekly(hours))
    assert model is not None
    assert model.pattern is pattern


def test_a_tenth_of_outliers_and_a_gap_do_not_move_the_forecast() -> None:
    values = weekly(HOURS) + 1.0 * HOURS / 24
    rng = np.random.default_rng(3)
    spoiled = values.copy()
    spoiled[rng.choice(len(values), len(values) // 10, replace=False)] *= 50
    kept = np.ones(len(values), bool)
    kept[300:340] = False
    clean, dirty = fit(TIMES, values), fit(TIMES[kept], spoiled[kept])
    assert clean is not None
    assert dirty is not None
    ahead = TIMES[-1] + HOUR_S * np.arange(1, 169)
    error = np.abs(dirty.at(ahead) - clean.at(ahead)) / clean.at(ahead)
    assert float(np.median(error)) < 0.02


def test_a_short_series_has_its_trend_alone() -> None:
    times = after(np.arange(12), 300.0)
    model = fit(times, np.asarray(50 + 4.0 * (times - START) / DAY_S, np.float64))
    assert model is not None
    assert model.slope_per_day == pytest.approx(4.0)
    assert model.at(np.array([START + 10 * DAY_S])) == pytest.approx([90.0])


def test_the_morning_of_a_rate_is_no_trend() -> None:
    hours = HOURS[:6]
    values = np.asarray(weekly(hours) + 10.0 * hours, np.float64)
    model = fit(after(hours), values, is_rate=True)
    assert model is not None
    assert model.slope_per_day == 0.0
    assert model.level == pytest.approx(float(np.median(values)))
    later = fit(after(HOURS), weekly(HOURS) + 2.0 * HOURS / 24, is_rate=True)
    assert later is not None
    assert later.slope_per_day == pytest.approx(2.0)


def test_a_slope_that_noise_explains_is_none() -> None:
    noise = np.random.default_rng(5).normal(100, 5, len(HOURS))
    model = fit(TIMES, noise)
    assert model is not None
    assert model.slope_per_day == 0.0


def test_a_forecast_is_never_negative() -> None:
    model = fit(TIMES, 1000 - HOURS.astype(float))
    assert model is not None
    later = np.array([TIMES[-1] + 60 * DAY_S])
    assert model.at(later).tolist() == [0.0]
    assert model.low(later).tolist() == [0.0]


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_points_have_no_forecast(count: int) -> None:
    assert fit(TIMES[:count], np.ones(count)) is None
    assert fit(TIMES, np.full(len(TIMES), np.nan)) is None


def test_days_until_a_limit_are_exact_on_a_line() -> None:
    model = fit(TIMES[:40], 10 + HOURS[:40] / 24)
    assert model is not None
    now = 10 + 39 / 24
    assert model.days_until(100.0) == pytest.approx(100 - now)
    assert model.days_until(now - 1) == 0.0
    assert model.days_until(1e9) is None


def test_the_first_hour_over_a_limit_may_be_a_weekly_peak() -> None:
    model = fit(TIMES, weekly(HOURS) + 1.0 * HOURS / 24)
    assert model is not None
    limit = 160.0
    found = model.days_until(limit)
    assert found is not None
    # a twin that looks at every minute
    minutes = after(np.arange(60 * 24 * 60), 60.0, model.origin)
    first = minutes[np.flatnonzero(model.at(minutes) >= limit)[0]]
    assert found == pytest.approx((first - model.origin) / DAY_S, abs=1 / (24 * 60))


@given(st.floats(-5, 5), st.floats(10, 1000), st.integers(0, 5), st.floats(0.0, 3.0))
def test_worse_luck_reaches_a_limit_sooner(
    slope: float, level: float, seed: int, noise: float
) -> None:
    rng = np.random.default_rng(seed)
    hours = HOURS[:200]
    model = fit(after(hours), level + slope * hours / 24 + rng.normal(0, noise, 200))
    assert model is not None
    days = [model.days_until(level * 1.5, z=z) for z in (1.28, 0.0, -1.28)]
    ordered = [float("inf") if each is None else each for each in days]
    assert ordered == sorted(ordered)
    ahead = after(np.arange(30), DAY_S, model.origin)
    assert (model.low(ahead) <= model.at(ahead)).all()
    assert (model.at(ahead) <= model.high(ahead)).all()


def test_a_back_test_beats_the_naive_forecast_on_a_pattern() -> None:
    rng = np.random.default_rng(1)
    values = weekly(HOURS) + 2.0 * HOURS / 24 + rng.normal(0, 2, len(HOURS))
    done = back_test([(TIMES, values)], history=14 * 24, horizon=168, season=168, step=24)
    assert done.forecasts == 8
    assert done.seasonal_naive is not None
    assert done.error < done.seasonal_naive < done.naive
    assert 0.6 < done.covered <= 1.0
