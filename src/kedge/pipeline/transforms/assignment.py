"""What the assignment makes of the loads: brokers that fill up, leaders out of place."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import BROKER_KEY, PARTITION_KEY


def held_by_brokers(partitions: DataFrame, *, replicas: DataFrame, brokers: DataFrame) -> DataFrame:
    """What the replicas of each broker hold, how that grows, and when its disk is full.

    The range of a partition's growth is half the distance of its quartiles; those of different
    partitions are taken as independent, so their squares add up. Days are those from the last
    sample on; null where a disk does not fill up, or nobody said how large it is.
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


def led_elsewhere(assignment: DataFrame) -> DataFrame:
    """For each broker, the partitions that prefer it as leader, and those that it does not lead."""
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
