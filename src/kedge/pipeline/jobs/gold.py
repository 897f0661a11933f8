"""Writes gold: roll-up and time series of the changed days, and the models of all days.

All of it is computed in this process if the tables are small, and else by Spark (`model_runner`).
Models are made of the history of the closed days, which a table keeps, and of the open days: the
last two. If a closed day has changed, or a percentile cannot be told from the history, all days are
read and the history is made anew.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kedge.model.arrow import arrow
from kedge.pipeline.finding_history import record_findings
from kedge.pipeline.jobs.closed_days import BROKER_HISTORY, PARTITION_HISTORY, DaysToRead, plan_days
from kedge.pipeline.jobs.context import NoProgress, Progress, SessionOnDemand
from kedge.pipeline.jobs.model_runner import ModelRunner
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.models import courses
from kedge.pipeline.models.detect_findings import Thresholds, all_findings
from kedge.pipeline.models.disk_use import broker_disk_use
from kedge.pipeline.models.key_index import on_days
from kedge.pipeline.reference import ASSIGNMENT, BROKERS, REPLICAS
from kedge.pipeline.tables.staged_run import StagedRun


def refresh_gold(
    session: SessionOnDemand,
    staged: StagedRun,
    *,
    manifest: Manifest,
    changed: Collection[str],
    thresholds: Thresholds | None = None,
    progress: Progress | None = None,
) -> None:
    """Write all tables of gold; silver is staged, and `changed` are the days that differ."""
    gold = _Gold(
        session,
        staged,
        manifest,
        [day for day in manifest.days if day in changed],
        progress or NoProgress(),
    )
    gold.write_days()
    if any(day.rows for day in manifest.days.values()):
        gold.write_models(thresholds or Thresholds())
        record_findings(staged)


@dataclass(frozen=True, slots=True)
class _Gold:
    session: SessionOnDemand
    staged: StagedRun
    manifest: Manifest
    changed: Sequence[str]
    progress: Progress

    def write_days(self) -> None:
        """Recompute the changed days of the tables that are kept by day."""
        if not self.changed:
            return
        rows = sum(self.manifest.days[day].rows for day in self.changed)
        self.progress.stage("rollup", rows)
        self._runner.write_rollup(self.changed)
        self.progress.stage("time series", rows)
        self._runner.write_courses(self.changed)

    def write_models(self, thresholds: Thresholds) -> None:
        """Write the models of all days and the findings."""
        rows = self.manifest.accounts.kept
        self.progress.stage("partition_load", rows)
        self._runner.write_partition_load(self._plan(PARTITION_HISTORY))
        self.progress.stage("broker_load", rows)
        self._write_window_load()
        disk_use = broker_disk_use(
            self.staged.read("gold/partition_load"),
            replicas=self.staged.read(REPLICAS),
            brokers=self.staged.read(BROKERS),
        )
        self._runner.write_broker_load(self._plan(BROKER_HISTORY), disk_use)
        self.progress.stage("findings", rows)
        findings = all_findings(
            partitions=self.staged.read("gold/partition_load"),
            brokers=self.staged.read("gold/broker_load"),
            assignment=self.staged.read(ASSIGNMENT),
            thresholds=thresholds,
        )
        self.staged.write_arrow("gold/findings", findings)

    @property
    def _runner(self) -> ModelRunner:
        return ModelRunner(self.session, self.staged, self.manifest)

    def _plan(self, history: str) -> DaysToRead:
        return plan_days(self.staged, history, self.manifest, self.changed)

    def _write_window_load(self) -> None:
        """Recompute the windows of changed days; those of other days stay."""
        name, days = "gold/window_load", self.manifest.days
        stale = [*days] if not self.staged.has(name) else self.changed
        course = self.staged.read_rows("gold/broker_course", days=stale)
        parts = [courses.window_load(course)] if len(course) else []
        if self.staged.has(name):
            kept = self.staged.read(name)
            others = days.keys() - set(stale)
            parts.append(kept.filter(on_days(kept.column("window_start"), others)))
        order = [("cluster", "ascending"), ("window_start", "ascending")]
        rows = arrow().concat_tables(parts, promote_options="permissive")
        self.staged.write_arrow(name, rows.sort_by(order))
