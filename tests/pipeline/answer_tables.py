"""Small tables with known figures, written without Spark, for commands that only read tables.

One cluster `c` with two brokers of 1 TB. Each topic has four partitions with both brokers as
replicas. Broker 1 holds 100 GB and grows by 90 GB a day, broker 2 holds 200 GB and grows by 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kedge.pipeline.finding_history import record_findings
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.reference import Reference, write_reference
from kedge.pipeline.warehouse import open_warehouse

MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)
WINDOWS, WINDOW_S = 24, 300
END = MIDNIGHT + timedelta(seconds=WINDOWS * WINDOW_S)
USED = {1: (100e9, 90e9), 2: (200e9, 10e9)}  # bytes at the end, and bytes a day
FINDINGS = pa.schema(
    [
        *(("kind", pa.string()), ("cluster", pa.string()), ("broker", pa.int32())),
        *(("topic", pa.string()), ("partition", pa.int32()), ("value", pa.float64())),
        *(("threshold", pa.float64()), ("why", pa.string())),
    ]
)


def finding(kind: str, value: float, **subject: Any) -> dict[str, Any]:
    return {"kind": kind, "cluster": "c", "value": value, "threshold": 1.0, "why": "so", **subject}


def write_run(
    root: Path,
    *,
    findings: Sequence[dict[str, Any]] = (),
    disk: int | None = 10**12,
    disks: tuple[int | None, int | None] | None = None,
    topics: Sequence[str] = ("clicks", "orders"),
    health: pa.Table | None = None,
    without: Sequence[str] = (),
) -> Path:
    """Publish one more run of the tables; `without` leaves tables of gold out."""
    tables = {
        "broker_course": broker_course(),
        "rollup": rollup(topics),
        "window_load": pa.table({"cluster": ["c"] * WINDOWS, "window_start": starts()}),
        "partition_load": partition_load(topics),
        "partition_course": partition_course(topics),
        "findings": pa.Table.from_pylist(list(findings), schema=FINDINGS),
    }
    if health is not None:
        tables["broker_health"] = health
    with open_warehouse(root, "run") as warehouse, warehouse.stage() as staged:
        for name, table in tables.items():
            by_day = name.endswith("course") or name == "rollup"
            if name not in without:
                staged.write_arrow(f"gold/{name}", table, "2026-01-05" if by_day else None)
        if "findings" not in without and "window_load" not in without:
            record_findings(staged)
        write_reference(reference(disks or (disk, disk), topics), staged)
        warehouse.publish(staged, Manifest())
    return root


def starts() -> list[datetime]:
    return [MIDNIGHT + timedelta(seconds=WINDOW_S * window) for window in range(WINDOWS)]


def broker_course() -> pa.Table:
    """Sizes are those at the end of a window; 60 MB come in per window, 30 of them as leader."""
    ends = (1 + np.arange(WINDOWS) - WINDOWS) * WINDOW_S / 86_400
    return pa.table(
        {
            "cluster": ["c"] * 2 * WINDOWS,
            "broker": pa.array([1] * WINDOWS + [2] * WINDOWS, pa.int32()),
            "window_start": starts() * 2,
            "bytes_in": [60_000_000] * 2 * WINDOWS,
            "bytes_out": [90_000_000] * 2 * WINDOWS,
            "leader_bytes_in": [30_000_000] * 2 * WINDOWS,
            "samples": [5] * 2 * WINDOWS,
            "size": np.concatenate([used + growth * ends for used, growth in USED.values()]).astype(
                np.int64
            ),
        }
    )


def replicas_of(topics: Sequence[str]) -> list[tuple[str, int, int]]:
    return [(topic, number, broker) for topic in topics for number in range(4) for broker in (1, 2)]


def rollup(topics: Sequence[str]) -> pa.Table:
    rows = [
        {
            "cluster": "c",
            "topic": topic,
            "partition": number,
            "broker": broker,
            "window_start": start,
            "bytes_in": 1000 + number,
            "leader_bytes_in": 1000 + number if broker == 1 else 0,
            "bytes_out": 500 if broker == 1 else 0,
            "last_size": 10**9 + number,
        }
        for topic, number, broker in replicas_of(topics)
        for start in starts()
    ]
    return pa.Table.from_pylist(rows)


def partition_load(topics: Sequence[str]) -> pa.Table:
    keys = [(topic, number) for topic in topics for number in range(4)]
    return pa.table(
        {
            "cluster": ["c"] * len(keys),
            "topic": [topic for topic, _ in keys],
            "partition": pa.array([number for _, number in keys], pa.int32()),
            "last_size": [10**9] * len(keys),
            "growth_bytes_per_day": [17 * 10**9] * len(keys),
            "sum": [1000] * len(keys),
            "n": [10] * len(keys),
        }
    )


def partition_course(topics: Sequence[str]) -> pa.Table:
    rows = [
        {
            "cluster": "c",
            "topic": topic,
            "partition": number,
            "window_start": start,
            "bytes_in": 7,
            "size": 100 * place,
            "min_isr": 2,
        }
        for topic in topics
        for number in range(4)
        for place, start in enumerate(starts())
    ]
    return pa.Table.from_pylist(rows)


def reference(disks: tuple[int | None, int | None], topics: Sequence[str]) -> Reference:
    brokers = pa.table(
        {
            "cluster": ["c", "c"],
            "broker": pa.array([1, 2], pa.int32()),
            "rack": ["r1", "r2"],
            "disk_capacity_bytes": pa.array(disks, pa.int64()),
        }
    )
    keys = [(topic, number) for topic in topics for number in range(4)]
    assignment = pa.table(
        {
            "cluster": ["c"] * len(keys),
            "topic": [topic for topic, _ in keys],
            "partition": pa.array([number for _, number in keys], pa.int32()),
            "replicas": pa.array([[1, 2]] * len(keys), pa.list_(pa.int32())),
            "leader": pa.array([1] * len(keys), pa.int32()),
        }
    )
    return Reference(brokers, assignment, assignment)
