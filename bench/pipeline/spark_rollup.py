"""The roll-up on Spark, by the pipeline's own transforms."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench.pipeline.processes import print_rounds
from kedge.pipeline import sinks
from kedge.pipeline.jobs.merge import shuffle_width
from kedge.pipeline.reference import BROKERS, read_reference, write_reference
from kedge.pipeline.session import SessionSettings, spark_session
from kedge.pipeline.sources.files import Format, find_files, new_files
from kedge.pipeline.sources.frames import raw_rows
from kedge.pipeline.transforms import ROLLED, Rules, dedupe, good, roll_up, with_known, with_replica
from kedge.pipeline.transforms.replica import replica_load


def samples(session: SparkSession, directory: Path, reference: Path) -> DataFrame:
    """Valid, timely, unique samples of all files, by the number of their replica."""
    files = new_files(find_files(directory / "raw_parquet", Format.PARQUET), Format.PARQUET, ())
    brokers = session.read.parquet(str(reference / BROKERS))
    raw = raw_rows(session, files, Format.PARQUET, traced=False)
    known = with_known(with_replica(raw), brokers=brokers)
    width = shuffle_width(sum(file.rows for file in files))
    narrow = good(known, rules=Rules()).select("replica", "ts", "seq", *ROLLED)
    return dedupe(narrow, partitions=width)


def main(directory: Path, output: Path, rounds: int, heap: str) -> None:
    """Measure the rounds and print their cost."""
    reference = directory / "reference"
    found = read_reference(directory / "brokers.parquet", directory / "assignment.parquet")
    write_reference(found, reference)

    with spark_session(SessionSettings(driver_memory=heap)) as session:

        def work() -> None:
            rolled = roll_up(samples(session, directory, reference), by=("replica",))
            sinks.write(rolled, output / "rollup")
            kept = session.read.parquet(str(output / "rollup"))
            sinks.write(replica_load(kept, by=("replica",)), output / "model")

        print_rounds(work, output, rounds, [os.getpid(), jvm_of(session)])


def jvm_of(session: SparkSession) -> int:
    """The process of the driver's JVM."""
    java: Any = session.sparkContext._jvm
    return int(java.java.lang.ProcessHandle.current().pid())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
