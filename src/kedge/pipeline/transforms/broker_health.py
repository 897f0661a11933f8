"""Latencies and flush times of brokers, one row per broker and minute, from measurements."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kedge.analytics.slow_brokers import MEASUREMENTS

MINUTE_MS = 60_000


def broker_health(measurements: DataFrame) -> DataFrame:
    """The mean of each measurement in each minute; null where there is none."""
    wanted = measurements.where(F.col("series").isin(*MEASUREMENTS) & ~F.isnan("value"))
    minute = (F.floor(F.col("ts_ms") / MINUTE_MS) * MINUTE_MS).cast("long")
    values = [F.avg(F.when(F.col("series") == n, F.col("value"))).alias(n) for n in MEASUREMENTS]
    by = ("cluster", "broker", F.timestamp_millis(minute).alias("ts"))
    return wanted.groupBy(*by).agg(*values)
