"""Gold of many runs equals that of one: splits of rows into runs, corrections, copies, old days."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kedge.pipeline.jobs.closed_days import PARTITION_HISTORY, plan_days
from kedge.pipeline.jobs.ingest import IngestRequest
from kedge.pipeline.jobs.model_runner import ModelRunner
from kedge.pipeline.sources.sample_files import Format
from kedge.pipeline.warehouse import open_warehouse
from tests.pipeline.conftest import Ingesting
from tests.pipeline.oracle import rows, state

pytestmark = pytest.mark.real
START = datetime(2026, 3, 2, tzinfo=UTC)
DAYS = 6
COURSES = ("gold/partition_course", "gold/broker_course")
SCHEMA = pa.schema(
    [
        *(("cluster", pa.string()), ("broker", pa.int32()), ("topic", pa.string())),
        ("partition", pa.int32()),
        *((name, pa.timestamp("us", tz="UTC")) for name in ("ts", "ingest_ts")),
        *(("seq", pa.int64()), ("is_leader", pa.bool_())),
        *((name, pa.int64()) for name in ("size_bytes", "bytes_in", "bytes_out")),
        *(("isr", pa.int32()), ("rf", pa.int32())),
    ]
)


def drawn_rows(dice: random.Random, days: Sequence[int]) -> list[dict[str, Any]]:
    """Samples of two partitions, a row every two hours, some repeated and some corrected."""
    made: list[dict[str, Any]] = []
    for day in days:
        for minute in range(0, 1440, 120):
            for partition in (0, 1):
                ts = START + timedelta(days=day, minutes=minute + dice.randrange(100))
                bytes_in = dice.randrange(1000)
                row = {
                    "cluster": "c",
                    "broker": 1,
                    "topic": "t",
                    "partition": partition,
                    "ts": ts,
                    "ingest_ts": ts + timedelta(seconds=5),
                    "seq": 1,
                    "is_leader": True,
                    "size_bytes": 10**6 * (day + 1) + minute,
                    "rf": 1,
                    "bytes_in": bytes_in,
                    "bytes_out": 7 * partition,
                    "isr": 1,
                }
                made.append(row)
                if dice.random() < 0.1:
                    made.append(row)
                if dice.random() < 0.1:
                    made.append({**row, "seq": 2, "bytes_in": bytes_in + 5000})
    return made


def ingest_runs(
    runs: Sequence[Sequence[dict[str, Any]]], ingesting: Ingesting, directory: Path
) -> Path:
    """Ingest one file after the other."""
    inbox = directory / "inbox"
    inbox.mkdir(parents=True)
    pq.write_table(
        pa.table({"cluster": ["c"], "broker": pa.array([1], pa.int32())}),
        directory / "brokers.parquet",
    )
    placed = {"cluster": "c", "topic": "t", "replicas": [1]}
    assignment = pa.Table.from_pylist([{**placed, "partition": number} for number in (0, 1)])
    pq.write_table(assignment, directory / "assignment.parquet")
    for number, part in enumerate(runs):
        pq.write_table(pa.Table.from_pylist(list(part), schema=SCHEMA), inbox / f"{number}.parquet")
        reference = (directory / "brokers.parquet", directory / "assignment.parquet")
        request = IngestRequest(inbox, Format.PARQUET, *reference, directory / "history")
        ingesting(request)
    return directory / "history"


def split(dice: random.Random, made: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows in the order of their days, a few of them in a later or an earlier run."""
    cuts = sorted(dice.sample(range(1, DAYS), 3))
    parts: list[list[dict[str, Any]]] = [[] for _ in range(len(cuts) + 1)]
    for row in made:
        day = (row["ts"] - START).days
        home = sum(day >= cut for cut in cuts)
        parts[dice.randrange(len(parts)) if dice.random() < 0.05 else home].append(row)
    return parts


