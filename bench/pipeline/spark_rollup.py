"""The roll-up on Spark with the transforms of the pipeline."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.pipeline.processes import print_rounds
from kedge.pipeline import sinks
from kedge.pipeline.jobs.merge import shuffle_partitions
from kedge.pipeline.reference import read_reference
from kedge.pipeline.schemas import BROKER_KEY
from kedge.pipeline.session import SessionSettings, spark_session
from kedge.pipeline.sources.file_reader import read_raw_rows
from kedge.pipeline.sources.sample_files import Format, find_files, new_files
from kedge.pipeline.transforms import (
    ROLLUP_INPUT,
    ValidationRules,
    dedupe,
    roll_up,
    valid_rows,
    with_known_broker,
    with_replica_hash,
)

DAY_S = 86_400


def samples(
    session: SparkSession, directory: Path, brokers: Sequence[tuple[str, int]]
) -> DataFrame:
    """The valid, deduplicated samples of all files with the hashes of their replicas."""
    files = new_files(find_files(directory / "raw_parquet", Format.PARQUET), Format.PARQUET, ())
    raw = read_raw_rows(session, files, Format.PARQUET, provenance=False)
    known = with_known_broker(with_replica_hash(raw), brokers=brokers)
    width = shuffle_partitions(sum(file.rows for file in files))
    narrow = valid_rows(known, rules=ValidationRules()).select(
        "replica", "ts", "seq", *ROLLUP_INPUT
    )
    return dedupe(narrow, partitions=width)


def replica_load(rollup: DataFrame, *, by: Sequence[str]) -> DataFrame:
    """One row per replica: sums, exact percentiles of its windows by nearest rank, and growth.

    Growth is the slope of the regression line of the sizes, in bytes per day. Sums and percentiles
    are two aggregations: Spark generates no code for sums beside a collected list.
    """
    seconds = F.unix_seconds("window_start").cast("double")
    growth = F.regr_slope(F.col("last_size"), seconds) * DAY_S
    sums = rollup.groupBy(*by).agg(
        F.count(F.lit(1)).alias("windows"),
        F.sum("rows").alias("rows"),
        F.sum("bytes_in").alias("bytes_in"),
        F.sum("bytes_out").alias("bytes_out"),
        growth.alias("growth_bytes_per_day"),
    )
    lists = rollup.groupBy(*by).agg(F.sort_array(F.collect_list("bytes_in")).alias("ordered"))
    ranks = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    at_ranks = [
        percentile_of_sorted(F.col("ordered"), share).alias(name) for name, share in ranks.items()
    ]
    return sums.join(lists.select(*by, *at_ranks), [*by])


def percentile_of_sorted(ordered: Column, share: float) -> Column:
    """The nearest-rank percentile of an ascending array."""
    rank = F.greatest(F.ceil(F.lit(share) * F.size(ordered)).cast("int"), F.lit(1))
    return F.get(ordered, rank - 1)


def main(directory: Path, output: Path, rounds: int, heap: str) -> None:
    """Measure the rounds and print their cost."""
    found = read_reference(directory / "brokers.parquet", directory / "assignment.parquet")
    listed = found.brokers.select(list(BROKER_KEY)).to_pydict()
    brokers = list(zip(*listed.values(), strict=True))

    with spark_session(SessionSettings(driver_memory=heap)) as session:

        def work() -> None:
            rolled = roll_up(samples(session, directory, brokers), by=("replica",))
            sinks.write(rolled, str(output / "rollup"))
            kept = session.read.parquet(str(output / "rollup"))
            sinks.write(replica_load(kept, by=("replica",)), str(output / "model"))

        print_rounds(work, output, rounds, [os.getpid(), jvm_of(session)])


def jvm_of(session: SparkSession) -> int:
    """The process id of the driver's JVM."""
    java: Any = session.sparkContext._jvm
    return int(java.java.lang.ProcessHandle.current().pid())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
