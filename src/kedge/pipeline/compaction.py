"""Compaction merges the small files of each day; retention removes old days.

Compaction concatenates the files of a day into one, in their order; it needs no Spark. Retention
removes days older than the given number of days before the last one, and the bronze, late and
quarantine rows of runs whose last row arrived before the first day that stays. The counts of
removed rows stay in the accounts. Gold is then rebuilt from the days that remain.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from kedge.errors import InvalidRequest
from kedge.files import parquet
from kedge.pipeline import sinks
from kedge.pipeline.jobs.context import SessionFactory
from kedge.pipeline.manifest import Day, Manifest
from kedge.pipeline.warehouse import (
    MEASUREMENTS,
    TABLES,
    StagedVersion,
    open_warehouse,
    published_version,
)

BY_DAY = (
    *("silver", "gold/rollup", "gold/partition_course", "gold/broker_course"),
    *("measurements/topics", "measurements/brokers"),
)
BY_RUN = ("bronze", "late", "quarantine")
ROWS_PER_GROUP = 1_000_000


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """Files before and after, and the days and rows removed."""

    files_before: int
    files_after: int
    days_removed: tuple[str, ...]
    rows_removed: int


def compact(
    tables: Path,
    run_id: str,
    *,
    keep_days: int | None,
    session: SessionFactory,
) -> CompactionResult:
    """Merge the files of each day, and remove days beyond `keep_days` (None keeps all)."""
    if keep_days is not None and keep_days < 1:
        raise InvalidRequest(f"retention of {keep_days} days", hint="keep at least one day")
    published_version(tables)
    with open_warehouse(tables, run_id) as warehouse, warehouse.stage() as staged:
        before = replace(warehouse.manifest, run_id=run_id)
        for table in TABLES:
            if table != MEASUREMENTS:  # a staged version has them already
                staged.link_current(table)
        files_before = len(sinks.parquet_files(staged.directory))
        after, removed = _apply_retention(staged, before, keep_days)
        for table in BY_DAY:
            for part in sorted(staged.path(table).glob("dt=*")):
                merge_files(part)
        if removed:
            _rebuild_gold(staged, after, session)
        after.accounts.check()
        files_after = len(sinks.parquet_files(staged.directory))
        warehouse.publish(staged, after)
    rows = sum(before.days[day].rows for day in removed)
    return CompactionResult(files_before, files_after, tuple(removed), rows)


def _apply_retention(
    staged: StagedVersion, manifest: Manifest, keep_days: int | None
) -> tuple[Manifest, Sequence[str]]:
    if keep_days is None or not manifest.days:
        return manifest, ()
    last = date.fromisoformat(max(manifest.days))
    first = last - timedelta(days=keep_days - 1)
    old = sorted(day for day in manifest.days if day < first.isoformat())
    for table in BY_DAY:
        for day in old:
            shutil.rmtree(staged.path(table, f"dt={day}"), ignore_errors=True)
    _remove_old_runs(staged, first)
    days = {day: counts for day, counts in manifest.days.items() if day not in old}
    retired = sum((manifest.days[day] for day in old), manifest.retired)
    return replace(manifest, days=days, retired=Day(retired.rows, retired.copies)), old


def _remove_old_runs(staged: StagedVersion, first: date) -> None:
    """Remove runs whose last row arrived before the first day, with their rejected rows."""
    cutoff = datetime.combine(first, time())
    for run in sorted(staged.path("bronze").glob("run_id=*")):
        span = sinks.time_range(run, "ingest_ts")
        if span is not None and span[1] < cutoff:
            for table in BY_RUN:
                shutil.rmtree(staged.path(table, run.name), ignore_errors=True)


def _rebuild_gold(
    staged: StagedVersion,
    manifest: Manifest,
    session: SessionFactory,
) -> None:
    from kedge.pipeline.jobs.gold import refresh_gold

    shutil.rmtree(staged.path("gold", "snapshot"), ignore_errors=True)
    with session() as spark:
        refresh_gold(spark, staged, manifest=manifest, changed=())


def merge_files(directory: Path) -> None:
    """Concatenate the files of a directory into one, in the order of their names."""
    files = sinks.parquet_files(directory)
    if len(files) < 2:
        return
    merged = directory / f".{files[0].name}.merging"
    writer: Any = None
    for file in files:
        source: Any = parquet().ParquetFile(file)
        if writer is None:
            writer = parquet().ParquetWriter(merged, source.schema_arrow, compression="zstd")
        for batch in source.iter_batches(ROWS_PER_GROUP):
            writer.write_batch(batch)
    writer.close()
    for file in files:
        file.unlink()
    merged.rename(files[0])
