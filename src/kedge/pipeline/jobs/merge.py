"""One batch of raw rows into bronze, silver, quarantine and late; batch and stream share it.

    raw ── judge ──► bronze/run_id=…/verdict=good|late|quarantined
    verdict=good  +  the days of silver that it touches  ── dedupe ──► those days anew

Rows are read from their source once. How many there are is told by the source (the footers of
Parquet), or counted on the way where it cannot tell; every other count is taken from the files that
were written. So the accounts close only if all agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from kedge.pipeline import sinks
from kedge.pipeline.jobs.progress import Progress, Silent
from kedge.pipeline.manifest import Day, Manifest, Settings
from kedge.pipeline.reference import BROKERS, REPLICAS
from kedge.pipeline.schemas import SAMPLE_COLUMNS, SILVER, SILVER_COLUMNS
from kedge.pipeline.transforms import (
    GOOD,
    LATE,
    QUARANTINED,
    Rules,
    day_of,
    dedupe,
    each_copy,
    judge,
    quarantine,
    with_replica,
)
from kedge.pipeline.warehouse import Staged

ROWS_PER_PARTITION = 1_500_000  # of a shuffle: what two tasks of 2 GiB sort without spilling much


@dataclass(frozen=True, slots=True)
class Batch:
    """Raw rows, the columns that say where they come from, and about how many they are.

    Where the source knows how many rows there are, `counted` is their number.
    """

    raw: DataFrame
    provenance: Sequence[str]
    rows: int
    run_id: str
    counted: int | None = None


def rules_of(settings: Settings) -> Rules:
    """How rows are judged in a directory with these settings."""
    return Rules(settings.allowed_lateness_s, settings.future_tolerance_s)


def merge(
    session: SparkSession,
    staged: Staged,
    batch: Batch,
    *,
    manifest: Manifest,
    progress: Progress | None = None,
) -> tuple[Manifest, list[str]]:
    """Write the tables up to silver; the manifest with this batch, and the days that changed.

    The reference tables are staged already. The caller publishes, or does not.
    """
    told = progress or Silent()
    told.stage("bronze", batch.rows)
    read, span = _write_bronze(session, staged, batch, manifest.settings)
    bronze = staged.path("bronze", f"run_id={batch.run_id}")
    told.stage("quarantine, late", batch.rows)
    late, by_reason = _write_refused(session, staged, batch, bronze)
    told.stage("silver", batch.rows)
    superseded, days = _write_silver(session, staged, bronze, span=span, before=manifest)
    counted = manifest.plus(
        rows_read=read, superseded=superseded, late=late, by_reason=by_reason, days=days
    )
    counted.accounts.check()
    return counted, sorted(days)


Span = tuple[datetime, datetime] | None


def _write_bronze(
    session: SparkSession, staged: Staged, batch: Batch, settings: Settings
) -> tuple[int, Span]:
    """The rows with their verdict; how many were read, and the times of the good ones."""
    staged.carry("bronze")
    brokers = session.read.parquet(str(staged.path("reference", BROKERS)))
    path, seen = staged.path("bronze", f"run_id={batch.run_id}"), Observation("read")
    raw = batch.raw
    if batch.counted is None:
        raw = raw.observe(seen, F.count(F.lit(1)).alias("rows"))
    sinks.write(judge(raw, brokers=brokers, rules=rules_of(settings)), path, by=("verdict",))
    read = int(seen.get["rows"]) if batch.counted is None else batch.counted
    return read, sinks.range_of(path / f"verdict={GOOD}", "ts")


def _write_refused(
    session: SparkSession, staged: Staged, batch: Batch, bronze: Path
) -> tuple[int, dict[str, int]]:
    """The rows that are late, and those in quarantine by their reason."""
    staged.carry("quarantine")
    staged.carry("late")
    refused = bronze / f"verdict={QUARANTINED}"
    by_reason: dict[str, int] = {}
    if refused.exists():
        rows = session.read.parquet(str(refused)).withColumn("verdict", F.lit(QUARANTINED))
        path = staged.path("quarantine", f"run_id={batch.run_id}")
        sinks.write(quarantine(rows, *batch.provenance), path, files=1)
        by_reason = sinks.counts_by(path, "reason")
    behind = bronze / f"verdict={LATE}"
    if not behind.exists():
        return 0, by_reason
    path = staged.path("late", f"run_id={batch.run_id}")
    rows = session.read.parquet(str(behind)).select(*SAMPLE_COLUMNS, *batch.provenance)
    sinks.write(rows, path, files=1)
    return sinks.rows_in(path), by_reason


def _write_silver(
    session: SparkSession, staged: Staged, bronze: Path, *, span: Span, before: Manifest
) -> tuple[int, dict[str, Day]]:
    """The days that the good rows fall on, anew; how many rows of theirs were superseded."""
    touched = _touched(before, span)
    for day in before.days:
        if day not in touched:
            staged.carry("silver", f"dt={day}")
    if span is None:
        return 0, {}
    rows, count = _with_days_before(session, staged, bronze / f"verdict={GOOD}", touched)
    replicas = session.read.parquet(str(staged.path("reference", REPLICAS)))
    unique = dedupe(with_replica(rows, replicas=replicas), partitions=shuffle_width(count))
    fresh = staged.path("scratch")
    sinks.write(unique.select(*SILVER_COLUMNS, day_of().alias("dt")), fresh, by=("dt",))
    days = sinks.days_in(fresh)
    sinks.move_parts(fresh, staged.path("silver"))
    entered = sinks.rows_in(bronze / f"verdict={GOOD}")
    entered += sum(before.days[day].copies for day in touched)
    return entered - sum(day.copies for day in days.values()), days


def _with_days_before(
    session: SparkSession, staged: Staged, good: Path, touched: Sequence[str]
) -> tuple[DataFrame, int]:
    """The new rows together with those that silver has of the same days, and their count."""
    fresh = session.read.parquet(str(good)).select(*SAMPLE_COLUMNS)
    count = sinks.rows_in(good)
    if not touched:
        return fresh, count
    paths = [staged.before("silver", f"dt={day}") for day in touched]
    there = [path for path in paths if path is not None]
    old = session.read.schema(SILVER).parquet(*map(str, there)).transform(each_copy)
    return old.unionByName(fresh), count + sum(map(sinks.rows_in, there))


def _touched(before: Manifest, span: Span) -> list[str]:
    """The days of silver from the first to the last good row."""
    if span is None:
        return []
    first, last = (time.date().isoformat() for time in span)
    return sorted(day for day in before.days if first <= day <= last)


def shuffle_width(rows: int) -> int:
    """In how many parts to shuffle so many rows."""
    return max(2, -(-rows // ROWS_PER_PARTITION))
