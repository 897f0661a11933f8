"""Models of tables that grow by days, without Spark: equal to those of one run over all days."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kedge.pipeline.jobs.closed_days import BROKER_HISTORY, PARTITION_HISTORY, plan_days
from kedge.pipeline.jobs.model_runner import ModelRunner
from kedge.pipeline.manifest import Day, Manifest
from kedge.pipeline.models.disk_use import broker_disk_use
from kedge.pipeline.models.key_index import on_days
from kedge.pipeline.tables.staged_run import StagedRun
from kedge.pipeline.warehouse import Warehouse, open_warehouse
from tests.pipeline.drawn_courses import course

LOADS = ("gold/partition_load", "gold/broker_load")


def day_name(day: int) -> str:
    return f"2026-01-{5 + day:02d}"


def rollup_of(day: int, seed: int) -> pa.Table:
    """The roll-up of three partitions on two brokers; the first one leads."""
    windows = course(3, [day], seed)
    parts: list[pa.Table] = []
    for broker in (1, 2):
        led = windows.column("samples") if broker == 1 else pa.array([0] * len(windows))
        figures: dict[str, Any] = {
            "broker": pa.array([broker] * len(windows), pa.int32()),
            "rows": pa.array([5] * len(windows)),
            "leader_rows": led,
            "leader_bytes_in": windows.column("bytes_in"),
            "leader_bytes_out": windows.column("bytes_out"),
            "last_ts": windows.column("window_start"),
            "last_size": windows.column("size"),
            "max_size_bytes": windows.column("size"),
        }
        table = windows.drop_columns(["samples", "size"])
        for name, column in figures.items():
            table = table.append_column(name, column)
        parts.append(table)
    return pa.concat_tables(parts)


def silver_of(day: int, seed: int) -> pa.Table:
    keys = course(3, [day], seed).select(["cluster", "topic", "partition", "bytes_in", "bytes_out"])
    return keys.append_column("is_leader", pa.array([n % 4 != 0 for n in range(len(keys))]))


def run(warehouse: Warehouse, days: Sequence[int], changed: Sequence[int], seed: int) -> StagedRun:
    """Write the changed days and the models, as a run does after Spark's part."""
    counts = {day_name(day): Day(100, 100) for day in days}
    manifest = Manifest(days=counts)
    with warehouse.stage() as staged:
        for day in changed:
            staged.write_arrow("gold/rollup", rollup_of(day, seed), day_name(day))
            staged.write_arrow("silver", silver_of(day, seed), day_name(day))
        names = [day_name(day) for day in changed]
        none: Any = None  # no session: nothing is large
        runner = ModelRunner(none, staged, manifest)
        runner.write_courses(names)
        runner.write_partition_load(plan_days(staged, PARTITION_HISTORY, manifest, names))
        disks = broker_disk_use(
            staged.read("gold/partition_load"), replicas=_replicas(), brokers=_brokers()
        )
        runner.write_broker_load(plan_days(staged, BROKER_HISTORY, manifest, names), disks)
        warehouse.publish(staged, manifest)
    return staged


def _replicas() -> pa.Table:
    keys = (
        course(3, [0])
        .select(["cluster", "topic", "partition"])
        .group_by(["cluster", "topic", "partition"])
    )
    found = keys.aggregate([])
    return found.append_column("broker", pa.array([1] * len(found), pa.int32()))


def _brokers() -> pa.Table:
    numbers = pa.array([1, 2], pa.int32())
    return pa.table(
        {"cluster": ["c", "c"], "broker": numbers, "disk_capacity_bytes": [10**12, 10**12]}
    )


def loads(staged: StagedRun) -> dict[str, list[dict[str, Any]]]:
    return {name: staged.read(name).to_pylist() for name in LOADS}


@pytest.mark.parametrize("seed", range(8))
def test_days_that_arrive_in_any_order_give_the_models_of_one_run(
    seed: int, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    every = list(range(9))
    with open_warehouse(tmp_path / "once", "once") as warehouse:
        wanted = loads(run(warehouse, every, every, seed))
    order = every if seed % 2 else dice.sample(every, len(every))
    with open_warehouse(tmp_path / "often", "often") as warehouse:
        there: list[int] = []
        found: dict[str, list[dict[str, Any]]] = {}
        while order:
            new, order = order[: (size := dice.randint(1, 3))], order[size:]
            again = dice.sample(there, 1) if there and dice.random() < 0.3 else []
            there = sorted({*there, *new})
            found = loads(run(warehouse, there, sorted({*new, *again}), seed))
    assert found == wanted


def test_a_new_day_reads_the_history_and_the_open_days(tmp_path: Path) -> None:
    with open_warehouse(tmp_path / "often", "often") as warehouse:
        run(warehouse, range(12), range(12), 1)
        many = run(warehouse, range(13), [12], 1)
    with open_warehouse(tmp_path / "short", "short") as warehouse:
        run(warehouse, range(4), range(4), 1)
        few = run(warehouse, range(5), [4], 1)
    assert abs(many.rows_read - few.rows_read) < len(silver_of(0, 1)) // 2


def test_a_change_of_a_closed_day_makes_the_history_anew(tmp_path: Path) -> None:
    with open_warehouse(tmp_path / "tables", "t") as warehouse:
        run(warehouse, range(6), range(6), 1)
        manifest = Manifest(days={day_name(day): Day(1, 1) for day in range(6)})
        with warehouse.stage() as staged:
            kept = plan_days(staged, PARTITION_HISTORY, manifest, [day_name(5)])
            late = plan_days(staged, PARTITION_HISTORY, manifest, [day_name(1)])
            fewer = Manifest(days={day_name(day): Day(1, 1) for day in range(1, 6)})
            removed = plan_days(staged, PARTITION_HISTORY, fewer, ())
    assert (kept.valid, kept.to_close, kept.open) == (True, (), (day_name(4), day_name(5)))
    assert (late.valid, late.to_close) == (False, tuple(day_name(day) for day in range(4)))
    assert (removed.valid, removed.closed[0]) == (False, day_name(1))


def test_times_are_on_their_day_in_utc() -> None:
    table = pa.table({"window_start": pa.array([0], pa.timestamp("us", tz="UTC"))})
    assert on_days(table.column("window_start"), ["1970-01-01"]).to_pylist() == [True]
    assert on_days(table.column("window_start"), []).to_pylist() == [False]
