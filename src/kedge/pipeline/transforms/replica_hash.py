"""Adds the 64-bit hash of each row's replica, and whether its broker is in the brokers table.

The hash replaces the four key columns in shuffles and sorts, and needs no look-up. The chance that
any two of a million replicas have the same hash is one in 37 million. A short table of brokers is a
condition of the query; a long one is joined, by the hash of cluster and broker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import BROKER_KEY

LISTED: Final = "cluster string, broker int"
CONDITION_MAX: Final = 400  # brokers: Spark compiles a list of so many integers to a switch


def with_replica_hash(rows: DataFrame) -> DataFrame:
    """The rows with the hash of their broker (`broker_hash`) and of their replica (`replica`)."""
    hashed = rows.withColumn("broker_hash", F.xxhash64(*BROKER_KEY))
    return hashed.withColumn("replica", F.xxhash64("broker_hash", "topic", "partition"))


def with_known_broker(rows: DataFrame, *, brokers: Sequence[tuple[str, int]]) -> DataFrame:
    """The hashed rows with `known`: whether their broker, by cluster and id, is listed."""
    if len(brokers) > CONDITION_MAX:
        return _joined(rows, rows.sparkSession.createDataFrame(brokers, LISTED))
    ids: defaultdict[str, list[int]] = defaultdict(list)
    for cluster, broker in brokers:
        ids[cluster].append(broker)
    of_cluster = [
        (F.col("cluster") == cluster) & F.col("broker").isin(listed)
        for cluster, listed in ids.items()
    ]
    known = reduce(lambda a, b: a | b, of_cluster, F.lit(False))
    return rows.withColumn("known", F.coalesce(known, F.lit(False))).drop("broker_hash")


def _joined(rows: DataFrame, brokers: DataFrame) -> DataFrame:
    listed = brokers.select(F.xxhash64(*BROKER_KEY).alias("broker_hash")).distinct()
    table = F.broadcast(listed.withColumn("listed", F.lit(True)))
    joined = rows.join(table, "broker_hash", "left")
    known = F.col("listed").isNotNull().alias("known")
    return joined.select(*(F.col(name) for name in rows.columns if name != "broker_hash"), known)
