"""Section `pipeline_days`: a day's new rows on top of 90 days of history, beside a day alone.

Both are the whole command `kedge pipeline ingest` in a fresh process on files of equal size. If
runs cost in proportion to what is new, both take the same time. The counts are checked.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.pipeline.engines import TIMEOUT_S, WrongAnswer
from bench.pipeline.processes import CommandCost, run_measured
from bench.report import BenchRow, BenchSection, Timing

HISTORY_DAYS = 90
PARTITIONS, REPLICATION, BROKERS = 40, 2, 6
SAMPLES_PER_DAY, INTERVAL_S = 1440, 60
FIRST_DAY_S = 1_767_571_200  # 5 January 2026
ROUNDS = 2
HEAP = "2g"


@dataclass(frozen=True, slots=True)
class Runs:
    """The costs of the rounds, and the rows that the run read from tables and wrote."""

    costs: tuple[CommandCost, ...]
    rows: Mapping[str, int]

    @property
    def timing(self) -> Timing:
        """Seconds of the median and of the best round."""
        walls = sorted(cost.wall for cost in self.costs)
        return Timing(walls[len(walls) // 2], walls[0])


def run(days: int = HISTORY_DAYS, rounds: int = ROUNDS) -> BenchSection:
    """Ingest the history once, then the last day on top of it and alone, in turns."""
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        directory = Path(scratch)
        write_reference(directory)
        for day in range(days + 1):
            write_day(directory / ("last" if day == days else "history") / f"{day}.parquet", day)
        history, _ = _ingest(directory, "history", directory / "tables")
        costs: dict[str, list[CommandCost]] = {"on top": [], "alone": []}
        rows: dict[str, Mapping[str, int]] = {}
        for _ in range(rounds):
            for name in costs:
                output = directory / "out"
                shutil.rmtree(output, ignore_errors=True)
                if name == "on top":
                    shutil.copytree(directory / "tables", output)
                cost, rows[name] = _ingest(directory, "last", output)
                _check(output, days + 1 if name == "on top" else 1)
                costs[name].append(cost)
                print(_note(name, Runs((cost,), rows[name])), file=sys.stderr, flush=True)
        found = {name: Runs(tuple(costs[name]), rows[name]) for name in costs}
    return section(found, days, history)


def section(found: Mapping[str, Runs], days: int, history: CommandCost) -> BenchSection:
    """The section of the page."""
    row = BenchRow(
        f"a day on top of {days} days",
        found["on top"].timing,
        "the same day alone",
        found["alone"].timing,
    )
    each = PARTITIONS * REPLICATION * SAMPLES_PER_DAY
    return BenchSection(
        "pipeline_days",
        "Pipeline: a day on top of its history",
        f"`kedge pipeline ingest` of one day, {each:,} rows, into tables that have {days} days of "
        f"such rows, and into empty tables: the whole command in a fresh process. A ratio of 1 "
        "means that the history costs nothing.",
        (row,),
        (
            *(_note(name, runs) for name, runs in found.items()),
            f"The history of {days * each:,} rows was ingested in {history.wall:.0f} s.",
        ),
    )


def _note(name: str, runs: Runs) -> str:
    walls = " and ".join(f"{cost.wall:.1f}" for cost in runs.costs)
    cpus = " and ".join(f"{cost.cpu:.1f}" for cost in runs.costs)
    read, written = runs.rows["rows_read"], runs.rows["rows_written"]
    return (
        f"A day {name}: {walls} s, {cpus} CPU s; {read:,} rows read from tables, "
        f"{written:,} rows written."
    )


def _ingest(directory: Path, source: str, output: Path) -> tuple[CommandCost, dict[str, int]]:
    options = {
        "--input": directory / source,
        "--brokers": directory / "brokers.parquet",
        "--assignment": directory / "assignment.parquet",
        "--tables": output,
        "--driver-memory": HEAP,
    }
    words = [str(word) for pair in options.items() for word in pair]
    program = str(Path(sys.executable).with_name("kedge"))
    command = [program, "pipeline", "ingest", "--format", "parquet", *words]
    _, cost = run_measured(command, timeout_s=TIMEOUT_S)
    listed = subprocess.run(
        [program, "pipeline", "runs", "--tables", str(output), "--output", "json"],
        capture_output=True,
        check=True,
    )
    last: dict[str, Any] = max(json.loads(listed.stdout), key=lambda run: run["number"])
    return cost, {name: int(last[name]) for name in ("rows_read", "rows_written")}


def _check(output: Path, days: int) -> None:
    """WrongAnswer unless the models have the samples of all days."""
    from kedge.pipeline.table_reader import Tables

    table = Tables(output).open("gold/partition_load").to_pyarrow_table(columns=["n"])
    found, wanted = sum(table.column("n").to_pylist()), days * PARTITIONS * SAMPLES_PER_DAY
    if found != wanted:
        raise WrongAnswer(f"kedge, partition_load: {found} samples, not {wanted}")


# ---- the rows -----------------------------------------------------------------------------------


def write_reference(directory: Path) -> None:
    """Write the tables of brokers and of the assignment."""
    brokers = pa.array(range(BROKERS), pa.int32())
    pq.write_table(
        pa.table({"cluster": ["c"] * BROKERS, "broker": brokers}), directory / "brokers.parquet"
    )
    replicas = [[(p + r) % BROKERS for r in range(REPLICATION)] for p in range(PARTITIONS)]
    assignment = pa.table(
        {
            "cluster": ["c"] * PARTITIONS,
            "topic": [f"topic-{p % 5}" for p in range(PARTITIONS)],
            "partition": pa.array(range(PARTITIONS), pa.int32()),
            "replicas": pa.array(replicas, pa.list_(pa.int32())),
        }
    )
    pq.write_table(assignment, directory / "assignment.parquet")


def write_day(path: Path, day: int) -> None:
    """Write one day: traffic with a daily pattern, a calmer weekend and noise; sizes grow."""
    path.parent.mkdir(exist_ok=True)
    dice = np.random.default_rng(day)
    shape = (SAMPLES_PER_DAY, PARTITIONS, REPLICATION)
    minute, partition, replica = (index.ravel() for index in np.indices(shape))
    hour = 1 + 0.5 * np.sin(minute / SAMPLES_PER_DAY * 2 * np.pi)
    rate = 50_000 * (1 + partition) * hour * (0.6 if day % 7 >= 5 else 1.0)
    seconds = FIRST_DAY_S + day * 86_400 + minute * INTERVAL_S
    noise = dice.lognormal(0, 0.3, SAMPLES_PER_DAY * PARTITIONS)
    bytes_in = (rate * np.repeat(noise, REPLICATION)).astype(np.int64)
    size = 10**9 + (day * SAMPLES_PER_DAY + minute) * 10_000 * (1 + partition)
    times = pa.timestamp("us", tz="UTC")
    count = len(minute)
    table = pa.table(
        {
            "cluster": pa.array(["c"] * count),
            "broker": pa.array((partition + replica) % BROKERS, pa.int32()),
            "topic": pa.array([f"topic-{p % 5}" for p in partition.tolist()]),
            "partition": pa.array(partition, pa.int32()),
            "ts": pa.array(seconds * 10**6, pa.int64()).cast(times),
            "ingest_ts": pa.array((seconds + 5) * 10**6, pa.int64()).cast(times),
            "seq": pa.array(day * SAMPLES_PER_DAY + minute),
            "is_leader": pa.array(replica == 0),
            "size_bytes": pa.array(size),
            "bytes_in": pa.array(bytes_in),
            "bytes_out": pa.array(np.where(replica == 0, 2 * bytes_in, 0)),
            "isr": pa.array(np.full(count, REPLICATION), pa.int32()),
            "rf": pa.array(np.full(count, REPLICATION), pa.int32()),
        }
    )
    pq.write_table(table, path)
