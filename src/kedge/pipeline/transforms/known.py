"""Whose row is it? Each row gets the number of its replica, and whether its broker is known.

Keys are compared by one number, a hash of their columns (64 bits): no table is looked up, and what
is moved and sorted is narrow. Two of a million replicas share a number with a chance of one in 37
million. The hash of cluster and broker, on the way to it, is what known brokers are found by.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import BROKER_KEY


def with_replica(rows: DataFrame) -> DataFrame:
    """The rows with the number of their broker (`holder`) and of their replica (`replica`)."""
    numbered = rows.withColumn("holder", F.xxhash64(*BROKER_KEY))
    return numbered.withColumn("replica", F.xxhash64("holder", "topic", "partition"))


def with_known(rows: DataFrame, *, brokers: DataFrame) -> DataFrame:
    """The numbered rows, and whether their broker is in the table (`known`)."""
    listed = brokers.select(F.xxhash64(*BROKER_KEY).alias("holder")).distinct()
    table = F.broadcast(listed.withColumn("listed", F.lit(True)))
    joined = rows.join(table, "holder", "left")
    known = F.col("listed").isNotNull().alias("known")
    return joined.select(*(F.col(name) for name in rows.columns if name != "holder"), known)
