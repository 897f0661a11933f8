"""Merges the rows of few Parquet files in this process: the result of `merge` without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kedge.model.arrow import Table, compute
from kedge.pipeline import sinks
from kedge.pipeline.in_process.newest_rows import COPIES, newest_rows
from kedge.pipeline.in_process.sample_rows import NeedsSpark, read_samples
from kedge.pipeline.in_process.silver_rows import as_silver, combined
from kedge.pipeline.in_process.verdicts import Verdicts, joined, verdicts
from kedge.pipeline.jobs.bronze import ParquetCopy, partition_of
from kedge.pipeline.jobs.context import Progress
from kedge.pipeline.jobs.merge import REJECTED, listed_brokers
from kedge.pipeline.manifest import Day, Manifest
from kedge.pipeline.models.key_index import on_days
from kedge.pipeline.schemas import RAW_TEXT, SAMPLE_COLUMNS, SILVER
from kedge.pipeline.sources.file_reader import PROVENANCE
from kedge.pipeline.sources.sample_files import SampleFile
from kedge.pipeline.tables.data_files import DataFile
from kedge.pipeline.tables.staged_run import StagedRun
from kedge.pipeline.transforms.validate import ValidationRules

REJECTED_COLUMNS = {
    "late": (*SAMPLE_COLUMNS, *PROVENANCE),
    "quarantine": ("reason", RAW_TEXT, *PROVENANCE),
}


@dataclass(frozen=True, slots=True)
class SmallMerge:
    """The files to merge, the copy that becomes bronze, and the state before.

    `rows_max` limits the rows that are merged, those of silver included.
    """

    staged: StagedRun
    files: Sequence[SampleFile]
    copy: ParquetCopy
    before: Manifest
    progress: Progress
    rows_max: int

    def run(self) -> tuple[Manifest, list[str]]:
        """Write bronze to silver; return the manifest with this batch and the days that changed.

        NeedsSpark is raised before anything is written.
        """
        count, settings = sum(file.rows for file in self.files), self.before.settings
        self.progress.stage("bronze", count)
        rules = ValidationRules(settings.allowed_lateness_s, settings.future_tolerance_s)
        found = self._judged(rules)
        touched = _days_of(found.valid)
        known = sorted(touched & self.before.days.keys())
        if count + sum(self.before.days[day].rows for day in known) > self.rows_max:
            raise NeedsSpark("too many rows to merge with")
        bronze = self.copy.finish(self.staged)
        self.progress.stage("silver", count)
        days, superseded = self._write_silver(found.valid, sorted(touched), known)
        self.progress.stage("quarantine, late", count - len(found.valid))
        late, by_reason = self._write_rejected(found, bronze)
        after = self.before.with_batch(
            rows_read=count, superseded=superseded, late=late, by_reason=by_reason, days=days
        )
        after.accounts.check()
        return after, sorted(days)

    def _judged(self, rules: ValidationRules) -> Verdicts:
        """All rows by their verdict."""
        brokers = listed_brokers(self.staged)
        return joined(
            [
                verdicts(rows, brokers=brokers, rules=rules)
                for file in self.files
                for rows in read_samples(file)
            ]
        )

    def _write_silver(
        self, valid: Table, touched: Sequence[str], known: Sequence[str]
    ) -> tuple[dict[str, Day], int]:
        """Rewrite the days of these rows; return their counts, and the superseded rows."""
        parts = [valid.select(list(SAMPLE_COLUMNS))]
        if known:
            parts.append(self.staged.read_rows("silver", days=known))
        unique = newest_rows(combined(parts))
        days: dict[str, Day] = {}
        for day in touched:
            of_day = as_silver(unique.filter(on_days(unique.column("ts"), [day])))
            self.staged.write_arrow("silver", of_day, day)
            days[day] = Day(len(of_day), compute().sum(of_day.column(COPIES)).as_py())
        copies = sum(self.before.days[day].copies for day in known)
        kept = sum(day.copies for day in days.values())
        if not self.staged.has("silver"):  # no row is valid: readers expect the table
            self.staged.append("silver", [], sinks.table_schema("silver", SILVER))
        return days, len(valid) + copies - kept

    def _write_rejected(
        self, found: Verdicts, bronze: Sequence[DataFile]
    ) -> tuple[int, dict[str, int]]:
        """Write late and quarantine; return the late rows and the quarantined rows by reason."""
        written = {
            table: sinks.append_rows(
                self.staged,
                table,
                rows.select(list(REJECTED_COLUMNS[table])),
                partition=partition_of(bronze),
                schema=REJECTED[table],
            )
            for table, rows in (("late", found.late), ("quarantine", found.quarantined))
        }
        reasons = sinks.count_by_value(
            self.staged.location, "quarantine", written["quarantine"], "reason"
        )
        return sum(one.rows for one in written["late"]), reasons


def _days_of(rows: Table) -> set[str]:
    days = compute().floor_temporal(rows.column("ts"), unit="day").unique()
    return {time.date().isoformat() for time in days.to_pylist()}
