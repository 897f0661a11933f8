"""Load models: what a partition or a broker carries, how that repeats, and where it is going.

Two frames go in: the samples of leaders, for figures that must be exact (`n, p50, p95, max, sum`
of a partition), and the roll-up, for everything that is a course over time. A *course* has one row
per key and window with `bytes_in`, `bytes_out`, `samples` (how many sampling intervals it sums)
and `size`; the models of partitions and brokers are the same functions of their courses.

Figures are bytes per sampling interval; sizes are bytes, growth is bytes per day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import BROKER_KEY, PARTITION_KEY
from kedge.pipeline.transforms.robust import (
    DAY_S,
    at_rank,
    daily,
    ewma,
    middle,
    pattern,
    series_of,
    share_of,
    slopes,
)

TREND_DAYS_MIN = 3  # fewer days tell a daily rhythm from a trend by luck only


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How fast a model forgets."""

    half_life_s: int = 6 * 3600


def sample_figures(samples: DataFrame) -> DataFrame:
    """Exact figures of each partition over the samples of its leaders, by nearest rank."""
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
    return [at_rank(ordered, share).alias(f"{prefix}{name}") for name, share in shares.items()]


def partition_course(rollup: DataFrame) -> DataFrame:
    """The course of each partition: what its leader carried, and the size of its replicas."""
    return rollup.groupBy(*PARTITION_KEY, "window_start").agg(
        F.sum("leader_bytes_in").alias("bytes_in"),
        F.sum("leader_bytes_out").alias("bytes_out"),
        F.sum("leader_rows").alias("samples"),
        F.max(F.struct("last_ts", "last_size"))["last_size"].alias("size"),
        F.min("min_isr").alias("min_isr"),
        F.max("max_isr").alias("max_isr"),
    )


def broker_course(rollup: DataFrame) -> DataFrame:
    """The course of each broker: all that its replicas carried, and all that they hold."""
    return rollup.groupBy(*BROKER_KEY, "window_start").agg(
        *(F.sum(name).alias(name) for name in SUMMED),
        F.max("rows").alias("samples"),
        F.sum("last_size").alias("size"),
        F.max("max_size_bytes").alias("max_size_bytes"),
    )


SUMMED = ("rows", "bytes_in", "bytes_out", "leader_rows", "leader_bytes_in")


def partition_load(course: DataFrame, *, figures: DataFrame, settings: ModelSettings) -> DataFrame:
    """The load model of each partition."""
    changing = F.sum(F.when(F.col("min_isr") < F.col("max_isr"), 1).otherwise(0))
    isr = [
        F.count(F.lit(1)).alias("windows"),
        changing.alias("isr_windows"),
        F.min("min_isr").alias("min_isr"),
    ]
    grouped = _points(course).groupBy(*PARTITION_KEY).agg(_series(), *isr)
    names = ["windows", "isr_windows", "min_isr"]
    modelled = _modelled(grouped, [*PARTITION_KEY, *names], settings)
    return modelled.join(figures, [*PARTITION_KEY], "left")


def broker_load(course: DataFrame, *, held: DataFrame, settings: ModelSettings) -> DataFrame:
    """The load model of each broker; `held` says what its replicas hold and how they grow.

    Its percentiles are those of windows: the bytes of all its replicas per sampling interval.
    """
    totals = [F.sum(name).alias(name) for name in SUMMED]
    largest = F.max("max_size_bytes").alias("max_size_bytes")
    summed = _points(course).groupBy(*BROKER_KEY).agg(_series(), *totals, largest)
    names = [*BROKER_KEY, *SUMMED, "max_size_bytes"]
    modelled = _modelled(summed, names, settings, ranks=True)
    own = modelled.drop("last_size", "growth_bytes_per_day", "growth_low", "growth_high")
    return own.join(F.broadcast(held), [*BROKER_KEY], "left")


def window_load(course: DataFrame) -> DataFrame:
    """One row per cluster and window, from the course of the brokers."""
    summed = ("rows", "bytes_in", "bytes_out")
    sums = (F.sum(name).alias(name) for name in summed)
    return course.groupBy("cluster", "window_start").agg(*sums)


def _points(course: DataFrame) -> DataFrame:
    """The windows of a course as points of a series."""
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
    return series_of(
        "bytes_in", "bytes_out", "samples", "mean_in", "mean_out", "size", *slots
    ).alias("series")


def _modelled(
    grouped: DataFrame, names: Sequence[str], settings: ModelSettings, *, ranks: bool = False
) -> DataFrame:
    """What each series tells: forgetful means, growth with its range, trend and patterns."""
    series, rises = F.col("series"), F.col("slopes")
    days = F.element_at(series, -1)["day"] - F.element_at(series, 1)["day"] + 1
    ordered = grouped.select(
        *names,
        "series",
        slopes(series, "size").alias("slopes"),
        F.when(days >= TREND_DAYS_MIN, daily(series)).alias("days"),
    )
    return ordered.select(
        *names,
        *(_window_ranks(series) if ranks else ()),
        ewma(series, "mean_in", half_life_s=settings.half_life_s).alias("ewma"),
        ewma(series, "mean_out", half_life_s=settings.half_life_s).alias("out_ewma"),
        F.element_at(series, -1)["size"].alias("last_size"),
        _whole(middle(rises)).alias("growth_bytes_per_day"),
        _whole(at_rank(rises, 0.25)).alias("growth_low"),
        _whole(at_rank(rises, 0.75)).alias("growth_high"),
        share_of(rises, 1).alias("rising"),
        (F.element_at(series, -1)["t"] - F.element_at(series, 1)["t"]).alias("span_s"),
        middle(slopes(F.col("days"), "i")).alias("in_growth_per_day"),
        middle(slopes(F.col("days"), "o")).alias("out_growth_per_day"),
        pattern(series, "hour", 24).alias("day_pattern"),
        pattern(series, "weekday", 7).alias("week_pattern"),
    )


def _window_ranks(series: Column) -> list[Column]:
    def means(figure: str) -> Column:
        told = F.filter(F.transform(series, lambda p: _whole(p[figure])), lambda m: m.isNotNull())
        return F.array_sort(told)

    return [*_ranks(means("mean_in"), ""), *_ranks(means("mean_out"), "out_")]


def _mean(total: str) -> Column:
    """Bytes per sampling interval; null where there was none."""
    return F.col(total).cast("double") / F.nullif(F.col("samples"), F.lit(0))


def _whole(value: Column) -> Column:
    return F.round(value).cast("long")