def content(tables: Path) -> dict[str, Any]:
    return {**state(tables), **{name: rows(tables, name) for name in COURSES}}


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 8))]
)
def test_any_split_of_rows_into_runs_gives_the_tables_of_one_run(
    seed: int, ingesting: Ingesting, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    made = drawn_rows(dice, range(DAYS))
    once = ingest_runs([made], ingesting, tmp_path / "once")
    parts = split(dice, made)
    often = ingest_runs(parts, ingesting, tmp_path / "often")
    assert content(often) == content(once)


def test_a_new_day_reads_the_history_and_not_the_closed_days(
    spark: SparkSession, ingesting: Ingesting, tmp_path: Path
) -> None:
    dice = random.Random(3)
    days = [drawn_rows(dice, [day]) for day in range(DAYS)]
    tables = ingest_runs([[row for day in days[:-1] for row in day], days[-1]], ingesting, tmp_path)
    with open_warehouse(tables, "probe") as warehouse, warehouse.stage() as staged:
        plan = plan_days(staged, PARTITION_HISTORY, warehouse.manifest, ["2026-03-07"])
        assert (plan.valid, plan.to_close, plan.open) == (True, (), ("2026-03-06", "2026-03-07"))
        assert plan.closed[-1] == "2026-03-05"
        late = plan_days(staged, PARTITION_HISTORY, warehouse.manifest, ["2026-03-03"])
        assert (late.valid, late.to_close) == (False, plan.closed)


def test_spark_and_its_workers_make_the_same_rollup_models_and_time_series(
    spark: SparkSession, ingesting: Ingesting, tmp_path: Path
) -> None:
    made = drawn_rows(random.Random(4), range(DAYS))
    first = [row for row in made if (row["ts"] - START).days < DAYS - 1]
    tables = ingest_runs([first, [row for row in made if row not in first]], ingesting, tmp_path)
    names = ("gold/rollup", "gold/partition_load", PARTITION_HISTORY, *COURSES)
    wanted = {name: rows(tables, name) for name in names}
    with open_warehouse(tables, "spark") as warehouse, warehouse.stage() as staged:
        runner = ModelRunner(lambda: spark, staged, warehouse.manifest, local_rows_max=0)
        runner.write_rollup(sorted(warehouse.manifest.days))
        runner.write_courses(sorted(warehouse.manifest.days))
        plan = plan_days(staged, PARTITION_HISTORY, warehouse.manifest, ())
        runner.write_partition_load(plan)  # from the history
        loads = staged.read("gold/partition_load").to_pylist()
        runner.write_partition_load(plan.anew())  # and from all days
        assert sorted(loads, key=str) == sorted(
            staged.read("gold/partition_load").to_pylist(), key=str
        )
        warehouse.publish(staged, warehouse.manifest)
    for name in names:
        assert rows(tables, name) == wanted[name]


def test_workers_read_all_days_again_if_the_history_lacks_a_percentile(
    spark: SparkSession, ingesting: Ingesting, tmp_path: Path
) -> None:
    """Two open days of larger loads move the median to values that six closed days did not keep."""
    first = drawn_rows(random.Random(5), [0])[0]
    made: list[dict[str, Any]] = []
    for minute in range(8 * 1440):
        ts = START + timedelta(minutes=minute)
        load = {"bytes_in": minute, "bytes_out": 2 * minute}
        made.append({**first, **load, "ts": ts, "ingest_ts": ts})
    tables = ingest_runs([made], ingesting, tmp_path)
    wanted = rows(tables, "gold/partition_load")
    with open_warehouse(tables, "spark") as warehouse, warehouse.stage() as staged:
        runner = ModelRunner(lambda: spark, staged, warehouse.manifest, local_rows_max=0)
        plan = plan_days(staged, PARTITION_HISTORY, warehouse.manifest, ())
        runner.write_partition_load(plan.anew())
        assert staged.rows_read > 2 * len(made)  # each sample was read twice
        warehouse.publish(staged, warehouse.manifest)
    assert rows(tables, "gold/partition_load") == wanted
