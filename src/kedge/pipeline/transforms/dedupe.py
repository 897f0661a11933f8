"""Deduplicates samples: of the rows with one key, the one with the highest `seq` is kept.

The key of a sample is (cluster, broker, topic, partition, ts). Another row with the kept `seq` is a
duplicate; a row with a lower one is superseded. A silver row counts the rows of its `seq`
(`copies`), so that the result is the same whether rows arrive in one run or in several:

| run | rows of one key, as `seq`  | silver after it   | duplicates | superseded |
|-----|----------------------------|-------------------|------------|------------|
| 1   | 4, 4                       | seq 4, copies 2   | 1          | 0          |
| 2   | 5, 3                       | seq 5, copies 1   | 0          | 3          |

Rows of one `seq` should be equal. If they differ, the one with the largest values is kept, and of
those the one that arrived first, so that the result does not depend on the order of reading.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kedge.pipeline.schemas import ATTRIBUTION_COLUMNS, SAMPLE_COLUMNS

BLOCK_S, SLOT_S = 1800, 300
TIE_BREAKERS = ("size_bytes", "bytes_in", "bytes_out", "isr", "is_leader", "rf")


def dedupe(rows: DataFrame, *, partitions: int) -> DataFrame:
    """One row per key, with the number of its `copies`.

    The input has `replica`, `ts`, `seq` and the columns of a sample that the caller needs: narrow
    rows are cheaper to shuffle. All rows of a replica are in one partition of the result, in the
    order of time. This is the only shuffle between the source files and silver.
    """
    ties = [F.col(name) for name in TIE_BREAKERS if name in rows.columns]
    if "ingest_ts" in rows.columns:
        ties.append(F.col("ingest_ts").desc())
    order = [F.col(name) for name in ("block", "replica", "ts", "seq")]
    blocked = rows.withColumn("block", _sort_block())
    sorted_rows = blocked.repartition(partitions, "replica").sortWithinPartitions(*order, *ties)
    # The window needs the order that the sort has established: Spark adds no second sort.
    by_replica = Window.partitionBy("block", "replica").orderBy("ts", "seq")
    marked = sorted_rows.select(
        *(F.col(name) for name in sorted_rows.columns),
        F.lead("ts").over(by_replica).alias("next_ts"),
        (F.row_number().over(by_replica) - F.rank().over(by_replica) + 1)
        .cast("long")
        .alias("copies"),
    )
    last = F.col("next_ts").isNull() | (F.col("next_ts") != F.col("ts"))
    return marked.where(last).drop("next_ts", "block")


def _sort_block() -> Column:
    """Half hour, replica and five minutes in one integer, which decides most comparisons.

    The half hour comes first because rows arrive roughly in the order of time, so the sort moves
    rows less far in memory. The replica comes before the minutes because adjacent rows of one
    replica compress well. Any function of replica and time alone would give the same result.
    """
    half_hour = f"shiftleft(unix_seconds(ts) div {BLOCK_S}, 36)"
    replica = "shiftleft(shiftrightunsigned(replica, 31), 3)"
    return F.expr(f"{half_hour} | {replica} | pmod(unix_seconds(ts), {BLOCK_S}) div {SLOT_S}")


def expand_copies(silver: DataFrame) -> DataFrame:
    """Each silver row repeated `copies` times, to be deduplicated with new rows."""
    copies = F.explode(F.array_repeat(F.lit(True), F.col("copies").cast("int")))
    attributed = [name for name in ATTRIBUTION_COLUMNS if name in silver.columns]
    return silver.select("*", copies.alias("copy")).select(*SAMPLE_COLUMNS, *attributed)


def day_of(ts: str = "ts") -> Column:
    """The day of a timestamp in UTC, by which silver is partitioned."""
    return F.date_format(ts, "yyyy-MM-dd")
