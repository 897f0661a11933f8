"""Ingests files of samples into the tables: the job of `kedge pipeline ingest`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.pipeline.derived_files import write_derived_files
from kedge.pipeline.jobs.context import (
    NoProgress,
    Progress,
    SessionFactory,
    SessionOnDemand,
    SizedSessionFactory,
    on_demand,
)
from kedge.pipeline.manifest import Accounts, Manifest, Settings
from kedge.pipeline.reference import Reference, read_reference, stored_reference, write_reference
from kedge.pipeline.sources.sample_files import Format, SampleFile, find_files, new_files
from kedge.pipeline.tables.staged_run import StagedRun
from kedge.pipeline.warehouse import Place, Warehouse, check_warehouse, open_warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kedge.pipeline.jobs.bronze import ParquetCopy
    from kedge.pipeline.models.detect_findings import Thresholds


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """The files to ingest, the reference tables, and the directory of tables."""

    source: str | Path
    format: Format
    brokers: str | Path
    assignment: str | Path
    tables: Place
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The row counts of all runs, and the files, rows and changed days of this one."""

    run_id: str
    accounts: Accounts
    files: int
    files_skipped: int
    rows: int
    days: tuple[str, ...]
    rows_merged: int = 0  # read from tables of earlier runs and of this one
    rows_written: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict[str, int])  # series that are not needed
    warnings: Mapping[str, int] = field(default_factory=dict[str, int])  # of the source, by text
    unmeasured: tuple[int, ...] = ()  # brokers that the new files have no series of
    values_without_samples: int = 0  # of topics, if no sample could be made of them


