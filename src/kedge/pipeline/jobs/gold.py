"""Writes gold from silver: roll-up and time series of the changed days, and models of all days."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kedge.pipeline import schemas, sinks
from kedge.pipeline.broker_health import TABLE as HEALTH
from kedge.pipeline.finding_history import record_findings
from kedge.pipeline.jobs.context import NoProgress, Progress
from kedge.pipeline.load_snapshots import write_snapshots
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.reference import ASSIGNMENT, BROKERS, REPLICAS, stored_reference
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

DAILY = ("rollup", "partition_course", "broker_course")  # by day; all others are recomputed


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
    gold = _Gold(session, staged)
    _write_days(gold, manifest, changed, reporter)
    staged.link_current(*HEALTH.split("/"))  # only runs that read metrics of brokers change it
    if not manifest.days:
        return
    reporter.stage("partition_load", rows)
    statistics, settings = sample_statistics(gold.silver()), ModelSettings()
    course = gold.table("partition_course")
    gold.write("partition_load", partition_load(course, statistics=statistics, settings=settings))
    reporter.stage("broker_load", rows)
    course = gold.table("broker_course")
    gold.write("window_load", window_load(course))
    disk_use = broker_disk_use(
        gold.table("partition_load"),
        replicas=gold.reference(REPLICAS, schemas.REPLICAS),
        brokers=gold.reference(BROKERS, schemas.BROKERS),
    )
    gold.write("broker_load", broker_load(course, disk_use=disk_use, settings=settings))
    reporter.stage("findings", rows)
    findings = all_findings(
        partitions=gold.table("partition_load"),
        brokers=gold.table("broker_load"),
        assignment=gold.reference(ASSIGNMENT, schemas.ASSIGNMENT),
        thresholds=thresholds or Thresholds(),
    )
    gold.write("findings", findings)
    record_findings(staged.path("gold"), staged.current_path("gold"))
    reference = stored_reference(staged.path("reference"))
    write_snapshots(staged.path("gold"), reference, interval_s=manifest.settings.interval_s)


def _write_days(
    gold: _Gold, manifest: Manifest, changed: Collection[str], reporter: Progress
) -> None:
    """Write the tables partitioned by day: linked if silver did not change, else recomputed."""
    for table in DAILY:
        for day in manifest.days:
            if day not in changed:
                gold.staged.link_current("gold", table, f"dt={day}")
    days = [day for day in manifest.days if day in changed]
    if not days:
        return
    reporter.stage("rollup", sum(manifest.days[day].rows for day in days))
    gold.write_days("rollup", roll_up(gold.silver(days), window_s=manifest.settings.window_s))
    gold.write_days("partition_course", partition_course(gold.table("rollup", days)))
    gold.write_days("broker_course", broker_course(gold.table("rollup", days)))


class _Gold:
    """Reads and writes the staged tables of gold.

    It keeps the schema of each table that it writes: to infer it from the files is a Spark job.
    """

    def __init__(self, session: SparkSession, staged: StagedVersion) -> None:
        self.session = session
        self.staged = staged
        self._schemas: dict[str, StructType] = {}

    def silver(self, days: Collection[str] | None = None) -> DataFrame:
        return self.session.read.schema(schemas.SILVER).parquet(*self._paths(("silver",), days))

    def table(self, name: str, days: Collection[str] | None = None) -> DataFrame:
        schema = self._schemas.get(name)
        reader = self.session.read if schema is None else self.session.read.schema(schema)
        return reader.parquet(*self._paths(("gold", name), days))

    def reference(self, name: str, schema: StructType) -> DataFrame:
        return self.session.read.schema(schema).parquet(str(self.staged.path("reference", name)))

    def write(self, name: str, frame: DataFrame) -> None:
        self._schemas[name] = frame.schema
        sinks.write(frame, self.staged.path("gold", name), files=1)

    def write_days(self, name: str, frame: DataFrame) -> None:
        """Write a frame partitioned by the day of `window_start`, beside the linked days."""
        self._schemas[name] = frame.schema
        scratch = self.staged.path("scratch")
        sinks.write(frame.withColumn("dt", day_of("window_start")), scratch, by=("dt",))
        sinks.move_partitions(scratch, self.staged.path("gold", name))

    def _paths(self, table: tuple[str, ...], days: Collection[str] | None) -> list[str]:
        if days is None:
            return [str(self.staged.path(*table))]
        return [str(self.staged.path(*table, f"dt={day}")) for day in days]
