"""Detects findings: each has a value, the threshold that it exceeds, and a sentence.

| kind           | of         | value                                                           |
|----------------|------------|-----------------------------------------------------------------|
| hot_broker     | broker     | bytes in of its typical leader ÷ those of the median broker     |
| skewed_topic   | topic      | bytes in of the busiest partition ÷ an even share               |
| isr_flapping   | partition  | windows in which the ISR changed                                |
| growing        | partition  | growth over the observed time ÷ its size                        |
| disk_full_soon | broker     | days until its disk is full                                     |
| led_elsewhere  | broker     | partitions that prefer this broker and are led by another       |

The typical leader is the geometric mean of the leaders' rates: traffic is so uneven that the sum of
a broker depends on its largest partition. One large partition is a skewed topic; a hot broker is
one whose leaders are busy as a whole. A broker is hot only if it is also near the hottest of its
cluster, because smaller deviations are chance. With few leaders per broker, chance can still hide a
hot broker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kedge.pipeline.schemas import BROKER_KEY, PARTITION_KEY


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds from which on a value is a finding."""

    hot_ratio: float = 1.8
    hot_near_hottest: float = 0.95  # on the logarithmic scale
    skew_ratio: float = 5.0
    skew_partitions_min: int = 4
    flapping_windows: int = 3
    flapping_share: float = 0.1
    growth_share: float = 0.01  # over the observed time; stable sizes vary by less
    growth_share_per_day: float = 0.05
    growth_rising: float = 0.8  # fraction of the slopes
    disk_days: float = 14.0


def all_findings(
    *,
    partitions: DataFrame,
    brokers: DataFrame,
    assignment: DataFrame,
    thresholds: Thresholds,
) -> DataFrame:
    """The findings of all kinds."""
    found = [
        hot_brokers(partitions, assignment, thresholds),
        skewed_topics(partitions, thresholds),
        flapping_partitions(partitions, thresholds),
        growing_partitions(partitions, thresholds),
        filling_disks(brokers, thresholds),
        misplaced_leaders(led_elsewhere(assignment)),
    ]
    return reduce(DataFrame.unionByName, found)