def new_run_id() -> str:
    """A unique id; ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def ingest(
    request: IngestRequest,
    session: SizedSessionFactory,
    *,
    progress: Progress | None = None,
    thresholds: Thresholds | None = None,
    rows_here_max: int = 0,
    rows_for_workers: int | None = None,
) -> IngestResult:
    """Ingest the new files of a directory; all input is validated before anything is written.

    At most `rows_here_max` rows of Parquet files are merged in this process, without Spark. From
    `rows_for_workers` rows on, Spark's workers read the Parquet files.
    """
    check_warehouse(request.tables)
    paths = find_files(request.source, request.format)
    reference = read_reference(request.brokers, request.assignment)
    distinct = new_files(paths, request.format, ())
    with open_warehouse(request.tables, new_run_id()) as warehouse:
        before = warehouse.manifest
        if warehouse.last is not None:
            request.settings.check_unchanged(before.settings)
        before = replace(before, settings=request.settings, run_id=warehouse.run_id)
        files = [file for file in distinct if file.sha256 not in before.contents]
        after, days, staged = before, list[str](), None
        if files or not _same_reference(warehouse, reference):
            reporter = progress or NoProgress()
            rows = before.accounts.kept + sum(file.rows for file in files)
            limits = _Limits(rows_here_max, rows_for_workers)
            run = _Run(request, warehouse, reference, reporter, thresholds, limits)
            after, days, staged = run.execute(lambda: session(rows), before, files)
        write_derived_files(warehouse)
    return IngestResult(
        run_id=warehouse.run_id,
        accounts=after.accounts,
        files=len(files),
        files_skipped=len(paths) - len(files),
        rows=after.rows_read - before.rows_read,
        days=tuple(days),
        rows_merged=0 if staged is None else staged.rows_read,
        rows_written=0 if staged is None else staged.rows_written,
    )


def _same_reference(warehouse: Warehouse, reference: Reference) -> bool:
    """Whether the tables were computed with the same brokers and assignment."""
    if warehouse.last is None:
        return False
    stored = stored_reference(StagedRun(warehouse.location, "", warehouse.last).read)
    pairs = ((stored.brokers, reference.brokers), (stored.assignment, reference.assignment))
    return all(bool(before.equals(now)) for before, now in pairs)


@dataclass(frozen=True, slots=True)
class _Limits:
    rows_here_max: int
    rows_for_workers: int | None


@dataclass(frozen=True, slots=True)
class _Run:
    request: IngestRequest
    warehouse: Warehouse
    reference: Reference
    progress: Progress
    thresholds: Thresholds | None
    limits: _Limits

    def execute(
        self, session: SessionFactory, before: Manifest, files: list[SampleFile]
    ) -> tuple[Manifest, list[str], StagedRun]:
        """Stage and publish a run; without new files only the reference tables changed."""
        with self.warehouse.stage() as staged, ThreadPoolExecutor(1) as pool:
            copy = self._start_copy(staged, files, pool)
            write_reference(self.reference, staged)
            with on_demand(session, self.progress) as spark:
                after, days = before, list[str]()
                if files:
                    after, days = self._merge(spark, staged, before, files, copy)
                self._refresh_gold(spark, staged, after, days)
                self.warehouse.publish(staged, after)
        return after, days, staged

    def _start_copy(
        self, staged: StagedRun, files: list[SampleFile], pool: Executor
    ) -> ParquetCopy | None:
        from kedge.pipeline.jobs.bronze import ParquetCopy

        wanted = files and self.request.format is Format.PARQUET
        return ParquetCopy(files, staged, pool) if wanted else None

    def _refresh_gold(
        self, spark: SessionOnDemand, staged: StagedRun, manifest: Manifest, changed: list[str]
    ) -> None:
        from kedge.pipeline.jobs.gold import refresh_gold

        refresh_gold(
            spark,
            staged,
            manifest=manifest,
            changed=changed,
            thresholds=self.thresholds,
            progress=self.progress,
        )

    def _merge(
        self,
        spark: SessionOnDemand,
        staged: StagedRun,
        before: Manifest,
        files: list[SampleFile],
        copy: ParquetCopy | None,
    ) -> tuple[Manifest, list[str]]:
        merged = self._merged_here(staged, before, files, copy)
        if merged is None:
            self.progress.stage("starting Spark", 0)
            merged = self._merged_by_spark(spark(), staged, before, files, copy)
        after, days = merged
        contents = {file.sha256: str(file.path) for file in files}
        return replace(after, contents={**before.contents, **contents}), days

    def _merged_here(
        self,
        staged: StagedRun,
        before: Manifest,
        files: list[SampleFile],
        copy: ParquetCopy | None,
    ) -> tuple[Manifest, list[str]] | None:
        """Merge few rows in this process; None if there are more, or if they need Spark."""
        from kedge.pipeline.in_process.sample_rows import NeedsSpark
        from kedge.pipeline.jobs.merge_here import SmallMerge

        if copy is None or sum(file.rows for file in files) > self.limits.rows_here_max:
            return None
        rows_max = self.limits.rows_here_max
        small = SmallMerge(staged, files, copy, before, self.progress, rows_max)
        try:
            return small.run()
        except NeedsSpark:
            return None

    def _merged_by_spark(
        self,
        spark: SparkSession,
        staged: StagedRun,
        before: Manifest,
        files: list[SampleFile],
        copy: ParquetCopy | None,
    ) -> tuple[Manifest, list[str]]:
        from kedge.pipeline.jobs.bronze import write_parsed_rows
        from kedge.pipeline.jobs.merge import Batch, merge
        from kedge.pipeline.sources.file_reader import PROVENANCE, read_raw_rows

        if copy is not None:
            write_bronze = copy.writer(spark)
        else:
            rows = read_raw_rows(spark, files, self.request.format)
            write_bronze = write_parsed_rows(rows, PROVENANCE)
        estimate = sum(file.rows for file in files)
        batch = Batch(write_bronze, PROVENANCE, estimate, self.warehouse.run_id)
        if self.limits.rows_for_workers is not None:
            batch = replace(batch, rows_for_workers=self.limits.rows_for_workers)
        return merge(spark, staged, batch, manifest=before, progress=self.progress)
