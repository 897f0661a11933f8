"""The roll-up on Spark with the transforms of the pipeline."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from bench.pipeline.processes import print_rounds
from kedge.model.arrow import Table, arrow
from kedge.pipeline import sinks
from kedge.pipeline.in_process.newest_rows import newest_rows
from kedge.pipeline.jobs.merge import shuffle_partitions
from kedge.pipeline.models.courses import roll_up
from kedge.pipeline.models.key_index import Numbers, Reals, ints, starts_of
from kedge.pipeline.reference import read_reference
from kedge.pipeline.schemas import BROKER_KEY
from kedge.pipeline.session import SessionSettings, spark_session
from kedge.pipeline.sources.packed_samples import map_buckets, new_samples, packed_rows
from kedge.pipeline.sources.sample_files import Format, find_files, new_files
from kedge.pipeline.transforms import ROLLUP_INPUT, WINDOW_S, ValidationRules

DAY_S = 86_400
ROLLUP_DDL: Final = (
    "replica long, window_start timestamp, rows long, bytes_in long, bytes_out long, "
    "leader_rows long, leader_bytes_in long, leader_bytes_out long, last_ts timestamp, "
    "last_size long, max_size_bytes long, min_isr int, max_isr int"
)
SUMMED: Final = ("rows", "bytes_in", "bytes_out")
MODEL_DDL: Final = (
    "replica long, windows long, rows long, bytes_in long, bytes_out long, "
    "growth_bytes_per_day double, p50 long, p95 long, max long"
)


def rollup(session: SparkSession, directory: Path, brokers: Sequence[tuple[str, int]]) -> DataFrame:
    """The roll-up of the valid, deduplicated samples of all files, by the hash of the replica."""
    files = new_files(find_files(directory / "raw_parquet", Format.PARQUET), Format.PARQUET, ())
    width = shuffle_partitions(sum(file.rows for file in files))
    sources = new_samples(files, brokers=brokers, rules=ValidationRules())
    packed = packed_rows(session, sources, ("ts", "seq", *ROLLUP_INPUT), buckets=width)
    return map_buckets(packed, rolled_up, ROLLUP_DDL, buckets=width)


def rolled_up(samples: Table) -> Table:
    """The roll-up of some replicas."""
    return roll_up(newest_rows(samples), window_s=WINDOW_S, by=("replica",))


def replica_load(rollup: DataFrame, *, tasks: int) -> DataFrame:
    """One row per replica: sums, exact percentiles of its windows by nearest rank, and growth.

    Workers compute it, all windows of some replicas each, as they do the models of the pipeline.
    """

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        found = [*batches]
        if found:
            yield from modelled(arrow().Table.from_batches(found)).to_batches()

    narrow = rollup.select("replica", "window_start", *SUMMED, "last_size")
    return narrow.repartition(tasks, "replica").mapInArrow(work, MODEL_DDL)


def modelled(windows: Table) -> Table:
    """The model of each replica of some windows.

    Growth is the slope of the regression line of the sizes, in bytes per day; null if there is
    only one window.
    """
    numbers = {name: ints(windows.column(name)) for name in windows.column_names}
    order = np.lexsort((numbers["bytes_in"], numbers["replica"]))
    replica, bytes_in = numbers["replica"][order], numbers["bytes_in"][order]
    starts = starts_of(replica)
    counts = np.diff(np.append(starts, len(order)))
    days = numbers["window_start"][order] / (DAY_S * 1_000_000)
    growth = slopes(days, numbers["last_size"][order].astype(float), starts, counts)
    sums = {name: np.add.reduceat(numbers[name][order], starts) for name in SUMMED}
    at_ranks = {
        name: bytes_in[starts + np.maximum(np.ceil(share * counts).astype(int), 1) - 1]
        for name, share in {"p50": 0.5, "p95": 0.95, "max": 1.0}.items()
    }
    slope = {"growth_bytes_per_day": arrow().array(growth, mask=np.isnan(growth))}
    columns = {"replica": replica[starts], "windows": counts, **sums, **slope, **at_ranks}
    return arrow().table(columns)


def slopes(x: Reals, y: Reals, starts: Numbers, counts: Numbers) -> Reals:
    """The slope of the regression line of each group; NaN if all of its x are equal."""
    x, y = (v - np.repeat(np.add.reduceat(v, starts) / counts, counts) for v in (x, y))
    spread = np.add.reduceat(x * x, starts)
    spread[spread == 0] = np.nan
    return np.add.reduceat(x * y, starts) / spread


def main(directory: Path, output: Path, rounds: int, heap: str) -> None:
    """Measure the rounds and print their cost."""
    found = read_reference(directory / "brokers.parquet", directory / "assignment.parquet")
    listed = found.brokers.select(list(BROKER_KEY)).to_pydict()
    brokers = list(zip(*listed.values(), strict=True))

    with spark_session(SessionSettings(driver_memory=heap)) as session:

        def work() -> None:
            sinks.write(rollup(session, directory, brokers), str(output / "rollup"))
            kept = session.read.parquet(str(output / "rollup"))
            tasks = SessionSettings().partitions
            sinks.write(replica_load(kept, tasks=tasks), str(output / "model"))

        print_rounds(work, output, rounds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
