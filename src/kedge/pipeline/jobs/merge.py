"""One batch of raw rows into bronze, silver, quarantine and late; batch and stream share it.

    rows ──► bronze, as they arrived
    rows ── refused ──► quarantine, late
    rows ── good  +  the days of silver that they touch  ── dedupe ──► those days anew

How many rows there are is told by the source (the footers of Parquet), or counted on the way where
it cannot tell; good rows are counted on their way into silver, and every other count is taken from
the files that were written. So the accounts close only if all agree.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from kedge.pipeline import sinks
from kedge.pipeline.jobs.bronze import Keep, Kept
from kedge.pipeline.jobs.progress import Progress, Silent
from kedge.pipeline.manifest import Day, Manifest, Settings
from kedge.pipeline.reference import BROKERS
from kedge.pipeline.schemas import SAMPLE_COLUMNS, SILVER, SILVER_COLUMNS
from kedge.pipeline.transforms import (
    LATE,
    QUARANTINED,
    Rules,
    day_of,
    dedupe,
    each_copy,
    good,
    quarantine,
    refused,
    with_known,
    with_replica,
)
from kedge.pipeline.warehouse import Staged

ROWS_PER_PARTITION = 640_000  # of a shuffle: few files, and sorts that fit into small heaps
NUMBERED = (*SAMPLE_COLUMNS, "replica")


@dataclass(frozen=True, slots=True)
class Batch:
    """How its rows are kept, what says where they come from, and about how many they are."""

    keep: Keep
    provenance: Sequence[str]
    rows: int
    run_id: str


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
    for table in ("bronze", "quarantine", "late"):
        staged.carry(table)
    told.stage("bronze", batch.rows)
    merging = _Merging(session, staged, batch, manifest)
    bronze = staged.path("bronze", f"run_id={batch.run_id}")
    kept = batch.keep(bronze)
    told.stage("quarantine, late", kept.read)
    late, by_reason = merging.write_refused(kept)
    told.stage("silver", kept.read)
    superseded, days = merging.write_silver(kept, sinks.range_of(bronze, "ts"))
    counted = manifest.plus(
        rows_read=kept.read, superseded=superseded, late=late, by_reason=by_reason, days=days
    )
    counted.accounts.check()
    return counted, sorted(days)


Span = tuple[datetime, datetime] | None


@dataclass(frozen=True, slots=True)
class _Merging:
    session: SparkSession
    staged: Staged
    batch: Batch
    before: Manifest

    def write_refused(self, kept: Kept) -> tuple[int, dict[str, int]]:
        """The rows that are late, and those in quarantine by their reason."""
        rows = refused(self._known(kept.traced), rules=rules_of(self.before.settings))
        scratch = self.staged.path("scratch")
        sinks.write(rows.drop("replica", "known"), scratch, by=("verdict",))
        quarantined = self.session.read.schema(rows.schema).parquet(str(scratch))
        behind = quarantined.where(F.col("verdict") == LATE)
        behind = behind.select(*SAMPLE_COLUMNS, *self.batch.provenance)
        quarantined = quarantined.where(F.col("verdict") == QUARANTINED)
        tables = {"late": behind, "quarantine": quarantine(quarantined, *self.batch.provenance)}
        paths = {name: self.staged.path(name, f"run_id={self.batch.run_id}") for name in tables}
        for name, frame in tables.items():
            sinks.write(frame, paths[name], files=1)
        shutil.rmtree(scratch)
        return sinks.rows_in(paths["late"]), sinks.counts_by(paths["quarantine"], "reason")

    def write_silver(self, kept: Kept, span: Span) -> tuple[int, dict[str, Day]]:
        """The days that the rows may fall on, anew; how many rows of theirs were superseded."""
        touched = _touched(self.before, span)
        for day in self.before.days:
            if day not in touched:
                self.staged.carry("silver", f"dt={day}")
        seen = Observation("good")
        fresh = good(self._known(kept.bare), rules=rules_of(self.before.settings))
        fresh = fresh.select(*NUMBERED).observe(seen, F.count(F.lit(1)).alias("rows"))
        there, count = self._there(touched), kept.read
        if there is not None:
            fresh = there.unionByName(fresh)
            count += sum(self.before.days[day].copies for day in touched)
        unique = dedupe(fresh, partitions=shuffle_width(count))
        days = self._write_days(unique)
        entered = int(seen.get["rows"]) + sum(self.before.days[day].copies for day in touched)
        return entered - sum(day.copies for day in days.values()), days

    def _write_days(self, unique: DataFrame) -> dict[str, Day]:
        scratch = self.staged.path("scratch")
        sinks.write(unique.select(*SILVER_COLUMNS, day_of().alias("dt")), scratch, by=("dt",))
        days = sinks.days_in(scratch)
        sinks.move_parts(scratch, self.staged.path("silver"))
        return days

    def _there(self, touched: Sequence[str]) -> DataFrame | None:
        """The rows that silver has of these days, each as often as it was seen."""
        paths = [self.staged.before("silver", f"dt={day}") for day in touched]
        found = [str(path) for path in paths if path is not None]
        if not found:
            return None
        old = self.session.read.schema(SILVER).parquet(*found).transform(each_copy)
        return with_replica(old).select(*NUMBERED)

    def _known(self, rows: DataFrame) -> DataFrame:
        brokers = self.session.read.parquet(str(self.staged.path("reference", BROKERS)))
        return with_known(with_replica(rows), brokers=brokers)


def _touched(before: Manifest, span: Span) -> list[str]:
    """The days of silver from the first to the last row; all of them where nobody knows."""
    if span is None:
        return sorted(before.days)
    first, last = (time.date().isoformat() for time in span)
    return sorted(day for day in before.days if first <= day <= last)


def shuffle_width(rows: int) -> int:
    """In how many parts to shuffle so many rows."""
    return max(2, -(-rows // ROWS_PER_PARTITION))
