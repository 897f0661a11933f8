"""Load models of partitions and brokers: percentiles, moving averages, seasonality and growth.

The exact statistics of a partition (`n, p50, p95, max, sum`) come from the samples of its leader;
everything that depends on time comes from the roll-up. A *course* is a windowed time series: one
row per key and window with `bytes_in`, `bytes_out`, `samples` (the number of sampling intervals)
and `size`. The models of partitions and of brokers apply the same functions to their courses.

Rates are bytes per sampling interval, sizes are bytes, growth is bytes per day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import BROKER_KEY, PARTITION_KEY
from kedge.pipeline.transforms.series import (
    DAY_S,
    collect_series,
    daily_means,
    ewma,
    fraction_with_sign,
    median_of_sorted,
    percentile_of_sorted,
    seasonal_profile,
    slopes_per_day,
)

TREND_DAYS_MIN = 3  # with fewer days a trend cannot be distinguished from the daily pattern


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The half-life of the moving averages."""

    half_life_s: int = 6 * 3600


def sample_statistics(samples: DataFrame) -> DataFrame:
    """Exact percentiles (nearest rank) and sums of each partition over its leader's samples."""
    led = samples.where("is_leader").select(*PARTITION_KEY, "bytes_in", "bytes_out")
    ordered = led.groupBy(*PARTITION_KEY).agg(
        F.sort_array(F.collect_list("bytes_in")).alias("ins"),
        F.sort_array(F.collect_list("bytes_out")).alias("outs"),
        F.sum("bytes_in").alias("sum"),
        F.sum("bytes_out").alias("out_sum"),
    )
    ins, outs = F.col("ins"), F.col("outs")
    return ordered.select(
        *PARTITION_KEY,
        F.size(ins).cast("long").alias("n"),
        *_ranks(ins, ""),
        "sum",
        *_ranks(outs, "out_"),
        "out_sum",
    )


def _ranks(ordered: Column, prefix: str) -> list[Column]:
    shares = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    return [
        percentile_of_sorted(ordered, share).alias(f"{prefix}{name}")
        for name, share in shares.items()
    ]


def partition_course(rollup: DataFrame) -> DataFrame:
    """Time series of each partition: the traffic of its leader, and the size of its replicas."""
    return rollup.groupBy(*PARTITION_KEY, "window_start").agg(
        F.sum("leader_bytes_in").alias("bytes_in"),
        F.sum("leader_bytes_out").alias("bytes_out"),
        F.sum("leader_rows").alias("samples"),
        F.max(F.struct("last_ts", "last_size"))["last_size"].alias("size"),
        F.min("min_isr").alias("min_isr"),
        F.max("max_isr").alias("max_isr"),
    )


def broker_course(rollup: DataFrame) -> DataFrame:
    """Time series of each broker: traffic and size of all its replicas."""
    return rollup.groupBy(*BROKER_KEY, "window_start").agg(
        *(F.sum(name).alias(name) for name in SUMMED),
        F.max("rows").alias("samples"),
        F.sum("last_size").alias("size"),
        F.max("max_size_bytes").alias("max_size_bytes"),
    )


SUMMED = ("rows", "bytes_in", "bytes_out", "leader_rows", "leader_bytes_in")


def partition_load(
    course: DataFrame, *, statistics: DataFrame, settings: ModelSettings
) -> DataFrame:
    """The load model of each partition."""
    changing = F.sum(F.when(F.col("min_isr") < F.col("max_isr"), 1).otherwise(0))
    isr = [
        F.count(F.lit(1)).alias("windows"),
        changing.alias("isr_windows"),
        F.min("min_isr").alias("min_isr"),
    ]
    grouped = _points(course).groupBy(*PARTITION_KEY).agg(_series(), *isr)
    names = ["windows", "isr_windows", "min_isr"]
    modelled = _time_series_model(grouped, [*PARTITION_KEY, *names], settings)
    return modelled.join(statistics, [*PARTITION_KEY], "left")


def broker_load(course: DataFrame, *, disk_use: DataFrame, settings: ModelSettings) -> DataFrame:
    """The load model of each broker; `disk_use` has the size and growth of its replicas.

    Its percentiles are over windows: the bytes of all its replicas per sampling interval.
    """
    totals = [F.sum(name).alias(name) for name in SUMMED]
    largest = F.max("max_size_bytes").alias("max_size_bytes")
    summed = _points(course).groupBy(*BROKER_KEY).agg(_series(), *totals, largest)
    names = [*BROKER_KEY, *SUMMED, "max_size_bytes"]
    modelled = _time_series_model(summed, names, settings, ranks=True)
    without_size = modelled.drop("last_size", "growth_bytes_per_day", "growth_low", "growth_high")
    return without_size.join(F.broadcast(disk_use), [*BROKER_KEY], "left")


