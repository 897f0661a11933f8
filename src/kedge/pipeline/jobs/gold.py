"""Gold from silver: roll-up and courses of the days that changed, and the models of all days."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kedge.pipeline import sinks
from kedge.pipeline.jobs.progress import Progress, Silent
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.reference import ASSIGNMENT, BROKERS, REPLICAS, kept_reference
from kedge.pipeline.schemas import SILVER
from kedge.pipeline.snapshots import write_snapshots
from kedge.pipeline.transforms import day_of, roll_up
from kedge.pipeline.transforms.assignment import held_by_brokers
from kedge.pipeline.transforms.detect import Thresholds, findings
from kedge.pipeline.transforms.model import (
    ModelSettings,
    broker_course,
    broker_load,
    partition_course,
    partition_load,
    sample_figures,
    window_load,
)
from kedge.pipeline.warehouse import Staged

DAILY = ("rollup", "partition_course", "broker_course")  # kept by day; the rest is made anew


def refresh_gold(
    session: SparkSession,
    staged: Staged,
    *,
    manifest: Manifest,
    changed: Collection[str],
    thresholds: Thresholds | None = None,
    progress: Progress | None = None,
) -> None:
    """Write every table of gold; silver is staged already, and changed on the days named."""
    told, rows = progress or Silent(), manifest.accounts.kept
    _write_days(session, staged, manifest, changed, told)
    if not manifest.days:
        return
    gold = _Gold(session, staged)
    told.stage("partition_load", rows)
    samples = session.read.schema(SILVER).parquet(str(staged.path("silver")))
    figures, settings = sample_figures(samples), ModelSettings()
    course = gold.table("partition_course")
    gold.write("partition_load", partition_load(course, figures=figures, settings=settings))
    told.stage("broker_load", rows)
    course = gold.table("broker_course")
    gold.write("window_load", window_load(course))
    held = held_by_brokers(
        gold.table("partition_load"),
        replicas=gold.reference(REPLICAS),
        brokers=gold.reference(BROKERS),
    )
    gold.write("broker_load", broker_load(course, held=held, settings=settings))
    told.stage("findings", rows)
    found = findings(
        partitions=gold.table("partition_load"),
        brokers=gold.table("broker_load"),
        assignment=gold.reference(ASSIGNMENT),
        thresholds=thresholds or Thresholds(),
    )
    gold.write("findings", found)
    reference = kept_reference(staged.path("reference"))
    write_snapshots(staged.path("gold"), reference, interval_s=manifest.settings.interval_s)


def _write_days(
    session: SparkSession,
    staged: Staged,
    manifest: Manifest,
    changed: Collection[str],
    told: Progress,
) -> None:
    """The tables that are kept by day: carried over where silver is as it was, else made anew."""
    for table in DAILY:
        for day in manifest.days:
            if day not in changed:
                staged.carry("gold", table, f"dt={day}")
    days = [day for day in manifest.days if day in changed]
    if not days:
        return
    told.stage("rollup", sum(manifest.days[day].rows for day in days))
    silver = [str(staged.path("silver", f"dt={day}")) for day in days]
    rolled = roll_up(
        session.read.schema(SILVER).parquet(*silver), window_s=manifest.settings.window_s
    )
    write_days(rolled, staged.path("gold", "rollup"), scratch=staged.path("scratch"))
    paths = [str(staged.path("gold", "rollup", f"dt={day}")) for day in days]
    courses: dict[str, Callable[[DataFrame], DataFrame]] = {
        "partition_course": partition_course,
        "broker_course": broker_course,
    }
    for table, course in courses.items():
        frame = course(session.read.parquet(*paths))
        write_days(frame, staged.path("gold", table), scratch=staged.path("scratch"))


def write_days(frame: DataFrame, path: Path, *, scratch: Path) -> None:
    """Write the days of a frame with windows beside the days that are there."""
    sinks.write(frame.withColumn("dt", day_of("window_start")), scratch, by=("dt",))
    sinks.move_parts(scratch, path)


class _Gold:
    """The tables of gold in the making."""

    def __init__(self, session: SparkSession, staged: Staged) -> None:
        self.session = session
        self.staged = staged

    def table(self, name: str) -> DataFrame:
        return self.session.read.parquet(str(self.staged.path("gold", name)))

    def reference(self, name: str) -> DataFrame:
        return self.session.read.parquet(str(self.staged.path("reference", name)))

    def write(self, name: str, frame: DataFrame) -> None:
        sinks.write(frame, self.staged.path("gold", name), files=1)
