"""Back-tests forecasts: errors from rolling origins, beside the naive and the seasonal naive ones.

At each origin only what came before is known. *Naive* repeats the last value, *seasonal naive* the
value one season (a week) before. The error of a model is the sum of its absolute errors over the
sum of the loads (WAPE); `covered` is the share of values inside the 80 % interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kedge.analytics.forecast import fit
from kedge.model.columns import Floats


@dataclass(frozen=True, slots=True)
class BackTest:
    """Errors as shares of the load, over all series and origins."""

    forecasts: int
    error: float
    naive: float
    seasonal_naive: float | None  # None where no history has a whole season
    covered: float


@dataclass(slots=True)
class _Sums:
    forecasts: int = 0
    load: float = 0.0
    error: float = 0.0
    naive: float = 0.0
    seasonal_naive: float = 0.0
    inside: int = 0
    points: int = 0


def back_test(
    series: Sequence[tuple[Floats, Floats]],
    *,
    history: int,
    horizon: int,
    season: int | None,
    step: int,
) -> BackTest:
    """Forecast `horizon` points from every `step`-th point on, after at least `history` points."""
    sums = _Sums()
    for times, values in series:
        for origin in range(history, len(values) - horizon + 1, step):
            _add(sums, times, values, origin, horizon, season)
    load = sums.load or 1.0
    return BackTest(
        sums.forecasts,
        sums.error / load,
        sums.naive / load,
        sums.seasonal_naive / load if season is not None else None,
        sums.inside / max(sums.points, 1),
    )


def _add(
    sums: _Sums, times: Floats, values: Floats, origin: int, horizon: int, season: int | None
) -> None:
    model = fit(times[:origin], values[:origin])
    if model is None:
        return
    ahead, actual = times[origin : origin + horizon], values[origin : origin + horizon]
    sums.forecasts += 1
    sums.load += float(np.abs(actual).sum())
    sums.error += float(np.abs(model.at(ahead) - actual).sum())
    sums.naive += float(np.abs(values[origin - 1] - actual).sum())
    if season is not None:
        before = values[origin - season : origin]
        sums.seasonal_naive += float(np.abs(before[np.arange(horizon) % season] - actual).sum())
    sums.inside += int(((actual >= model.low(ahead)) & (actual <= model.high(ahead))).sum())
    sums.points += horizon
