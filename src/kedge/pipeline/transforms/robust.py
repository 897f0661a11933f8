"""Expressions on a series: an array of (`t` in seconds, figures…), in order of `t`.

They are folded from left to right over an array that is in order, so that floating-point answers
do not hang on how rows were spread.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

DAY_S = 86_400


def series_of(*figures: str) -> Column:
    """An aggregate: the rows of a group as a series, by their `t`."""
    return F.sort_array(F.collect_list(F.struct("t", *figures)))


def ewma(series: Column, figure: str, *, half_life_s: int) -> Column:
    """The mean that forgets: what is `half_life_s` old counts half. Gaps forget too."""

    def step(so_far: Column, point: Column) -> Column:
        gap = (point["t"] - so_far["t"]).cast("double")
        kept = F.pow(F.lit(2.0), -gap / F.lit(float(half_life_s)))
        blended = point[figure] + (so_far["v"] - point[figure]) * kept
        value = F.coalesce(F.when(so_far["v"].isNull(), point[figure]).otherwise(blended))
        return F.struct(point["t"].alias("t"), value.alias("v"))

    told = F.filter(series, lambda point: point[figure].isNotNull())
    start = F.struct(F.lit(0).cast("long").alias("t"), F.lit(None).cast("double").alias("v"))
    return F.aggregate(told, start, step)["v"]


def slopes(series: Column, figure: str) -> Column:
    """The slopes per day between each point and the one half a series later, ascending.

    This is Theil's method with each point used once: its median is a slope that a quarter of the
    points may be wrong about, at a cost that grows with the series and not with its square.
    """
    half = F.floor(F.size(series) / 2).cast("int")
    starts = F.slice(series, F.lit(1), F.size(series) - half)
    ends = F.slice(series, half + 1, F.size(series) - half)

    def slope(a: Column, b: Column) -> Column:
        seconds = (b["t"] - a["t"]).cast("double")
        rise = (b[figure] - a[figure]).cast("double")
        return F.when(seconds > 0, rise / seconds * DAY_S)

    return F.array_sort(F.filter(F.zip_with(starts, ends, slope), lambda s: s.isNotNull()))


def pattern(series: Column, slot: str, slots: int) -> Column:
    """The mean of `bytes_in` in each slot over the mean of all; null in slots never seen."""

    def over_mean(place: Column) -> Column:
        return mean_of(F.filter(series, lambda point: point[slot] == place)) / F.nullif(
            mean_of(series), F.lit(0.0)
        )

    return F.transform(F.sequence(F.lit(0), F.lit(slots - 1)), over_mean)


def mean_of(points: Column, figure: str = "bytes_in") -> Column:
    """The bytes per sample of all points together; exact sums, so in any order the same."""
    total = total_of(points, figure).cast("double")
    return total / F.nullif(total_of(points, "samples"), F.lit(0))


def total_of(points: Column, figure: str) -> Column:
    """The sum of a whole figure."""
    return F.aggregate(points, F.lit(0).cast("long"), lambda sum_, point: sum_ + point[figure])


def daily(series: Column) -> Column:
    """The series of daily means: `t` is the day's first second, `i` and `o` are in and out."""

    def of_day(day: Column) -> Column:
        points = F.filter(series, lambda point: point["day"] == day)
        means = [mean_of(points, "bytes_in").alias("i"), mean_of(points, "bytes_out").alias("o")]
        return F.struct((day * DAY_S).alias("t"), *means)

    first, last = F.element_at(series, 1)["day"], F.element_at(series, -1)["day"]
    return F.filter(F.transform(F.sequence(first, last), of_day), lambda d: d["i"].isNotNull())


def at_rank(ordered: Column, share: float) -> Column:
    """The nearest-rank percentile of an ascending array; null of an empty one."""
    rank = F.greatest(F.ceil(F.lit(share) * F.size(ordered)).cast("int"), F.lit(1))
    return F.get(ordered, rank - 1)


def middle(ordered: Column) -> Column:
    """The median of an ascending array, between the two in the middle if there are two."""
    last = F.size(ordered) - 1
    low = F.get(ordered, F.floor(last / 2).cast("int"))
    high = F.get(ordered, F.ceil(last / 2).cast("int"))
    return (low + high) / 2


def share_of(values: Column, sign: int) -> Column:
    """The share of an array that has the sign."""
    matching = F.size(F.filter(values, lambda v: v * sign > 0))
    return matching.cast("double") / F.greatest(F.size(values), F.lit(1))
