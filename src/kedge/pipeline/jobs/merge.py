"""Merges one batch of raw rows into bronze, silver, quarantine and late; used by batch and stream.

    rows ──► bronze, as they arrived
    rows ── rejected ──► quarantine, late
    rows ── valid  +  the days of silver that they overlap  ── dedupe ──► those days, rewritten

The number of rows read comes from the source (the Parquet footers) or is counted while bronze is
written; valid rows are counted on the way into silver, and all other counts come from the files
that were written. The accounts add up only if these independent counts agree.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from kedge.pipeline import sinks
from kedge.pipeline.jobs.bronze import BronzeRows, WriteBronze
from kedge.pipeline.jobs.context import NoProgress, Progress
from kedge.pipeline.manifest import Day, Manifest
from kedge.pipeline.reference import BROKERS
from kedge.pipeline.schemas import (
    ATTRIBUTION,
    ATTRIBUTION_COLUMNS,
    RAW_TEXT,
    SAMPLE_COLUMNS,
    SILVER,
    SILVER_COLUMNS,
)
from kedge.pipeline.schemas import BROKERS as BROKERS_SCHEMA
from kedge.pipeline.transforms import (
    LATE,
    QUARANTINED,
    ValidationRules,
    day_of,
    dedupe,
    expand_copies,
    rejected_rows,
    valid_rows,
    with_known_broker,
    with_raw_text,
    with_replica_hash,
)
from kedge.pipeline.warehouse import StagedVersion

ROWS_PER_PARTITION = (
    640_000  # per shuffle partition: few files, and sorts that fit into small heaps
)
HASHED_COLUMNS = (*SAMPLE_COLUMNS, *ATTRIBUTION_COLUMNS, "replica")


@dataclass(frozen=True, slots=True)
class Batch:
    """How to write bronze, the provenance columns, and an estimate of the row count."""

    write_bronze: WriteBronze
    provenance: Sequence[str]
    estimated_rows: int
    run_id: str
    replaces: ReplacedSamples | None = None


@dataclass(frozen=True, slots=True)
class ReplacedSamples:
    """Samples of a cluster and of days that this batch has again: made of more measurements."""

    cluster: str
    days: Sequence[str]


def merge(
    session: SparkSession,
    staged: StagedVersion,
    batch: Batch,
    *,
    manifest: Manifest,
    progress: Progress | None = None,
) -> tuple[Manifest, list[str]]:
    """Write bronze to silver; return the manifest with this batch and the days that changed.

    The reference tables are staged already. The caller publishes the version.
    """
    reporter = progress or NoProgress()
    for table in ("bronze", "quarantine", "late"):
        staged.link_current(table)
    reporter.stage("bronze", batch.estimated_rows)
    writer = _BatchMerge(session, staged, batch, manifest)
    bronze = staged.path("bronze", f"run_id={batch.run_id}")
    stored = batch.write_bronze(bronze)
    reporter.stage("quarantine, late", stored.count)
    late, by_reason = writer.write_rejected(stored)
    reporter.stage("silver", stored.count)
    superseded, days = writer.write_silver(stored, sinks.time_range(bronze, "ts"))
    after = manifest.with_batch(
        rows_read=stored.count, superseded=superseded, late=late, by_reason=by_reason, days=days
    )
    after.accounts.check()
    return after, sorted(days)


Span = tuple[datetime, datetime] | None


@dataclass(frozen=True, slots=True)
class _BatchMerge:
    session: SparkSession
    staged: StagedVersion
    batch: Batch
    before: Manifest  # without this batch

    @property
    def _rules(self) -> ValidationRules:
        settings = self.before.settings
        return ValidationRules(settings.allowed_lateness_s, settings.future_tolerance_s)

    def write_rejected(self, stored: BronzeRows) -> tuple[int, dict[str, int]]:
        """Write late and quarantine; return the late rows and the quarantined rows by reason."""
        rows = rejected_rows(self._with_broker_check(stored.with_provenance), rules=self._rules)
        late_columns = (*SAMPLE_COLUMNS, *self.batch.provenance)
        quarantine_columns = ("reason", RAW_TEXT, *self.batch.provenance)
        frame = with_raw_text(rows).select(*late_columns, "reason", RAW_TEXT, "verdict")
        scratch = self.staged.path("scratch")
        sinks.write(frame, scratch, by=("verdict",))
        # Rejected rows are few: to split their files with pyarrow costs less than two Spark jobs.
        types, run = dict(frame.dtypes), f"run_id={self.batch.run_id}"
        late, quarantine = self.staged.path("late", run), self.staged.path("quarantine", run)
        for verdict, table, columns in (
            (LATE, late, late_columns),
            (QUARANTINED, quarantine, quarantine_columns),
        ):
            source = scratch / f"verdict={verdict}"
            sinks.merge_columns(source, table, {name: types[name] for name in columns})
        shutil.rmtree(scratch)
        return sinks.count_rows(late), sinks.count_by_value(quarantine, "reason")

    def write_silver(self, stored: BronzeRows, span: Span) -> tuple[int, dict[str, Day]]:
        """Rewrite the overlapping days; return the superseded rows and the counts of the days."""
        overlapping = _overlapping_days(self.before, span)
        for day in self.before.days:
            if day not in overlapping:
                self.staged.link_current("silver", f"dt={day}")
        counted = Observation("valid")
        fresh = valid_rows(self._with_broker_check(stored.without_provenance), rules=self._rules)
        fresh = (
            with_attribution(fresh)
            .select(*HASHED_COLUMNS)
            .observe(counted, F.count(F.lit(1)).alias("rows"))
        )
        existing = self._existing_rows(overlapping)
        copies = sum(self.before.days[day].copies for day in overlapping)
        rows = fresh if existing is None else existing.unionByName(fresh)
        days = self._write_days(dedupe(rows, partitions=shuffle_partitions(stored.count + copies)))
        merged = int(counted.get["rows"]) + copies
        return merged - sum(day.copies for day in days.values()), days

    def _write_days(self, unique: DataFrame) -> dict[str, Day]:
        scratch = self.staged.path("scratch")
        sinks.write(unique.select(*SILVER_COLUMNS, day_of().alias("dt")), scratch, by=("dt",))
        days = sinks.count_by_day(scratch)
        sinks.move_partitions(scratch, self.staged.path("silver"))
        return days

    def _existing_rows(self, overlapping: Sequence[str]) -> DataFrame | None:
        """The rows of these days in silver, each repeated by its `copies`."""
        paths = [self.staged.current_path("silver", f"dt={day}") for day in overlapping]
        found = [str(path) for path in paths if path is not None]
        if not found:
            return None
        silver = self.session.read.schema(SILVER).parquet(*found)
        replaced = self.batch.replaces
        if replaced is not None:
            of_cluster = (F.col("cluster") == replaced.cluster) & F.col("origin").isNotNull()
            again = of_cluster & day_of().isin(list(replaced.days))
            silver = silver.where(~F.coalesce(again, F.lit(False)))
        return with_replica_hash(silver.transform(expand_copies)).select(*HASHED_COLUMNS)

    def _with_broker_check(self, rows: DataFrame) -> DataFrame:
        path = str(self.staged.path("reference", BROKERS))
        brokers = self.session.read.schema(BROKERS_SCHEMA).parquet(path)
        return with_known_broker(with_replica_hash(rows), brokers=brokers)


def with_attribution(rows: DataFrame) -> DataFrame:
    """The rows with the columns of attribution, which are null if the rows have none."""
    missing = [f for f in ATTRIBUTION.fields if f.name not in rows.columns]
    nulls = [F.lit(None).cast(f.dataType).alias(f.name) for f in missing]
    return rows.select("*", *nulls) if nulls else rows


def _overlapping_days(before: Manifest, span: Span) -> list[str]:
    """The days of silver between the first and the last row; all days if the range is unknown."""
    if span is None:
        return sorted(before.days)
    first, last = (time.date().isoformat() for time in span)
    return sorted(day for day in before.days if first <= day <= last)


def shuffle_partitions(rows: int) -> int:
    """The number of shuffle partitions for this many rows."""
    return max(2, -(-rows // ROWS_PER_PARTITION))
