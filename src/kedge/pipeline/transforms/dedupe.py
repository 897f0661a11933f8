"""One row for each sample: of rows with one key, the highest `seq` wins.

The key of a sample is (cluster, broker, topic, partition, ts). A row of the winner's `seq` is a
duplicate of it; a row of a lower one is superseded. A silver row counts its own duplicates
(`copies`), so that rows which arrive in a later run are judged as if all had arrived at once:

| run | rows of one key, as `seq`  | silver after it   | duplicates | superseded |
|-----|----------------------------|-------------------|------------|------------|
| 1   | 4, 4                       | seq 4, copies 2   | 1          | 0          |
| 2   | 5, 3                       | seq 5, copies 1   | 0          | 3          |

Rows of one `seq` should be equal. Should they not, the one with the greatest figures wins, and of
those the one that arrived first, so that the answer never hangs on the order of reading.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kedge.pipeline.schemas import SAMPLE_COLUMNS

BLOCK_S, STRETCH_S = 1800, 300
FIGURES = ("size_bytes", "bytes_in", "bytes_out", "isr", "is_leader", "rf")


def dedupe(rows: DataFrame, *, partitions: int) -> DataFrame:
    """One row for each key, with the number of its `copies`.

    The rows have `replica`, `ts`, `seq`, and those figures of a sample that are asked for: a row
    that is narrow is moved at less cost. Each replica is in one partition of the answer, its rows
    in order of time; this is the one shuffle of the pipeline's hot path.
    """
    ties = [F.col(name) for name in FIGURES if name in rows.columns]
    if "ingest_ts" in rows.columns:
        ties.append(F.col("ingest_ts").desc())
    order = [F.col(name) for name in ("stretch", "replica", "ts", "seq")]
    stretched = rows.withColumn("stretch", _stretch())
    placed = stretched.repartition(partitions, "replica").sortWithinPartitions(*order, *ties)
    # The window asks only for an order that the sort has given already, and keeps what it gave.
    course = Window.partitionBy("stretch", "replica").orderBy("ts", "seq")
    marked = placed.select(
        *(F.col(name) for name in placed.columns),
        F.lead("ts").over(course).alias("next_ts"),
        (F.row_number().over(course) - F.rank().over(course) + 1).cast("long").alias("copies"),
    )
    last = F.col("next_ts").isNull() | (F.col("next_ts") != F.col("ts"))
    return marked.where(last).drop("next_ts", "stretch")


def _stretch() -> Column:
    """Half hour, replica and five minutes in one number, so that sorting mostly compares that.

    The half hour comes first because rows arrive about in order of time: what is sorted and read
    together then lies together in memory. The replica comes before the minutes because neighbours
    that resemble each other pack well. Any number that replica and time alone decide would do.
    """
    half_hour = f"shiftleft(unix_seconds(ts) div {BLOCK_S}, 36)"
    replica = "shiftleft(shiftrightunsigned(replica, 31), 3)"
    return F.expr(f"{half_hour} | {replica} | pmod(unix_seconds(ts), {BLOCK_S}) div {STRETCH_S}")


def each_copy(silver: DataFrame) -> DataFrame:
    """Silver rows as often as they were seen: what they count for among new rows."""
    copies = F.explode(F.array_repeat(F.lit(True), F.col("copies").cast("int")))
    return silver.select("*", copies.alias("copy")).select(*SAMPLE_COLUMNS)


def day_of(ts: str = "ts") -> Column:
    """The day of an event in UTC, as text: what silver is partitioned by."""
    return F.date_format(ts, "yyyy-MM-dd")
