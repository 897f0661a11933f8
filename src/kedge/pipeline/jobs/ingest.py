"""Files of samples into the tables: what `kedge pipeline ingest` runs."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.pipeline.jobs.progress import Progress, Silent
from kedge.pipeline.manifest import Accounts, Manifest, Settings
from kedge.pipeline.reference import Reference, kept_reference, read_reference, write_reference
from kedge.pipeline.sources.files import Format, SampleFile, find_files, new_files
from kedge.pipeline.warehouse import Staged, Warehouse, check_ours, owned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kedge.pipeline.transforms.detect import Thresholds

OpenSession = Callable[[], "AbstractContextManager[SparkSession]"]


@dataclass(frozen=True, slots=True)
class IngestOrder:
    """What to ingest, and where the tables are."""

    source: Path
    form: Format
    brokers: Path
    assignment: Path
    output: Path
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Ingested:
    """What a run has done: the accounts of all runs, and of this one its files and rows."""

    run_id: str
    accounts: Accounts
    files: int
    files_skipped: int
    rows: int
    days: tuple[str, ...]


def new_run_id() -> str:
    """A name for a run, in order of time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def ingest(
    order: IngestOrder,
    session: OpenSession,
    *,
    progress: Progress | None = None,
    thresholds: Thresholds | None = None,
) -> Ingested:
    """Ingest what is new in a directory; everything is checked before anything is written."""
    check_ours(order.output)
    paths = find_files(order.source, order.form)
    reference = read_reference(order.brokers, order.assignment)
    known = new_files(paths, order.form, ())
    with owned(order.output, new_run_id()) as warehouse:
        before = warehouse.manifest
        if warehouse.current is not None:
            order.settings.check_same(before.settings)
        before = replace(before, settings=order.settings, run_id=warehouse.run_id)
        files = [file for file in known if file.content not in before.contents]
        after, days = before, list[str]()
        if files or not _same_reference(warehouse, reference):
            told = progress or Silent()
            with session() as spark:
                told.attach(spark)
                run = _Run(order, warehouse, reference, told, thresholds)
                after, days = run.carry_out(spark, before, files)
    return Ingested(
        run_id=warehouse.run_id,
        accounts=after.accounts,
        files=len(files),
        files_skipped=len(paths) - len(files),
        rows=after.rows_read - before.rows_read,
        days=tuple(days),
    )


def _same_reference(warehouse: Warehouse, reference: Reference) -> bool:
    """Whether the tables were made with these very brokers and this assignment."""
    current = warehouse.current
    if current is None:
        return False
    kept = kept_reference(current / "reference")
    pairs = ((kept.brokers, reference.brokers), (kept.assignment, reference.assignment))
    return all(bool(before.equals(now)) for before, now in pairs)


@dataclass(frozen=True, slots=True)
class _Run:
    order: IngestOrder
    warehouse: Warehouse
    reference: Reference
    progress: Progress
    thresholds: Thresholds | None

    def carry_out(
        self, spark: SparkSession, before: Manifest, files: list[SampleFile]
    ) -> tuple[Manifest, list[str]]:
        """Stage and publish; also without new files, for the brokers may be others."""
        from kedge.pipeline.jobs.gold import refresh_gold

        with self.warehouse.change() as staged:
            write_reference(self.reference, staged.path("reference"))
            after, days = before, list[str]()
            if files:
                after, days = self._merge(spark, staged, before, files)
            else:
                for table in ("bronze", "silver", "quarantine", "late"):
                    staged.carry(table)
            refresh_gold(
                spark,
                staged,
                manifest=after,
                changed=days,
                thresholds=self.thresholds,
                progress=self.progress,
            )
            self.warehouse.publish(staged, after)
        return after, days

    def _merge(
        self, spark: SparkSession, staged: Staged, before: Manifest, files: list[SampleFile]
    ) -> tuple[Manifest, list[str]]:
        from kedge.pipeline.jobs.bronze import keep_files, keep_rows
        from kedge.pipeline.jobs.merge import Batch, merge
        from kedge.pipeline.sources.frames import PROVENANCE, raw_rows

        if self.order.form is Format.PARQUET:
            keep = keep_files(spark, files)
        else:
            keep = keep_rows(raw_rows(spark, files, self.order.form), PROVENANCE)
        rows = sum(file.rows for file in files)
        batch = Batch(keep, PROVENANCE, rows, self.warehouse.run_id)
        after, days = merge(spark, staged, batch, manifest=before, progress=self.progress)
        contents = {file.content: str(file.path) for file in files}
        return replace(after, contents={**before.contents, **contents}), days
