"""Merges one batch of raw rows into bronze, silver, quarantine and late; used by batch and stream.

    rows ──► bronze, as they arrived
    rows ── valid  +  the days of silver that they overlap  ── dedupe ──► those days, rewritten
    rows ── rejected, if there are any ──► quarantine, late

The number of rows read comes from the source (the Parquet footers) or is counted while bronze is
written; valid rows are counted on the way into silver, and all other counts come from the files
that were written. The accounts add up only if these independent counts agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from kedge.pipeline import sinks
from kedge.pipeline.jobs.bronze import BronzeRows, WriteBronze, partition_of
from kedge.pipeline.jobs.context import NoProgress, Progress
from kedge.pipeline.manifest import Day, Manifest, Settings
from kedge.pipeline.reference import BROKERS
from kedge.pipeline.schemas import (
    ATTRIBUTION,
    ATTRIBUTION_COLUMNS,
    BROKER_KEY,
    QUARANTINE,
    RAW_TEXT,
    SAMPLE_COLUMNS,
    SILVER,
    SILVER_COLUMNS,
)
from kedge.pipeline.schemas import LATE as LATE_TABLE
from kedge.pipeline.sources.packed_samples import (
    StoredSamples,
    map_buckets,
    new_samples,
    newest_silver,
    packed_rows,
)
from kedge.pipeline.tables.data_files import DataFile, earliest, latest
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.staged_run import StagedRun
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

ROWS_PER_PARTITION = (
    640_000  # per shuffle partition: few files, and sorts that fit into small heaps
)
ROWS_FOR_WORKERS = 2_000_000  # from which on workers read files of Parquet
REJECTED = {"late": LATE_TABLE, "quarantine": QUARANTINE}
HASHED_COLUMNS = (*SAMPLE_COLUMNS, *ATTRIBUTION_COLUMNS, "replica")


@dataclass(frozen=True, slots=True)
class Batch:
    """How to write bronze, the provenance columns, and an estimate of the row count."""

    write_bronze: WriteBronze
    provenance: Sequence[str]
    estimated_rows: int
    run_id: str
    replaces: ReplacedSamples | None = None
    rows_for_workers: int = ROWS_FOR_WORKERS


@dataclass(frozen=True, slots=True)
class ReplacedSamples:
    """Samples of a cluster and of days that this batch has again: made of more measurements."""

    cluster: str
    days: Sequence[str]


def merge(
    session: SparkSession,
    staged: StagedRun,
    batch: Batch,
    *,
    manifest: Manifest,
    progress: Progress | None = None,
) -> tuple[Manifest, list[str]]:
    """Write bronze to silver; return the manifest with this batch and the days that changed.

    The reference tables are staged already. The caller publishes the run.
    """
    reporter = progress or NoProgress()
    reporter.stage("bronze", batch.estimated_rows)
    writer = _BatchMerge(session, staged, batch, manifest)
    stored = batch.write_bronze(staged)
    reporter.stage("silver", stored.count)
    silver = writer.write_silver(stored, _valid_span(stored.files, manifest.settings))
    reporter.stage("quarantine, late", stored.count - silver.valid)
    late, by_reason = writer.write_rejected(stored, stored.count - silver.valid)
    after = manifest.with_batch(
        rows_read=stored.count,
        superseded=silver.superseded,
        late=late,
        by_reason=by_reason,
        days=silver.days,
    )
    after.accounts.check()
    return after, sorted(silver.days)


Span = tuple[datetime, datetime] | None


@dataclass(frozen=True, slots=True)
class _SilverCounts:
    """The valid rows of a batch, those that were superseded, and the rows of the changed days."""

    valid: int
    superseded: int
    days: dict[str, Day]


@dataclass(frozen=True, slots=True)
class _BatchMerge:
    session: SparkSession
    staged: StagedRun
    batch: Batch
    before: Manifest  # without this batch

    @property
    def _rules(self) -> ValidationRules:
        settings = self.before.settings
        return ValidationRules(settings.allowed_lateness_s, settings.future_tolerance_s)

    def write_rejected(self, stored: BronzeRows, count: int) -> tuple[int, dict[str, int]]:
        """Write late and quarantine; return the late rows and the quarantined rows by reason.

        If all rows were valid, they are not read once more.
        """
        if not count:
            for table, schema in REJECTED.items():
                self.staged.append(table, [], sinks.table_schema(table, schema))
            return 0, {}
        rows = rejected_rows(self._with_broker_check(stored.with_provenance), rules=self._rules)
        late_columns = (*SAMPLE_COLUMNS, *self.batch.provenance)
        quarantine_columns = ("reason", RAW_TEXT, *self.batch.provenance)
        frame = with_raw_text(rows).select(*late_columns, "reason", RAW_TEXT, "verdict")
        sinks.write(frame, self.staged.scratch("rejected").uri, by=("verdict",))
        # Rejected rows are few: to split their files with pyarrow costs less than two Spark jobs.
        late = self._append(LATE, "late", late_columns, frame, stored)
        quarantined = self._append(QUARANTINED, "quarantine", quarantine_columns, frame, stored)
        by_reason = sinks.count_by_value(self.staged.location, "quarantine", quarantined, "reason")
        return sum(one.rows for one in late), by_reason

    def _append(
        self, verdict: str, table: str, columns: Sequence[str], frame: DataFrame, stored: BronzeRows
    ) -> list[DataFile]:
        kinds = dict(frame.dtypes)
        return sinks.append_columns(
            self.staged,
            table,
            self.staged.scratch(f"rejected/verdict={verdict}"),
            {name: kinds[name] for name in columns},
            partition=partition_of(stored.files),
            schema=REJECTED[table],
        )

    def write_silver(self, stored: BronzeRows, span: Span) -> _SilverCounts:
        """Rewrite the overlapping days."""
        overlapping = _overlapping_days(self.before, span)
        counted = Observation("valid")
        copies = sum(self.before.days[day].copies for day in overlapping)
        self.staged.rows_read += sum(self.before.days[day].rows for day in overlapping)
        by_workers = self._is_for_workers(stored, span)
        newest = self._newest_by_workers if by_workers else self._newest_by_spark
        unique = newest(stored, overlapping, counted, shuffle_partitions(stored.count + copies))
        days = self._write_days(unique, overlapping)
        valid = int(counted.get["rows"] or 0)
        superseded = valid + copies - sum(day.copies for day in days.values())
        return _SilverCounts(valid, superseded, days)

    def _is_for_workers(self, stored: BronzeRows, span: Span) -> bool:
        """Whether workers read the files: many rows, in files that they open as Spark does.

        They have no credentials of remote file systems, and no times outside of the calendar.
        """
        places = [self.staged.location, *(Location.of(one.path.path) for one in stored.sources)]
        return (
            bool(stored.sources)
            and span is not None
            and stored.count >= self.batch.rows_for_workers
            and all(place.is_local for place in places)
        )

    def _newest_by_workers(
        self, stored: BronzeRows, overlapping: Sequence[str], counted: Observation, buckets: int
    ) -> DataFrame:
        """The same as `_newest_by_spark`, for files of Parquet."""
        brokers = listed_brokers(self.staged)
        sources = new_samples(stored.sources, brokers=brokers, rules=self._rules)
        packed = packed_rows(self.session, sources, SAMPLE_COLUMNS, buckets=buckets)
        packed = packed.observe(counted, F.sum("rows").alias("rows"))
        silver = [StoredSamples(path) for path in self.staged.paths("silver", overlapping)]
        if silver:
            existing = packed_rows(self.session, silver, SILVER_COLUMNS, buckets=buckets)
            packed = packed.unionByName(existing)
        return map_buckets(packed, newest_silver, SILVER, buckets=buckets)

    def _newest_by_spark(
        self, stored: BronzeRows, overlapping: Sequence[str], counted: Observation, partitions: int
    ) -> DataFrame:
        """One row for each sample of the batch and of the overlapping days."""
        fresh = valid_rows(self._with_broker_check(stored.without_provenance), rules=self._rules)
        fresh = (
            with_attribution(fresh)
            .select(*HASHED_COLUMNS)
            .observe(counted, F.count(F.lit(1)).alias("rows"))
        )
        existing = self._existing_rows(overlapping)
        rows = fresh if existing is None else existing.unionByName(fresh)
        return dedupe(rows, partitions=partitions)

    def _write_days(self, unique: DataFrame, overlapping: Sequence[str]) -> dict[str, Day]:
        frame = unique.select(*SILVER_COLUMNS, day_of().alias("dt"))
        files = sinks.replace_days(self.staged, "silver", frame, overlapping)
        counts = sinks.count_by_day(self.staged.location, "silver", files)
        return {**dict.fromkeys(overlapping, Day()), **counts}

    def _existing_rows(self, overlapping: Sequence[str]) -> DataFrame | None:
        """The rows of these days in silver, each repeated by its `copies`."""
        if not self.staged.files("silver", overlapping):
            return None
        silver = sinks.read(self.session, self.staged, "silver", SILVER, days=overlapping)
        replaced = self.batch.replaces
        if replaced is not None:
            of_cluster = (F.col("cluster") == replaced.cluster) & F.col("origin").isNotNull()
            again = of_cluster & day_of().isin(list(replaced.days))
            silver = silver.where(~F.coalesce(again, F.lit(False)))
        return with_replica_hash(silver.transform(expand_copies)).select(*HASHED_COLUMNS)

    def _with_broker_check(self, rows: DataFrame) -> DataFrame:
        return with_known_broker(with_replica_hash(rows), brokers=listed_brokers(self.staged))


def listed_brokers(staged: StagedRun) -> list[tuple[str, int]]:
    """The brokers of the reference tables, by cluster and id."""
    listed = staged.read(BROKERS, BROKER_KEY).to_pydict()
    return list(zip(*(listed[name] for name in BROKER_KEY), strict=True))


def with_attribution(rows: DataFrame) -> DataFrame:
    """The rows with the columns of attribution, which are null if the rows have none."""
    missing = [f for f in ATTRIBUTION.fields if f.name not in rows.columns]
    nulls = [F.lit(None).cast(f.dataType).alias(f.name) for f in missing]
    return rows.select("*", *nulls) if nulls else rows


def _valid_span(files: Sequence[DataFile], settings: Settings) -> Span:
    """The time between the first and the last row that can be valid; None if it is unknown.

    A valid row arrives within the allowed lateness: times of rejected rows may be far off.
    """
    ends = [find(files, name) for name in ("ts", "ingest_ts") for find in (earliest, latest)]
    first, last, arrived_first, arrived_last = ends
    if first is None or last is None:
        return None
    if arrived_first is not None and arrived_last is not None:
        first = max(first, arrived_first - timedelta(seconds=settings.allowed_lateness_s))
        last = min(last, arrived_last + timedelta(seconds=settings.future_tolerance_s))
    return first, last


def _overlapping_days(before: Manifest, span: Span) -> list[str]:
    """The days of silver between the first and the last row; all days if the range is unknown."""
    if span is None:
        return sorted(before.days)
    first, last = (time.date().isoformat() for time in span)
    return sorted(day for day in before.days if first <= day <= last)


def shuffle_partitions(rows: int) -> int:
    """The number of shuffle partitions for this many rows; even, so that two cores end at once."""
    return 2 * max(1, -(-rows // (2 * ROWS_PER_PARTITION)))
