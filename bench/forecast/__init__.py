"""Errors of forecasts beside naive ones, by back-testing from rolling origins.

Rows are errors, not times: the sum of absolute errors over the sum of the loads. The naive forecast
repeats the last value, the seasonal naive one the week before.
"""

from __future__ import annotations

import time

from bench.forecast import series
from bench.report import BenchRow, BenchSection, Timing
from kedge.analytics.back_test import BackTest, back_test

HISTORY_DAYS, HORIZON_DAYS, STEP_DAYS = 21, 7, 3
RECORDED = {"history": 24, "horizon": 12, "step": 4}  # points of 15 s: 6, 3 and 1 minutes

GENERATED = {
    "weekly pattern": series.weekly,
    "weekly pattern, growing 1 % a day": series.weekly_and_growing,
    "weekly pattern, outages, bursts and a step": series.weekly_with_faults,
    "bytes on disk, with deletion": series.log_size,
    "random walk": series.random_walk,
}


def run() -> BenchSection:
    """Back-test every kind of series."""
    before = time.process_time()
    found = {name: _weeks(series.drawn(shape)) for name, shape in GENERATED.items()}
    found["topics of the pipeline's generator"] = _weeks(series.generator_topics())
    seconds, count = time.process_time() - before, sum(one.forecasts for one in found.values())
    rows = [row for name, one in found.items() for row in _rows(f"{name}, 7 days", one)]
    recorded = back_test(series.recorded_topics(), season=None, **RECORDED)
    rows += _rows("recorded topics of real brokers, 3 minutes", recorded)
    found["recorded"] = recorded
    inside = ", ".join(f"{name} {100 * one.covered:.0f} %" for name, one in found.items())
    return BenchSection(
        "forecast",
        "Forecasts",
        "Errors of forecasts as shares of the load, lower is better, from rolling origins every "
        f"{STEP_DAYS} days after at least {HISTORY_DAYS} days of hourly values. A ratio above 1 "
        "says that the peer errs more. The recording has 15 minutes, too short for a week: it is "
        "forecast 3 minutes ahead, from 6 minutes on, every minute.",
        tuple(rows),
        (
            f"{count + recorded.forecasts} forecasts; one takes {1e3 * seconds / count:.0f} ms.",
            f"Values inside the 80 % interval: {inside}.",
        ),
        measured="its error",
    )


def _weeks(found: series.Series) -> BackTest:
    return back_test(
        found,
        history=HISTORY_DAYS * 24,
        horizon=HORIZON_DAYS * 24,
        season=168,
        step=STEP_DAYS * 24,
    )


def _rows(name: str, one: BackTest) -> list[BenchRow]:
    ours = Timing(one.error, one.error)
    rows = [BenchRow(name, ours, "naive", Timing(one.naive, one.naive), unit="%")]
    if one.seasonal_naive is not None:
        theirs = Timing(one.seasonal_naive, one.seasonal_naive)
        rows.append(BenchRow(name, ours, "seasonal naive", theirs, unit="%"))
    return rows