def broker_disk_use(partitions: DataFrame, *, replicas: DataFrame, brokers: DataFrame) -> DataFrame:
    """Size and growth of the replicas of each broker, and the days until its disk is full.

    The uncertainty of a partition's growth is half its interquartile range; partitions are taken as
    independent, so the squares add up. Days count from the last sample; null if the disk does not
    fill up or its capacity is unknown.
    """
    spread = F.col("growth_high") - F.col("growth_low")
    loads = partitions.select(
        *PARTITION_KEY, "last_size", "growth_bytes_per_day", (spread / 2).alias("spread")
    )
    joined = replicas.join(loads, list(PARTITION_KEY)).groupBy(*BROKER_KEY)
    square = F.round("spread").cast("decimal(18,0)") * F.round("spread").cast("decimal(18,0)")
    summed = joined.agg(
        F.sum("last_size").alias("used_bytes"),
        F.sum("growth_bytes_per_day").alias("growth_bytes_per_day"),
        F.round(F.sqrt(F.sum(square).cast("double"))).cast("long").alias("growth_spread"),
    )
    capacity = brokers.select(*BROKER_KEY, "disk_capacity_bytes")
    growth, spread = F.col("growth_bytes_per_day"), F.col("growth_spread")
    return summed.join(F.broadcast(capacity), list(BROKER_KEY), "left").withColumns(
        {
            "days_to_full": _days(growth),
            "days_to_full_low": _days(growth + spread),
            "days_to_full_high": _days(growth - spread),
        }
    )


def _days(growth: Column) -> Column:
    room = F.greatest(F.col("disk_capacity_bytes") - F.col("used_bytes"), F.lit(0))
    return F.when(growth > 0, room.cast("double") / growth)


def window_load(course: DataFrame) -> DataFrame:
    """One row per cluster and window, from the time series of the brokers."""
    summed = ("rows", "bytes_in", "bytes_out")
    sums = (F.sum(name).alias(name) for name in summed)
    return course.groupBy("cluster", "window_start").agg(*sums)


def _points(course: DataFrame) -> DataFrame:
    """The rows of a time series with the fields of a point."""
    seconds = F.unix_seconds("window_start")
    return course.withColumns(
        {
            "t": seconds,
            "day": F.floor(seconds / DAY_S).cast("long"),
            "hour": F.hour("window_start"),
            "weekday": F.weekday("window_start"),
            "mean_in": _mean("bytes_in"),
            "mean_out": _mean("bytes_out"),
        }
    )


def _series() -> Column:
    slots = ("day", "hour", "weekday")
    return collect_series(
        "bytes_in", "bytes_out", "samples", "mean_in", "mean_out", "size", *slots
    ).alias("series")


def _time_series_model(
    grouped: DataFrame, names: Sequence[str], settings: ModelSettings, *, ranks: bool = False
) -> DataFrame:
    """Moving averages, growth with its quartiles, daily trend and seasonal profiles."""
    series, rises = F.col("series"), F.col("slopes")
    days = F.element_at(series, -1)["day"] - F.element_at(series, 1)["day"] + 1
    ordered = grouped.select(
        *names,
        "series",
        slopes_per_day(series, "size").alias("slopes"),
        F.when(days >= TREND_DAYS_MIN, daily_means(series)).alias("days"),
    )
    return ordered.select(
        *names,
        *(_window_ranks(series) if ranks else ()),
        ewma(series, "mean_in", half_life_s=settings.half_life_s).alias("ewma"),
        ewma(series, "mean_out", half_life_s=settings.half_life_s).alias("out_ewma"),
        F.element_at(series, -1)["size"].alias("last_size"),
        _rounded(median_of_sorted(rises)).alias("growth_bytes_per_day"),
        _rounded(percentile_of_sorted(rises, 0.25)).alias("growth_low"),
        _rounded(percentile_of_sorted(rises, 0.75)).alias("growth_high"),
        fraction_with_sign(rises, 1).alias("rising"),
        (F.element_at(series, -1)["t"] - F.element_at(series, 1)["t"]).alias("span_s"),
        median_of_sorted(slopes_per_day(F.col("days"), "i")).alias("in_growth_per_day"),
        median_of_sorted(slopes_per_day(F.col("days"), "o")).alias("out_growth_per_day"),
        seasonal_profile(series, "hour", 24).alias("day_pattern"),
        seasonal_profile(series, "weekday", 7).alias("week_pattern"),
    )


def _window_ranks(series: Column) -> list[Column]:
    def means(field: str) -> Column:
        present = F.filter(
            F.transform(series, lambda p: _rounded(p[field])), lambda m: m.isNotNull()
        )
        return F.array_sort(present)

    return [*_ranks(means("mean_in"), ""), *_ranks(means("mean_out"), "out_")]


def _mean(total: str) -> Column:
    """Bytes per sampling interval; null if the window has no samples."""
    return F.col(total).cast("double") / F.nullif(F.col("samples"), F.lit(0))


def _rounded(value: Column) -> Column:
    return F.round(value).cast("long")
