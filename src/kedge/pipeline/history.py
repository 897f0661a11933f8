"""Keeping a history readable and bounded: many small files become few, and old days go.

Compaction rewrites the files of a day, sorted as they are, into one; it needs no Spark. Retention
removes days that lie further back from the last one than asked, and bronze, late and quarantined
rows of runs whose last row arrived before those that stay. The counts of what was removed stay in
the accounts. Gold is then made anew from the days that remain.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.errors import InvalidRequest
from kedge.files import parquet
from kedge.pipeline import sinks
from kedge.pipeline.manifest import Day, Manifest
from kedge.pipeline.warehouse import TABLES, Staged, owned, published

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_DAY = ("silver", "gold/rollup", "gold/partition_course", "gold/broker_course")
BY_RUN = ("bronze", "late", "quarantine")
ROWS_PER_GROUP = 1_000_000


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction has done."""

    files_before: int
    files_after: int
    days_removed: tuple[str, ...]
    rows_removed: int


def compact(
    output: Path,
    run_id: str,
    *,
    keep_days: int | None,
    session: Callable[[], AbstractContextManager[SparkSession]],
) -> Compacted:
    """Merge the files of each day, and drop days older than asked (None keeps all)."""
    if keep_days is not None and keep_days < 1:
        raise InvalidRequest(f"to keep {keep_days} days", hint="keep one day at least")
    published(output)
    with owned(output, run_id) as warehouse, warehouse.change() as staged:
        before = replace(warehouse.manifest, run_id=run_id)
        for table in TABLES:
            staged.carry(table)
        count = len(sinks.parquet_files(staged.directory))
        after, removed = _without_old(staged, before, keep_days)
        for table in BY_DAY:
            for part in sorted(staged.path(table).glob("dt=*")):
                merge_files(part)
        if removed:
            _remake_gold(staged, after, session)
        after.accounts.check()
        left = len(sinks.parquet_files(staged.directory))
        warehouse.publish(staged, after)
    rows = sum(before.days[day].rows for day in removed)
    return Compacted(count, left, tuple(removed), rows)


def _without_old(
    staged: Staged, manifest: Manifest, keep_days: int | None
) -> tuple[Manifest, Sequence[str]]:
    if keep_days is None or not manifest.days:
        return manifest, ()
    last = date.fromisoformat(max(manifest.days))
    first = last - timedelta(days=keep_days - 1)
    old = sorted(day for day in manifest.days if day < first.isoformat())
    for table in BY_DAY:
        for day in old:
            shutil.rmtree(staged.path(table, f"dt={day}"), ignore_errors=True)
    _drop_old_runs(staged, first)
    days = {day: counts for day, counts in manifest.days.items() if day not in old}
    retired = sum((manifest.days[day] for day in old), manifest.retired)
    return replace(manifest, days=days, retired=Day(retired.rows, retired.copies)), old


def _drop_old_runs(staged: Staged, first: date) -> None:
    """A run goes when its last row arrived earlier; what it refused goes with it."""
    cut = datetime.combine(first, time())
    for run in sorted(staged.path("bronze").glob("run_id=*")):
        span = sinks.range_of(run, "ingest_ts")
        if span is not None and span[1] < cut:
            for table in BY_RUN:
                shutil.rmtree(staged.path(table, run.name), ignore_errors=True)


def _remake_gold(
    staged: Staged,
    manifest: Manifest,
    session: Callable[[], AbstractContextManager[SparkSession]],
) -> None:
    from kedge.pipeline.jobs.gold import refresh_gold

    shutil.rmtree(staged.path("gold", "snapshot"), ignore_errors=True)
    with session() as spark:
        refresh_gold(spark, staged, manifest=manifest, changed=())


def merge_files(directory: Path) -> None:
    """The rows of a directory's files in one file, in the order of the files' names."""
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
