"""Column expressions on time series: arrays of structs (`t` in seconds, values…), sorted by `t`.

The arrays are folded from left to right, so that floating-point results do not depend on how Spark
partitioned the rows.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

DAY_S = 86_400


def collect_series(*fields: str) -> Column:
    """An aggregate: the rows of a group as a time series."""
    return F.sort_array(F.collect_list(F.struct("t", *fields)))


def ewma(series: Column, field: str, *, half_life_s: int) -> Column:
    """Exponentially weighted moving average: a value `half_life_s` old has half the weight."""

    def step(previous: Column, point: Column) -> Column:
        gap = (point["t"] - previous["t"]).cast("double")
        weight = F.pow(F.lit(2.0), -gap / F.lit(float(half_life_s)))
        blended = point[field] + (previous["v"] - point[field]) * weight
        value = F.coalesce(F.when(previous["v"].isNull(), point[field]).otherwise(blended))
        return F.struct(point["t"].alias("t"), value.alias("v"))

    present = F.filter(series, lambda point: point[field].isNotNull())
    start = F.struct(F.lit(0).cast("long").alias("t"), F.lit(None).cast("double").alias("v"))
    return F.aggregate(present, start, step)["v"]


def slopes_per_day(series: Column, field: str) -> Column:
    """The slopes per day between each point and the one half a series later, ascending.

    This is Theil's estimator with each point used once: the median of the slopes tolerates a
    quarter of outliers, at a cost linear in the length of the series.
    """
    half = F.floor(F.size(series) / 2).cast("int")
    starts = F.slice(series, F.lit(1), F.size(series) - half)
    ends = F.slice(series, half + 1, F.size(series) - half)

    def slope(a: Column, b: Column) -> Column:
        seconds = (b["t"] - a["t"]).cast("double")
        rise = (b[field] - a[field]).cast("double")
        return F.when(seconds > 0, rise / seconds * DAY_S)

    return F.array_sort(F.filter(F.zip_with(starts, ends, slope), lambda s: s.isNotNull()))


def seasonal_profile(series: Column, slot: str, slots: int) -> Column:
    """The mean of `bytes_in` in each slot divided by the overall mean; null in empty slots."""

    def over(mean: Column) -> Column:
        def of_slot(slot_number: Column) -> Column:
            points = F.filter(series, lambda point: point[slot] == slot_number)
            return once(points, lambda found: mean_per_sample(found)) / F.nullif(mean, F.lit(0.0))

        return F.transform(F.sequence(F.lit(0), F.lit(slots - 1)), of_slot)

    return once(mean_per_sample(series), over)


def once(value: Column, use: Callable[[Column], Column]) -> Column:
    """What a function makes of a value that is computed once.

    Spark computes a column anew wherever a function of arrays refers to it.
    """
    return F.get(F.transform(F.array(value), use), F.lit(0))


def mean_per_sample(points: Column, field: str = "bytes_in") -> Column:
    """Bytes per sample over all points, from exact integer sums."""
    total = sum_of(points, field).cast("double")
    return total / F.nullif(sum_of(points, "samples"), F.lit(0))


def sum_of(points: Column, field: str) -> Column:
    """The sum of an integer field."""
    return F.aggregate(points, F.lit(0).cast("long"), lambda sum_, point: sum_ + point[field])


def daily_means(series: Column) -> Column:
    """The series of daily means: `t` is the start of the day, `i` and `o` are bytes in and out."""

    def of_day(day: Column) -> Column:
        def means(points: Column) -> Column:
            fields = {"i": "bytes_in", "o": "bytes_out"}
            found = [mean_per_sample(points, field).alias(name) for name, field in fields.items()]
            return F.struct((day * DAY_S).alias("t"), *found)

        return once(F.filter(series, lambda point: point["day"] == day), means)

    first, last = F.element_at(series, 1)["day"], F.element_at(series, -1)["day"]
    return F.filter(F.transform(F.sequence(first, last), of_day), lambda d: d["i"].isNotNull())


def percentile_of_sorted(ordered: Column, share: float) -> Column:
    """The nearest-rank percentile of an ascending array; null for an empty one."""
    rank = F.greatest(F.ceil(F.lit(share) * F.size(ordered)).cast("int"), F.lit(1))
    return F.get(ordered, rank - 1)


def median_of_sorted(ordered: Column) -> Column:
    """The median of an ascending array; the mean of the two middle values if it has even length."""
    last = F.size(ordered) - 1
    low = F.get(ordered, F.floor(last / 2).cast("int"))
    high = F.get(ordered, F.ceil(last / 2).cast("int"))
    return (low + high) / 2


def fraction_with_sign(values: Column, sign: int) -> Column:
    """The fraction of the values that have this sign."""
    matching = F.size(F.filter(values, lambda v: v * sign > 0))
    return matching.cast("double") / F.greatest(F.size(values), F.lit(1))
