"""Writes gold from silver: roll-up and time series of the changed days, and models of all days."""

from __future__ import annotations

from collections.abc import Collection

import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kedge.pipeline import schemas, sinks
from kedge.pipeline.finding_history import record_findings
from kedge.pipeline.jobs.context import NoProgress, Progress
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.reference import ASSIGNMENT, BROKERS, REPLICAS
from kedge.pipeline.tables.staged_run import StagedRun
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


def refresh_gold(
    session: SparkSession,
    staged: StagedRun,
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
    record_findings(staged)


def _write_days(
    gold: _Gold, manifest: Manifest, changed: Collection[str], reporter: Progress
) -> None:
    """Recompute the changed days of the tables that are kept by day."""
    days = [day for day in manifest.days if day in changed]
    if not days:
        return
    reporter.stage("rollup", sum(manifest.days[day].rows for day in days))
    gold.write_days("rollup", roll_up(gold.silver(days), window_s=manifest.settings.window_s), days)
    gold.write_days("partition_course", partition_course(gold.table("rollup", days)), days)
    gold.write_days("broker_course", broker_course(gold.table("rollup", days)), days)


class _Gold:
    """Reads and writes the staged tables of gold.

    It keeps the schema of each table that it writes: to infer it from the files is a Spark job.
    """

    def __init__(self, session: SparkSession, staged: StagedRun) -> None:
        self.session = session
        self.staged = staged
        self._schemas: dict[str, StructType] = {}

    def silver(self, days: Collection[str] | None = None) -> DataFrame:
        return self._read("silver", schemas.SILVER, days)

    def table(self, name: str, days: Collection[str] | None = None) -> DataFrame:
        table = f"gold/{name}"
        schema = self._schemas.get(name) or self._stored_schema(table)
        return self._read(table, schema, days)

    def reference(self, name: str, schema: StructType) -> DataFrame:
        return self._read(name, schema)

    def write(self, name: str, frame: DataFrame) -> None:
        self._schemas[name] = frame.schema
        sinks.replace_table(self.staged, f"gold/{name}", frame)

    def write_days(self, name: str, frame: DataFrame, days: Collection[str]) -> None:
        """Replace days of a table; they are those of `window_start`."""
        self._schemas[name] = frame.schema
        dated = frame.withColumn("dt", day_of("window_start"))
        sinks.replace_days(self.staged, f"gold/{name}", dated, days)

    def _read(
        self, table: str, schema: StructType, days: Collection[str] | None = None
    ) -> DataFrame:
        if table not in self.staged.changes or days is None:
            self.staged.rows_read += sum(one.rows for one in self.staged.files(table, days))
        return sinks.read(self.session, self.staged, table, schema, days=days)

    def _stored_schema(self, table: str) -> StructType:
        found = StructType.fromJson(orjson.loads(self.staged.schema(table)))
        return StructType([field for field in found.fields if field.name != "dt"])
