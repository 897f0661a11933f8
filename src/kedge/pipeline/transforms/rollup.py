"""Rolls samples up by replica and window of 300 s.

A window holds the samples with `window_start <= ts < window_start + 300 s`. All values are
integers, so the sums are exact and do not depend on the order of addition.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.models.courses import SUMMED
from kedge.pipeline.schemas import BROKER_KEY, REPLICA_KEY

WINDOW_S = 300
ROLLUP_INPUT = ("is_leader", "size_bytes", "bytes_in", "bytes_out", "isr")  # beside key and `ts`


def window_start(ts: str = "ts", window_s: int = WINDOW_S) -> Column:
    """The start of the window of a timestamp."""
    seconds = F.unix_seconds(ts)
    return F.timestamp_seconds(seconds - F.pmod(seconds, F.lit(window_s)))


def roll_up(
    samples: DataFrame, *, by: Sequence[str] = REPLICA_KEY, window_s: int = WINDOW_S
) -> DataFrame:
    """One row per replica and window: sums, the last size, and the range of the ISR size."""
    windowed = samples.withColumn("window_start", window_start(window_s=window_s))
    is_leader = F.col("is_leader")
    return windowed.groupBy(*by, "window_start").agg(
        F.count(F.lit(1)).alias("rows"),
        F.sum("bytes_in").alias("bytes_in"),
        F.sum("bytes_out").alias("bytes_out"),
        F.sum(F.when(is_leader, 1).otherwise(0)).alias("leader_rows"),
        F.sum(F.when(is_leader, F.col("bytes_in")).otherwise(0)).alias("leader_bytes_in"),
        F.sum(F.when(is_leader, F.col("bytes_out")).otherwise(0)).alias("leader_bytes_out"),
        F.max("ts").alias("last_ts"),
        F.max_by("size_bytes", "ts").alias("last_size"),
        F.max("size_bytes").alias("max_size_bytes"),
        F.min("isr").alias("min_isr"),
        F.max("isr").alias("max_isr"),
    )


def roll_up_brokers(rollup: DataFrame) -> DataFrame:
    """The same as `models.courses.broker_course`, for more rows than one process should hold."""
    summed = [F.sum(name).alias(name) for name in SUMMED]
    return rollup.groupBy(*BROKER_KEY, "window_start").agg(
        *summed,
        F.max("rows").alias("samples"),
        F.sum("last_size").alias("size"),
        F.max("max_size_bytes").alias("max_size_bytes"),
    )
