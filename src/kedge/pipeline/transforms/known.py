"""Whose row is it? Each row gets the number of its replica, and whether its broker is known.

Keys are compared by one number: a replica of the assignment has its own, any other one a hash of
its key below zero (63 bits). The assignment is looked up by a hash of the four columns (64 bits),
and the numbers of broker and partition are compared: reading names again would cost a tenth of
all time, to tell apart what differs by one chance in 10^19. Should two replicas of the assignment
have one hash, the first has it, and the other goes by its number below zero.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import BROKER_KEY, REPLICA_KEY
from kedge.pipeline.transforms.validate import all_of


def with_replica(rows: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """The rows with the number of their replica (`replica`)."""
    key = F.xxhash64(*REPLICA_KEY)
    numbers = {name: F.col(name).alias(f"their_{name}") for name in ("broker", "partition")}
    assigned = replicas.select("replica", key.alias("key"), *numbers.values())
    # one task has them all, so that they are made unique without a shuffle
    looked_up = F.broadcast(assigned.coalesce(1).dropDuplicates(["key"]))
    joined = rows.withColumn("key", key).join(looked_up, "key", "left")
    same = all_of(*(F.col(name) == F.col(f"their_{name}") for name in numbers))
    elsewhere = F.bitwise_not(F.col("key").bitwiseAND(F.lit(2**63 - 1)))
    number = F.when(same, F.col("replica")).otherwise(elsewhere)
    return joined.select(*(F.col(name) for name in rows.columns), number.alias("replica"))


def with_known(rows: DataFrame, *, brokers: DataFrame) -> DataFrame:
    """The numbered rows, and whether their broker is in the table (`known`).

    Every replica of the assignment is on a known broker: only rows of others are looked up.
    """
    theirs = {f"their_{name}": F.col(name) for name in BROKER_KEY}
    table = brokers.select(*(c.alias(n) for n, c in theirs.items())).distinct()
    table = F.broadcast(table.withColumn("listed", F.lit(True)))
    strange = {f"strange_{name}": F.when(F.col("replica") < 0, F.col(name)) for name in BROKER_KEY}
    asked = rows.withColumns(strange)
    match = [asked[f"strange_{name}"] == table[f"their_{name}"] for name in BROKER_KEY]
    joined = asked.join(table, match, "left")
    known = (F.col("replica") >= 0) | F.col("listed").isNotNull()
    return joined.select(*(F.col(name) for name in rows.columns), known.alias("known"))
