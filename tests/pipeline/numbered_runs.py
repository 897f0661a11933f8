"""Runs without Spark that write their number to three tables, and what the tables then have."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa

from kedge.pipeline.manifest import Manifest
from kedge.pipeline.table_reader import Tables
from kedge.pipeline.tables.staged_run import StagedRun
from kedge.pipeline.warehouse import Place, Warehouse, open_warehouse

DAYS = ("2026-01-05", "2026-01-06")
NAMES = ("gold/findings", "gold/window_load", "silver")


def no_spark() -> AbstractContextManager[Any]:
    raise AssertionError("Spark was started")


def stage(warehouse: Warehouse, value: int) -> StagedRun:
    """A run that writes its number to three tables, to one day of one of them."""
    staged = StagedRun(warehouse.location, warehouse.run_id, warehouse.last)
    for name in NAMES[:2]:
        staged.write_arrow(name, pa.table({"value": [value]}))
    staged.write_arrow("silver", pa.table({"value": [value]}), DAYS[value % 2])
    return staged


def publish(root: Place, value: int) -> None:
    with open_warehouse(root, f"run-{value}") as warehouse:
        warehouse.publish(stage(warehouse, value), Manifest(run_id=f"run-{value}"))


def contents(root: Place, run: str = "") -> dict[str, list[int]]:
    tables = Tables(root, run)
    return {name: sorted(tables.read(name).column("value").to_pylist()) for name in NAMES}


def after(*values: int) -> dict[str, list[int]]:
    """What the tables have after runs with these values."""
    days = {value % 2: value for value in values}
    last = values[-1:]
    return {"gold/findings": list(last), "gold/window_load": list(last),
            "silver": sorted(days.values())}  # fmt: skip
