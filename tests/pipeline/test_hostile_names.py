"""Names of clusters that are paths: nothing is written outside of the tables and the plans."""

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
from kedge.pipeline.fanout.fleet import SUMMARY, FleetOrder, fleet
from kedge.pipeline.fanout.spread import rows_of
from kedge.pipeline.fanout.verify import Verification, verify_plans
from kedge.pipeline.jobs.ingest import Ingested, IngestOrder
from kedge.pipeline.sources.files import Format

NAMES = ["../../../pwned", ".hidden", "x.json", "x"]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def _order(directory: Path) -> IngestOrder:
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
    return IngestOrder(
        directory / "raw",
        Format.JSONL,
        _write(directory / "brokers.parquet", brokers),
        _write(directory / "assignment.parquet", placed),
        directory / "deep" / "down" / "history",
    )


@pytest.mark.real
def test_a_cluster_that_is_called_like_a_path_stays_within_the_tables(
    ingesting: Callable[[IngestOrder], Ingested],
    opened: Callable[[], AbstractContextManager[SparkSession]],
    tmp_path: Path,
) -> None:
    order = _order(tmp_path / "in")
    before = {path for path in tmp_path.rglob("*") if "history" not in path.parts}
    assert ingesting(order).accounts.kept == len(NAMES)
    snapshots = order.output / "gold" / "snapshot"
    assert sorted(read_snapshot(path).cluster_id or "" for path in snapshots.iterdir()) == sorted(
        NAMES
    )
    out = order.output.parent / "plans"
    rows = rows_of(fleet(FleetOrder(order.output, out, Goals(tolerance=0.1)), opened))
    assert sorted(row["cluster"] for row in rows) == sorted(NAMES)
    assert {path.name for path in out.iterdir()} == {SUMMARY, *(row["plan"] for row in rows)}
    checked = rows_of(verify_plans(Verification(out, snapshots), opened))
    assert [row["severity"] for row in checked] == ["ok"] * len(NAMES)
    assert len({row["snapshot"] for row in checked}) == len(NAMES)
    after = {p for p in tmp_path.rglob("*") if not {"history", "plans"} & set(p.parts)}
    assert after - before == {order.output.parent, order.output.parent.parent}