def hot_brokers(partitions: DataFrame, assignment: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Brokers whose leaders take in more than those of other brokers."""
    leader = F.coalesce(F.col("leader"), F.get("replicas", F.lit(0))).alias("broker")
    leaders = F.broadcast(assignment.select(*PARTITION_KEY, leader))
    totals = partitions.select(*PARTITION_KEY, F.col("sum").alias("bytes_in"), "n")
    led = totals.where("n > 0 and bytes_in > 0").join(leaders, [*PARTITION_KEY])
    heat = F.avg(F.log(F.col("bytes_in").cast("double") / F.col("n"))).alias("heat")
    of_broker = led.groupBy(*BROKER_KEY).agg(heat, F.sum("bytes_in").alias("bytes_in"))
    cluster = Window.partitionBy("cluster")
    above = F.col("heat") - F.median("heat").over(cluster)
    share = F.col("bytes_in").cast("double") / F.sum("bytes_in").over(cluster)
    rated = of_broker.select(*BROKER_KEY, above.alias("above"), share.alias("share"))
    hottest = F.max("above").over(cluster)
    near = F.col("above") >= hottest * thresholds.hot_near_hottest
    kept = rated.withColumn("near", near).where("near")
    hot = kept.where(F.col("above") >= math.log(thresholds.hot_ratio))
    ratio = F.round(F.exp("above"), 3)
    why = F.format_string(
        "broker %d leads partitions that take %.1f times the bytes of the median broker's; "
        "%.0f %% of the cluster's bytes come in there",
        *("broker", F.exp("above"), F.col("share") * 100),
    )
    return _finding_rows(hot, "hot_broker", ratio, thresholds.hot_ratio, why, BROKER_KEY)


def skewed_topics(partitions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Topics with one partition far above an even share."""
    mean = F.col("sum").cast("double") / F.col("n")
    busiest = F.max(F.struct(mean.alias("mean"), (-F.col("partition")).alias("id")))
    topics = (
        partitions.where("n > 0")
        .groupBy("cluster", "topic")
        .agg(busiest.alias("busiest"), F.avg(mean).alias("even"), F.count(F.lit(1)).alias("count"))
    )
    rated = topics.select(
        *("cluster", "topic", "count"),
        (-F.col("busiest.id")).alias("partition"),
        F.round(F.col("busiest.mean") / F.nullif("even", F.lit(0.0)), 3).alias("ratio"),
    )
    skewed = rated.where(
        (F.col("count") >= thresholds.skew_partitions_min)
        & (F.col("ratio") >= thresholds.skew_ratio)
    )
    why = F.format_string(
        "partition %d of %s takes %.1f times an even share of its topic's bytes (%d partitions)",
        *("partition", "topic", "ratio", "count"),
    )
    return _finding_rows(
        skewed, "skewed_topic", F.col("ratio"), thresholds.skew_ratio, why, PARTITION_KEY
    )


def flapping_partitions(partitions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Partitions whose ISR changes in many windows."""
    often = F.col("isr_windows") >= F.greatest(
        F.lit(thresholds.flapping_windows), F.col("windows") * thresholds.flapping_share
    )
    why = F.format_string(
        "the ISR of %s-%d changed in %d of %d windows, down to %d",
        *("topic", "partition", "isr_windows", "windows", "min_isr"),
    )
    value, least = F.col("isr_windows").cast("double"), float(thresholds.flapping_windows)
    return _finding_rows(partitions.where(often), "isr_flapping", value, least, why, PARTITION_KEY)


def growing_partitions(partitions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Partitions that grow steadily, by more than the usual variation of sizes."""
    size = F.greatest(F.col("last_size").cast("double"), F.lit(1.0))
    a_day = F.col("growth_bytes_per_day") / size
    seen = F.col("growth_bytes_per_day") * (F.col("span_s") / 86_400.0) / size
    grows = partitions.withColumns({"a_day": a_day, "seen": seen}).where(
        (F.col("seen") >= thresholds.growth_share)
        & (F.col("a_day") >= thresholds.growth_share_per_day)
        & (F.col("rising") >= thresholds.growth_rising)
    )
    why = F.format_string(
        "%s-%d grows by %.2f GB a day, %.0f %% of its size; it rose by %.1f %% in %.1f hours",
        *("topic", "partition", F.col("growth_bytes_per_day") / 1e9, F.col("a_day") * 100),
        *(F.col("seen") * 100, F.col("span_s") / 3600.0),
    )
    value = F.round("seen", 4)
    return _finding_rows(grows, "growing", value, thresholds.growth_share, why, PARTITION_KEY)


def filling_disks(brokers: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Brokers whose disk will be full soon."""
    full = brokers.where(F.col("days_to_full") <= thresholds.disk_days)
    later = F.coalesce(F.format_string("%.1f", "days_to_full_high"), F.lit("never"))
    why = F.format_string(
        "the disk of broker %d is full in %.1f days (%.1f to %s): %.0f %% used, %.2f GB more a day",
        *("broker", "days_to_full", "days_to_full_low", later),
        F.col("used_bytes") * 100.0 / F.col("disk_capacity_bytes"),
        F.col("growth_bytes_per_day") / 1e9,
    )
    value = F.round("days_to_full", 3)
    return _finding_rows(full, "disk_full_soon", value, thresholds.disk_days, why, BROKER_KEY)


def led_elsewhere(assignment: DataFrame) -> DataFrame:
    """Per broker: the partitions that prefer it as leader, and those of them led by others."""
    preferred = F.get("replicas", F.lit(0))
    elsewhere = F.col("leader").isNotNull() & (F.col("leader") != F.col("broker"))
    named = F.concat_ws("-", "topic", F.col("partition").cast("string"))
    return (
        assignment.withColumn("broker", preferred)
        .groupBy(*BROKER_KEY)
        .agg(
            F.count(F.lit(1)).alias("preferring"),
            F.sum(F.when(elsewhere, 1).otherwise(0)).alias("elsewhere"),
            F.min(F.when(elsewhere, named)).alias("example"),
        )
    )


def misplaced_leaders(elsewhere: DataFrame) -> DataFrame:
    """Brokers that do not lead all partitions of which they are the preferred leader."""
    why = F.format_string(
        "%d of the %d partitions that prefer broker %d are led by others, such as %s",
        *("elsewhere", "preferring", "broker", "example"),
    )
    value = F.col("elsewhere").cast("double")
    return _finding_rows(
        elsewhere.where("elsewhere > 0"), "led_elsewhere", value, 1.0, why, BROKER_KEY
    )


def _finding_rows(
    rows: DataFrame, kind: str, value: Column, threshold: float, why: Column, key: Sequence[str]
) -> DataFrame:
    types = {"cluster": "string", "broker": "int", "topic": "string", "partition": "int"}
    named = [
        (F.col(name) if name in key else F.lit(None)).cast(type_).alias(name)
        for name, type_ in types.items()
    ]
    rated = [value.alias("value"), F.lit(threshold).alias("threshold"), why.alias("why")]
    return rows.select(F.lit(kind).alias("kind"), *named, *rated)
