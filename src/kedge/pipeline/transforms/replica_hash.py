"""Adds the 64-bit hash of each row's replica, and whether its broker is in the brokers table.

The hash replaces the four key columns in shuffles and sorts, and needs no look-up. The chance that
any two of a million replicas have the same hash is one in 37 million. The hash of cluster and
broker is the join key with the brokers table.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import BROKER_KEY


def with_replica_hash(rows: DataFrame) -> DataFrame:
    """The rows with the hash of their broker (`broker_hash`) and of their replica (`replica`)."""
    hashed = rows.withColumn("broker_hash", F.xxhash64(*BROKER_KEY))
    return hashed.withColumn("replica", F.xxhash64("broker_hash", "topic", "partition"))


def with_known_broker(rows: DataFrame, *, brokers: DataFrame) -> DataFrame:
    """The hashed rows with `known`: whether their broker is in the brokers table."""
    listed = brokers.select(F.xxhash64(*BROKER_KEY).alias("broker_hash")).distinct()
    table = F.broadcast(listed.withColumn("listed", F.lit(True)))
    joined = rows.join(table, "broker_hash", "left")
    known = F.col("listed").isNotNull().alias("known")
    return joined.select(*(F.col(name) for name in rows.columns if name != "broker_hash"), known)
