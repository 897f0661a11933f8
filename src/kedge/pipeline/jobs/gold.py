"""Writes gold from silver: roll-up and time series of the changed days, and models of all days."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kedge.pipeline import sinks
from kedge.pipeline.jobs.context import NoProgress, Progress
from kedge.pipeline.load_snapshots import write_snapshots
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.reference import ASSIGNMENT, BROKERS, REPLICAS, stored_reference
from kedge.pipeline.schemas import SILVER
from kedge.pipeline.transforms import day_of, roll_up
from kedge.pipeline.transforms.findings import Thresholds, all_findings
from kedge.pipeline.transforms.load_models import (
    ModelSettings,
    broker_course,
    broker_disk_use,
    broker_load,
    partition_course,
    partition_load,
    sample_statistics,
    window_load,
)
from kedge.pipeline.warehouse import StagedVersion

DAILY = (
    "rollup",
    "partition_course",
    "broker_course",
)  # partitioned by day; all other tables are recomputed


def refresh_gold(
    session: SparkSession,
    staged: StagedVersion,
    *,
    manifest: Manifest,
    changed: Collection[str],
    thresholds: Thresholds | None = None,
    progress: Progress | None = None,
) -> None:
    """Write all tables of gold; silver is staged, and `changed` are the days that differ."""
    reporter, rows = progress or NoProgress(), manifest.accounts.kept
    _write_days(session, staged, manifest, changed, reporter)
    if not manifest.days:
        return
    gold = _Gold(session, staged)
    reporter.stage("partition_load", rows)
    samples = session.read.schema(SILVER).parquet(str(staged.path("silver")))
    statistics, settings = sample_statistics(samples), ModelSettings()
    course = gold.table("partition_course")
    gold.write("partition_load", partition_load(course, statistics=statistics, settings=settings))
    reporter.stage("broker_load", rows)
    course = gold.table("broker_course")
    gold.write("window_load", window_load(course))
    disk_use = broker_disk_use(
        gold.table("partition_load"),
        replicas=gold.reference(REPLICAS),
        brokers=gold.reference(BROKERS),
    )
    gold.write("broker_load", broker_load(course, disk_use=disk_use, settings=settings))
    reporter.stage("findings", rows)
    findings = all_findings(
        partitions=gold.table("partition_load"),
        brokers=gold.table("broker_load"),
        assignment=gold.reference(ASSIGNMENT),
        thresholds=thresholds or Thresholds(),
    )
    gold.write("findings", findings)
    reference = stored_reference(staged.path("reference"))
    write_snapshots(staged.path("gold"), reference, interval_s=manifest.settings.interval_s)


def _write_days(
    session: SparkSession,
    staged: StagedVersion,
    manifest: Manifest,
    changed: Collection[str],
    reporter: Progress,
) -> None:
    """Write the tables partitioned by day: linked if silver did not change, else recomputed."""
    for table in DAILY:
        for day in manifest.days:
            if day not in changed:
                staged.link_current("gold", table, f"dt={day}")
    days = [day for day in manifest.days if day in changed]
    if not days:
        return
    reporter.stage("rollup", sum(manifest.days[day].rows for day in days))
    silver = [str(staged.path("silver", f"dt={day}")) for day in days]
    rolled = roll_up(
        session.read.schema(SILVER).parquet(*silver), window_s=manifest.settings.window_s
    )
    write_days(rolled, staged.path("gold", "rollup"), scratch=staged.path("scratch"))
    paths = [str(staged.path("gold", "rollup", f"dt={day}")) for day in days]
    time_series: dict[str, Callable[[DataFrame], DataFrame]] = {
        "partition_course": partition_course,
        "broker_course": broker_course,
    }
    for table, course in time_series.items():
        frame = course(session.read.parquet(*paths))
        write_days(frame, staged.path("gold", table), scratch=staged.path("scratch"))


def write_days(frame: DataFrame, path: Path, *, scratch: Path) -> None:
    """Write a frame partitioned by the day of `window_start`, beside the days already there."""
    sinks.write(frame.withColumn("dt", day_of("window_start")), scratch, by=("dt",))
    sinks.move_partitions(scratch, path)


class _Gold:
    """Reads and writes the staged tables of gold."""

    def __init__(self, session: SparkSession, staged: StagedVersion) -> None:
        self.session = session
        self.staged = staged

    def table(self, name: str) -> DataFrame:
        return self.session.read.parquet(str(self.staged.path("gold", name)))

    def reference(self, name: str) -> DataFrame:
        return self.session.read.parquet(str(self.staged.path("reference", name)))

    def write(self, name: str, frame: DataFrame) -> None:
        sinks.write(frame, self.staged.path("gold", name), files=1)
