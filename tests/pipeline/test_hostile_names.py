"""Cluster names that are paths: nothing is written outside the tables and the plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kedge.balance import Goals
from kedge.files import read_snapshot
from kedge.pipeline.fanout.fleet_plans import SUMMARY, FleetRequest, fleet
from kedge.pipeline.fanout.map_rows import rows_of_table
from kedge.pipeline.fanout.verify_plans import VerifyRequest, verify_plans
from kedge.pipeline.jobs.ingest import IngestRequest, IngestResult
from kedge.pipeline.sources.sample_files import Format

NAMES = ["../../../pwned", ".hidden", "x.json", "x"]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def _request(directory: Path) -> IngestRequest:
    """A broker, a partition and a sample for each cluster."""
    (directory / "raw").mkdir(parents=True)
    brokers = [{"cluster": name, "broker": 1} for name in NAMES]
    placed = [
        {"cluster": name, "topic": "t", "partition": 0, "replicas": [1], "leader": 1}
        for name in NAMES
    ]
    sample = {"broker": 1, "topic": "t", "partition": 0, "seq": 1, "is_leader": True}
    times = {"ts": "2026-01-01T00:00:00Z", "ingest_ts": "2026-01-01T00:00:05Z"}
    figures = {"size_bytes": 7, "bytes_in": 60, "bytes_out": 60, "isr": 1, "rf": 1}
    lines = (json.dumps({"cluster": name, **sample, **times, **figures}) for name in NAMES)
    (directory / "raw" / "a.jsonl").write_text("\n".join(lines))
    return IngestRequest(
        directory / "raw",
        Format.JSONL,
        _write(directory / "brokers.parquet", brokers),
        _write(directory / "assignment.parquet", placed),
        directory / "deep" / "down" / "history",
    )


@pytest.mark.real
def test_a_cluster_with_a_path_as_name_is_written_within_the_tables(
    ingesting: Callable[[IngestRequest], IngestResult],
    opened: Callable[[], AbstractContextManager[SparkSession]],
    tmp_path: Path,
) -> None:
    request = _request(tmp_path / "in")
    before = {path for path in tmp_path.rglob("*") if "history" not in path.parts}
    assert ingesting(request).accounts.kept == len(NAMES)
    tables = Path(str(request.tables))
    snapshots = tables / "gold" / "snapshot"
    assert sorted(read_snapshot(path).cluster_id or "" for path in snapshots.iterdir()) == sorted(
        NAMES
    )
    out = tables.parent / "plans"
    rows = rows_of_table(fleet(FleetRequest(tables, out, Goals(tolerance=0.1)), opened))
    assert sorted(row["cluster"] for row in rows) == sorted(NAMES)
    assert {path.name for path in out.iterdir()} == {SUMMARY, *(row["plan"] for row in rows)}
    checked = rows_of_table(verify_plans(VerifyRequest(out, snapshots), opened))
    assert [row["severity"] for row in checked] == ["ok"] * len(NAMES)
    assert len({row["snapshot"] for row in checked}) == len(NAMES)
    after = {p for p in tmp_path.rglob("*") if not {"history", "plans"} & set(p.parts)}
    assert after - before == {tables.parent, tables.parent.parent}
