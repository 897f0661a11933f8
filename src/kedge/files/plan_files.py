"""Reads plans and Kafka's reassignment files, and keeps the snapshot of a plan beside it.

A certificate can be verified only with the snapshot that its plan was made from. The snapshot of a
live cluster exists nowhere else, so it is written next to the plan:

    plan.json    plan.snapshot.json.gz    or, for large clusters, the directory plan.snapshot

The plan has the snapshot's digest: a snapshot of another plan is not used.
"""

from __future__ import annotations

import os
from pathlib import Path

from kedge.files import (
    read_bytes,
    read_snapshot,
    sha256_of_snapshot,
    with_path_context,
    write_snapshot,
)
from kedge.model import Snapshot
from kedge.plan import Plan, ReassignmentFile, is_plan, parse_execute, parse_plan


def read_plan_file(path: str | os.PathLike[str]) -> Plan | ReassignmentFile:
    """The plan in a file, or the moves of a file that Kafka's tools take."""
    data = read_bytes(path)
    with with_path_context(Path(path)):
        return parse_plan(data) if is_plan(data) else parse_execute(data.decode(errors="replace"))


PARQUET_FROM_PARTITIONS = 100_000  # from here, Parquet is read several times as fast as JSON


def write_plan_snapshot(
    snapshot: Snapshot, plan: Path, *, parquet_from: int = PARQUET_FROM_PARTITIONS
) -> Path:
    """Write the snapshot of a plan beside the plan's file; returns where."""
    packed, directory = _snapshot_paths(plan)
    path = packed if len(snapshot) < parquet_from else directory
    write_snapshot(snapshot, path)
    return path


def find_plan_snapshot(path: Path, plan: Plan) -> tuple[Path, Snapshot] | None:
    """The snapshot beside a plan's file, if the plan was made from it."""
    for candidate in _snapshot_paths(path):
        if plan.snapshot_sha256 is not None and candidate.exists():
            snapshot = read_snapshot(candidate)
            if sha256_of_snapshot(snapshot) == plan.snapshot_sha256:
                return candidate, snapshot
    return None


def _snapshot_paths(plan: Path) -> tuple[Path, Path]:
    stem = plan.name.removesuffix(".gz").removesuffix(".json")
    return plan.with_name(f"{stem}.snapshot.json.gz"), plan.with_name(f"{stem}.snapshot")
