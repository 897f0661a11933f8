"""Deletes files that no kept run needs: replaced ones, and those that killed runs have left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any

from kedge.pipeline.tables.delta_log import commit_error, conflict, open_version, strict
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import RUNS, Run
from kedge.pipeline.tables.staged_run import SCRATCH


def optimise(location: Location, table: str, version: int) -> int:
    """Merge small files of each partition; return the version after it."""
    errors: Any = import_module("deltalake.exceptions")
    opened = open_version(location, table)
    if opened.version() != version:
        raise conflict(location)
    try:
        with location.errors(table):
            opened.optimize.compact(commit_properties=strict({"kind": "compact"}))
    except errors.DeltaError as error:
        raise commit_error(location, error) from error
    opened.update_incremental()
    return int(opened.version())


def delete_unused(location: Location, kept: Sequence[Run], unused_days: float) -> int:
    """Delete files that were replaced some days ago and that the kept runs do not have."""
    hours, count = int(timedelta(days=unused_days).total_seconds() // 3600), 0
    for table in (*kept[-1].versions, RUNS):
        opened = open_version(location, table)
        pinned = [run.versions[table] for run in kept if table in run.versions]
        with location.errors(table):
            deleted = opened.vacuum(
                retention_hours=hours,
                dry_run=False,
                enforce_retention_duration=False,
                full=True,
                keep_versions=pinned or None,
            )
        count += len(deleted)
    _delete_scratch(location, time.time() - hours * 3600)
    return count


def _delete_scratch(location: Location, before_s: float) -> None:
    """Delete scratch directories without a file that is newer."""
    for name in location.names(SCRATCH):
        files = [info for info in location.list(f"{SCRATCH}/{name}") if info.is_file]
        if all((info.mtime_ns or 0) / 1e9 < before_s for info in files):
            location.delete(f"{SCRATCH}/{name}")
