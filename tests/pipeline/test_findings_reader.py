"""Findings and their time series, read without Spark from tables that a test wrote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kedge.pipeline.findings_reader import read_findings, with_time_series
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.table_reader import Tables
from kedge.pipeline.warehouse import open_warehouse

MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        *(("kind", pa.string()), ("cluster", pa.string()), ("broker", pa.int32())),
        *(("topic", pa.string()), ("partition", pa.int32()), ("value", pa.float64())),
        *(("threshold", pa.float64()), ("why", pa.string())),
    ]
)


def finding(kind: str, value: float, **subject: Any) -> dict[str, Any]:
    return {"kind": kind, "cluster": "c", "value": value, "threshold": 1.0, "why": "", **subject}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    rows = [
        finding("growing", 0.5, topic="t", partition=0),
        finding("hot_broker", 2.0, broker=1),
        finding("hot_broker", 3.0, broker=2),
        finding("disk_full_soon", 9.0, broker=1),
        finding("disk_full_soon", 4.0, broker=2),
    ]
    root = tmp_path / "history"
    with open_warehouse(root, "run-1") as warehouse, warehouse.stage() as staged:
        staged.write_arrow("gold/findings", pa.Table.from_pylist(rows, schema=SCHEMA))
        for table, key in (
            ("partition_course", {"topic": "t", "partition": 0}),
            ("broker_course", {"broker": 2}),
        ):
            for day in range(3):
                staged.write_arrow(f"gold/{table}", points_of(day, key), f"2026-01-0{5 + day}")
        warehouse.publish(staged, Manifest())
    return root


def points_of(day: int, key: dict[str, Any]) -> pa.Table:
    """Two windows of a day, the later one first in the file."""
    points = [
        {
            "cluster": "c",
            "window_start": MIDNIGHT + timedelta(days=day, seconds=300 * window),
            "bytes_in": 10 * day + window,
            "size": None if window else 100 * day,
            **key,
        }
        for window in (1, 0)
    ]
    types = {"broker": pa.int32(), "partition": pa.int32(), "size": pa.int64()}
    table = pa.Table.from_pylist(points)
    fields = [pa.field(f.name, types.get(f.name, f.type)) for f in table.schema]
    return table.cast(pa.schema(fields))


def test_urgent_kinds_come_first_and_the_fewest_days_before_others(tables: Path) -> None:
    found = [(one.kind, one.value) for one in read_findings(Tables(tables))]
    assert found == [
        ("disk_full_soon", 4.0),
        ("disk_full_soon", 9.0),
        ("hot_broker", 3.0),
        ("hot_broker", 2.0),
        ("growing", 0.5),
    ]


def test_findings_are_filtered_by_kind_and_cluster(tables: Path) -> None:
    assert [one.subject for one in read_findings(Tables(tables), kind="growing")] == ["t-0"]
    assert [one.subject for one in read_findings(Tables(tables), kind="hot_broker")] == [
        *("broker 2", "broker 1"),
    ]
    assert read_findings(Tables(tables), cluster="other") == []


def test_a_finding_gets_the_time_series_of_its_own_figure_over_the_last_two_days(
    tables: Path,
) -> None:
    series = {
        (one.kind, one.subject): one.course
        for one in with_time_series(Tables(tables), read_findings(Tables(tables)))
    }
    assert series["hot_broker", "broker 2"] == [10.0, 11.0, 20.0, 21.0]
    assert series["growing", "t-0"] == [100.0, 200.0]  # sizes, without the null ones
    assert series["hot_broker", "broker 1"] == []


def test_tables_without_findings_have_none(tmp_path: Path) -> None:
    with open_warehouse(tmp_path / "h", "run-1") as warehouse, warehouse.stage() as staged:
        warehouse.publish(staged, Manifest())
    assert read_findings(Tables(tmp_path / "h")) == []
