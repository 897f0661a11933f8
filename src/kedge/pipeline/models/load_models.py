"""The load model of each partition and broker: percentiles, averages, growth, patterns.

Rates are bytes per sampling interval, sizes are bytes, growth is bytes per day. The exact
statistics of a partition come from the samples of its leader, those of a broker from its windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.models.courses import SUMMED
from kedge.pipeline.models.history import SLOTS, History, Subject, Total
from kedge.pipeline.models.key_index import BROKER_KEY, PARTITION_KEY, Numbers, Reals, ints
from kedge.pipeline.models.ragged_series import (
    DAY_S,
    at_rank,
    fraction_positive,
    half_up,
    median,
    offsets_of,
    ratio,
    slopes_per_day,
    sums,
)
from kedge.pipeline.models.value_bands import SHARES, ValueBands

TREND_DAYS_MIN: Final = 3  # with fewer days a trend cannot be distinguished from the daily pattern


def _one(course: Table) -> Numbers:
    return np.ones(len(course), np.int64)


def _isr_changed(course: Table) -> Numbers:
    return (ints(course.column("min_isr")) < ints(course.column("max_isr"))).astype(np.int64)


def _column(name: str, reduce: np.ufunc = np.add) -> Total:
    return Total(name, lambda course: ints(course.column(name)), reduce)


PARTITIONS: Final = Subject(
    PARTITION_KEY,
    (
        Total("windows", _one),
        Total("isr_windows", _isr_changed),
        _column("min_isr", np.minimum),
    ),
)
BROKERS: Final = Subject(
    BROKER_KEY, (*(_column(name) for name in SUMMED), _column("max_size_bytes", np.maximum))
)


def partition_load(history: History) -> Table:
    """The load model of each partition; null percentiles if a value has left its band."""
    pa, totals = arrow(), history.totals
    columns: dict[str, Any] = {
        "windows": totals["windows"],
        "isr_windows": totals["isr_windows"],
        "min_isr": pa.array(totals["min_isr"], pa.int32()),
    }
    model = _time_series(history)
    columns |= {name: model[name] for name in (*_AVERAGES, *_GROWTH, *_TRENDS)}
    led = history.values["in"].count
    columns["n"] = pa.array(led, mask=led == 0)
    columns |= _statistics(history.values["in"], "") | _statistics(history.values["out"], "out_")
    return _table(history, columns)


def broker_load(history: History, disk_use: Table) -> Table:
    """The load model of each broker; `disk_use` has the size and growth of its replicas.

    Its percentiles are over windows: the bytes of all its replicas per sampling interval.
    """
    columns: dict[str, Any] = dict(history.totals)
    for prefix, name in (("", "in"), ("out_", "out")):
        found = _statistics(history.values[name], prefix)
        columns |= {key: found[key] for key in found if not key.endswith("sum")}
    model = _time_series(history)
    columns |= {name: model[name] for name in (*_AVERAGES, *_TRENDS)}
    numbered = history.keys.append_column("at", arrow().array(np.arange(history.count)))
    joined = numbered.join(disk_use, list(BROKER_KEY), join_type="left outer").sort_by("at")
    columns |= {n: joined.column(n) for n in disk_use.column_names if n not in BROKER_KEY}
    return _table(history, columns)


_AVERAGES = ("ewma", "out_ewma")
_GROWTH = ("last_size", "growth_bytes_per_day", "growth_low", "growth_high")
_TRENDS = (
    *("rising", "span_s", "in_growth_per_day", "out_growth_per_day"),
    *("day_pattern", "week_pattern"),
)


def _table(history: History, columns: Mapping[str, Any]) -> Table:
    keys = {name: history.keys.column(name) for name in history.keys.column_names}
    return arrow().table({**keys, **columns})


def _statistics(bands: ValueBands, prefix: str) -> dict[str, Any]:
    """Percentiles, maximum and sum; null without values, or where a band misses a percentile."""
    pa, none = arrow(), bands.count == 0
    found: dict[str, Any] = {}
    for name, share in SHARES.items():
        value, known = bands.at(share)
        found[f"{prefix}{name}"] = pa.array(value, mask=none | ~known)
    found[f"{prefix}max"] = pa.array(bands.largest, mask=none)
    found[f"{prefix}sum"] = pa.array(bands.total, mask=none)
    return found


def has_all_percentiles(table: Table) -> bool:
    """Whether each key with values has its percentiles: else all days must be read."""
    names = [f"{prefix}{name}" for prefix in ("", "out_") for name in SHARES]
    without = table.column("max").null_count
    return all(table.column(name).null_count == without for name in names)


def _time_series(history: History) -> dict[str, Any]:
    """Moving averages, growth with its quartiles, daily trend and seasonal profiles."""
    t, size = history.sizes.columns
    rises, slopes = slopes_per_day(history.sizes.offsets, t, size.astype(np.float64))
    day, *traffic, samples = history.days.columns
    long = history.last_t // DAY_S - history.first_t // DAY_S + 1 >= TREND_DAYS_MIN
    trends = [_daily_trend(history, day, total, samples, long) for total in traffic]
    return {
        "ewma": _reals(history.averages["in"][1]),
        "out_ewma": _reals(history.averages["out"][1]),
        "last_size": history.sizes.offsets.last(size),
        "growth_bytes_per_day": _rounded(median(rises, slopes)),
        "growth_low": _rounded(at_rank(rises, slopes, 0.25)),
        "growth_high": _rounded(at_rank(rises, slopes, 0.75)),
        "rising": fraction_positive(rises, slopes),
        "span_s": history.last_t - history.first_t,
        "in_growth_per_day": _reals(trends[0]),
        "out_growth_per_day": _reals(trends[1]),
        "day_pattern": _pattern(history, "hour"),
        "week_pattern": _pattern(history, "weekday"),
    }


def _daily_trend(
    history: History, day: Numbers, total: Numbers, samples: Numbers, wanted: Any
) -> Reals:
    """The slope of the daily means of keys with enough days."""
    means, owner = ratio(total, samples), history.days.offsets.keys
    kept = ~np.isnan(means) & wanted[owner]
    offsets = offsets_of(owner[kept], history.count)
    return median(*slopes_per_day(offsets, day[kept] * DAY_S, means[kept]))


def _pattern(history: History, slot: str) -> Any:
    """The mean of bytes in of each slot divided by the overall mean; null in empty slots."""
    pa, width = arrow(), SLOTS[slot]
    total, samples = history.patterns[f"{slot}_in"], history.patterns[f"{slot}_samples"]
    keys = np.repeat(np.arange(history.count), width)
    overall = ratio(sums(keys, total, history.count), sums(keys, samples, history.count))
    overall[overall == 0] = np.nan
    profile = ratio(total, samples) / overall[keys]
    bounds = np.arange(history.count + 1, dtype=np.int32) * width
    return pa.ListArray.from_arrays(pa.array(bounds), _reals(profile))


def _reals(values: Reals) -> Any:
    return arrow().array(values, mask=np.isnan(values))


def _rounded(values: Reals) -> Any:
    unknown = np.isnan(values)
    whole = half_up(np.where(unknown, 0.0, values)).astype(np.int64)
    return arrow().array(whole, mask=unknown)
