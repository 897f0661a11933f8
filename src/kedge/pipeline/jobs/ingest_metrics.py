"""Ingests metrics of other systems: the job of `kedge pipeline ingest --source …`.

    files ── parse ──► measurements/topics, measurements/brokers (by day)
    measurements of the changed days, of all sources ── attribute ──► samples
    samples and unparsed text ── merge ──► bronze, silver, quarantine ──► gold

The samples of a day are made of all its measurements, whichever run and source they came with: a
later run replaces the samples that an earlier one made of fewer measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.errors import InvalidRequest, OutputInUse
from kedge.metrics.origins import BY_BROKER, Origin
from kedge.metrics.parsing.cluster_metadata import ClusterMetadata, LeaderHistory
from kedge.metrics.parsing.name_resolution import distinct_topics
from kedge.metrics.parsing.series_names import ExporterNames, SeriesNames
from kedge.pipeline import partition_states, sinks
from kedge.pipeline.derived_files import write_derived_files
from kedge.pipeline.jobs.context import NoProgress, Progress, SizedSessionFactory
from kedge.pipeline.jobs.ingest import IngestResult, new_run_id
from kedge.pipeline.jobs.parsed_days import ParsedDays, add_days, shifted, with_neighbours
from kedge.pipeline.manifest import Manifest, Settings
from kedge.pipeline.reference import Reference, reference_of, stored_reference, write_reference
from kedge.pipeline.sources.metric_files import (
    MetricFile,
    ParseSettings,
    distinct_files,
    find_metric_files,
    instances_in,
    topics_in,
)
from kedge.pipeline.sources.record_spool import Spooled
from kedge.pipeline.tables.delta_log import paths_of
from kedge.pipeline.tables.staged_run import StagedRun
from kedge.pipeline.warehouse import Place, Warehouse, check_warehouse, open_warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EXPECTED = {
    Origin.SCRAPE: "the text of a /metrics endpoint",
    Origin.PROMETHEUS: "an answer of query_range",
    Origin.KMINION: "a scrape of kminion or an answer of query_range",
    Origin.ADMIN: "a snapshot of admin requests",
    Origin.CRUISE_CONTROL: "a list of records of the topic",
}
# to estimate the number of rows
BYTES_PER_MEASUREMENT = {True: 3, False: 25}  # whether the file is compressed
TOPICS, BROKERS = "measurements/topics", "measurements/brokers"
PARSED = "parsed"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MetricsRequest:
    """The files to ingest, the cluster that they are of, and the directory of tables."""

    source: Path
    origin: Origin
    metadata: ClusterMetadata
    tables: Place
    leaders: LeaderHistory = ()
    names: SeriesNames = field(default_factory=ExporterNames)
    settings: Settings = field(default_factory=Settings)
    positions: Spooled | None = None  # of the topic that the files were copied from
    groups: Path | None = None  # admin snapshots with committed offsets, beside the metrics

    @property
    def inputs(self) -> tuple[tuple[Path, Origin], ...]:
        """The directories of files, and what they are."""
        if self.positions is not None:
            return self.positions.inputs
        beside = () if self.groups is None else ((self.groups, Origin.ADMIN),)
        return ((self.source, self.origin), *beside)


def ingest_metrics(
    request: MetricsRequest, session: SizedSessionFactory, *, progress: Progress | None = None
) -> IngestResult:
    """Ingest the new files of a source; all input is validated before anything is written."""
    check_warehouse(request.tables)
    distinct: list[MetricFile] = []
    paths = 0
    for source, origin in request.inputs:
        found = find_metric_files(source, origin)
        distinct += distinct_files(found, (file.sha256 for file in distinct), origin)
        paths += len(found)
    with open_warehouse(request.tables, new_run_id()) as warehouse:
        before = warehouse.manifest
        if warehouse.last is not None:
            request.settings.check_unchanged(before.settings)
        before = replace(before, settings=request.settings, run_id=warehouse.run_id)
        _check_positions(request, before)
        # records of a topic are known by their offsets, which have to move on
        known = before.contents if request.positions is None else dict[str, str]()
        files = [file for file in distinct if file.sha256 not in known]
        after, days, parsed = before, list[str](), ParsedDays()
        if files:
            reporter = progress or NoProgress()
            rows = before.accounts.kept + sum(map(_measurements, files))
            with session(rows) as spark:
                reporter.attach(spark)
                run = _MetricsRun(request, warehouse, reporter, spark, before, files)
                after, days, parsed = run.execute()
    made = after.rows_read - before.rows_read
    return IngestResult(
        run_id=warehouse.run_id,
        accounts=after.accounts,
        files=len(files),
        files_skipped=paths - len(files),
        rows=made,
        days=tuple(days),
        ignored=parsed.ignored,
        warnings=parsed.warnings,
        unmeasured=_unmeasured(request, parsed) if files else (),
        values_without_samples=parsed.values if made == parsed.unparsed else 0,
    )


def _unmeasured(request: MetricsRequest, parsed: ParsedDays) -> tuple[int, ...]:
    """The brokers that the files tell nothing of; records of a topic come a few at a time."""
    if request.origin not in BY_BROKER or request.positions is not None:
        return ()
    return tuple(sorted(request.metadata.ids - parsed.brokers))


def _measurements(file: MetricFile) -> int:
    """About how many a file has."""
    return file.bytes // BYTES_PER_MEASUREMENT[file.path.name.endswith(".gz")]


def _check_positions(request: MetricsRequest, before: Manifest) -> None:
    """Refuse records that another run has ingested since they were copied."""
    if request.positions is None:
        return
    for key, offset in request.positions.before.items():
        if before.streams.get(key, -1) != offset:
            what = f"{request.tables}: another run has ingested records of the topic meanwhile"
            raise OutputInUse(what, hint="run again")


@dataclass(frozen=True, slots=True)
class _MetricsRun:
    request: MetricsRequest
    warehouse: Warehouse
    progress: Progress
    spark: SparkSession
    before: Manifest
    files: Sequence[MetricFile]

    def execute(self) -> tuple[Manifest, list[str], ParsedDays]:
        """Stage and publish a run with these files."""
        from kedge.pipeline.jobs.gold import refresh_gold

        with self.warehouse.stage() as staged, sinks.translate_spark_errors():
            states = self._states(staged)
            parsed = self._parse(staged, states)
            days = with_neighbours(parsed.days, staged.days(TOPICS))
            stored = self._stored_reference()
            write_reference(self._brokers_only(stored), staged)
            after, changed = self._merge(staged, parsed, days, states)
            seen = self._newest_assignment(staged)
            write_reference(self._reference(stored, states, seen), staged)
            refresh_gold(
                lambda: self.spark, staged, manifest=after, changed=changed, progress=self.progress
            )
            self._write_health(staged)
            self.warehouse.publish(staged, after)
        write_derived_files(self.warehouse)
        return after, changed, parsed

    # ---- measurements ---------------------------------------------------------------------------

    def _states(self, staged: StagedRun) -> list[Row]:
        """Leaders over time of all clusters: those of earlier runs and of this one."""
        new = partition_states.history_rows(self.request.metadata.cluster, self.request.leaders)
        rows = partition_states.merged_rows(partition_states.stored_rows(staged), new)
        partition_states.write_rows(rows, staged)
        return rows

    def _parse(self, staged: StagedRun, states: Sequence[Row]) -> ParsedDays:
        from kedge.pipeline import schemas
        from kedge.pipeline.sources.measurement_writer import write_measurements

        self.progress.stage("measurements", sum(f.bytes for f in self.files))
        target, settings = staged.scratch(PARSED), self._parse_settings(states)
        paths = write_measurements(self.spark, self.files, settings, target)
        parsed = ParsedDays.of(target, paths)
        if not parsed.found and self._is_refused(parsed):
            raise InvalidRequest(self._nothing_found(parsed), hint=parsed.hint)
        added: dict[str, int] = {}
        for level, table in (("topics", TOPICS), ("brokers", BROKERS)):
            schema = sinks.table_schema(table, schemas.MEASUREMENT)
            added[table] = add_days(staged, PARSED, parsed.files.get(level, ()), table, schema)
        return replace(parsed, values=added[TOPICS])

    def _parse_settings(self, states: Sequence[Row]) -> ParseSettings:
        request, cluster = self.request, self.request.metadata.cluster
        topics = {row["topic"] for row in states if row["cluster"] == cluster}
        names = distinct_topics(topics | topics_in(self.files), self._stored_topics())
        learned = instances_in(self.files)
        return ParseSettings(request.origin, request.metadata, names, learned, request.names)

    def _stored_topics(self) -> set[str]:
        """The topics that the tables have of this cluster."""
        stored = self._stored_reference()
        rows: list[Row] = [] if stored is None else stored.assignment.to_pylist()
        return {row["topic"] for row in rows if row["cluster"] == self.request.metadata.cluster}

    def _is_refused(self, parsed: ParsedDays) -> bool:
        """Whether to refuse input without any value; in tables that exist its text is kept."""
        if self.warehouse.last is None:
            return True
        return not parsed.unparsed and self.request.positions is None

    def _nothing_found(self, parsed: ParsedDays) -> str:
        source, count = self.request.source, len(self.files)
        if parsed.unparsed:
            return f"{source}: none of {count} files is {_EXPECTED[self.request.origin]}"
        return f"{source}: {count} files without a series that is needed"

    # ---- samples --------------------------------------------------------------------------------

    def _merge(
        self, staged: StagedRun, parsed: ParsedDays, days: Sequence[str], states: Sequence[Row]
    ) -> tuple[Manifest, list[str]]:
        from kedge.pipeline.jobs.bronze import write_parsed_rows
        from kedge.pipeline.jobs.merge import Batch, ReplacedSamples, merge
        from kedge.pipeline.sources.file_reader import PROVENANCE

        cluster = self.request.metadata.cluster
        rows = self._raw_rows(staged, parsed, days, states)
        batch = Batch(
            write_parsed_rows(rows, PROVENANCE),
            PROVENANCE,
            sum(one.rows for one in staged.files(TOPICS, days)) // 10,
            self.warehouse.run_id,
            ReplacedSamples(cluster, days),
        )
        after, changed = merge(
            self.spark, staged, batch, manifest=self.before, progress=self.progress
        )
        contents = {file.sha256: str(file.path) for file in self.files}
        positions = self.request.positions
        streams = {**self.before.streams, **(positions.after if positions else {})}
        contents = {**self.before.contents, **({} if positions else contents)}
        return replace(after, contents=contents, streams=streams), changed

    def _raw_rows(
        self, staged: StagedRun, parsed: ParsedDays, days: Sequence[str], states: Sequence[Row]
    ) -> DataFrame:
        """The samples of these days, and one row with its text for all that was not parsed."""
        from pyspark.sql import functions as F

        from kedge.pipeline import schemas

        origin = F.lit(str(self.request.origin)).alias("source")
        columns = (*schemas.SAMPLE_COLUMNS, *schemas.ATTRIBUTION_COLUMNS)
        nothing = F.lit(None).cast("string")
        samples = self._samples(staged, days, states)
        rows = samples.select(
            *columns, nothing.alias(schemas.RAW_TEXT), origin, nothing.alias("file")
        )
        if not parsed.unparsed:
            return rows
        paths = [staged.scratch(PARSED).child(path) for path in parsed.files["unparsed"]]
        text = self.spark.read.schema(schemas.MEASUREMENT).parquet(*paths)
        fields = (*schemas.SAMPLE.fields, *schemas.ATTRIBUTION.fields)
        nulls = [F.lit(None).cast(f.dataType).alias(f.name) for f in fields]
        return rows.unionByName(text.select(*nulls, schemas.RAW_TEXT, origin, "file"))

    def _samples(self, staged: StagedRun, days: Sequence[str], states: Sequence[Row]) -> DataFrame:
        from kedge.pipeline.sources.packed_measurements import packed_measurements
        from kedge.pipeline.transforms.attribution import AttributionSettings, attribute

        cluster = self.request.metadata.cluster
        around = sorted({shifted(day, by) for day in days for by in (-1, 0, 1)})
        files = staged.files(TOPICS, around)
        paths, rows = paths_of(staged.location, TOPICS, files), sum(one.rows for one in files)
        packed = packed_measurements(self.spark, paths, cluster, days=days, rows=rows)
        settings = AttributionSettings(
            self.before.settings.interval_s * 1000,
            self.warehouse.next_number,
            {day: tuple(staged.paths(BROKERS, [day])) for day in around},
        )
        by_topic = partition_states.states_of(states, cluster)
        return attribute(packed, cluster=cluster, states=by_topic, settings=settings)

    def _write_health(self, staged: StagedRun) -> None:
        """Latencies and flush times of brokers, of all days."""
        from kedge.pipeline import schemas
        from kedge.pipeline.broker_health import TABLE
        from kedge.pipeline.transforms.broker_health import broker_health

        if staged.files(BROKERS):
            measured = sinks.read(self.spark, staged, BROKERS, schemas.MEASUREMENT)
            sinks.replace_table(staged, TABLE, broker_health(measured))

    # ---- reference tables -----------------------------------------------------------------------

    def _stored_reference(self) -> Reference | None:
        last = self.warehouse.last
        if last is None:
            return None
        return stored_reference(StagedRun(self.warehouse.location, "", last).read)

    def _broker_rows(self, stored: Reference | None) -> list[Row]:
        metadata = self.request.metadata
        rows: list[Row] = [] if stored is None else stored.brokers.to_pylist()
        others = [row for row in rows if row["cluster"] != metadata.cluster]
        known = {r["broker"]: r["disk_capacity_bytes"] for r in rows if r not in others}
        return others + [
            {
                "cluster": metadata.cluster,
                "broker": broker.id,
                "rack": broker.rack,
                "disk_capacity_bytes": broker.disk_capacity_bytes or known.get(broker.id),
            }
            for broker in metadata.brokers
        ]

    def _brokers_only(self, stored: Reference | None) -> Reference:
        return reference_of(self._broker_rows(stored), [])

    def _reference(
        self, stored: Reference | None, states: Sequence[Row], seen: Sequence[Row]
    ) -> Reference:
        """Brokers of the metadata; the assignment of leaders over time, or else of the samples."""
        cluster, brokers = self.request.metadata.cluster, self._broker_rows(stored)
        kept: list[Row] = [] if stored is None else stored.assignment.to_pylist()
        own = [row for row in states if row["cluster"] == cluster]
        placed = partition_states.assignment_rows(own, seen)
        ids = {row["broker"] for row in brokers if row["cluster"] == cluster}
        placed = [row for row in placed if ids.issuperset(row["replicas"])]
        return reference_of(brokers, [r for r in kept if r["cluster"] != cluster] + placed)

    def _newest_assignment(self, staged: StagedRun) -> list[Row]:
        """Replicas and leader of each partition in its newest samples."""
        from pyspark.sql import functions as F

        from kedge.pipeline import schemas

        days = staged.days("silver")[-2:]
        if not days:
            return []
        silver = sinks.read(self.spark, staged, "silver", schemas.SILVER, days=days)
        own = silver.where(F.col("cluster") == self.request.metadata.cluster)
        own = own.groupBy(*schemas.REPLICA_KEY).agg(  # few rows: the newest of each replica
            F.max("ts").alias("ts"), F.max_by("is_leader", "ts").alias("is_leader")
        )
        leader = F.max(F.when(F.col("is_leader"), F.col("broker"))).alias("leader")
        replicas = F.sort_array(F.collect_set("broker")).alias("replicas")
        moments = own.groupBy("cluster", "topic", "partition", "ts").agg(leader, replicas)
        newest = F.max(F.struct("ts", "leader", "replicas")).alias("last")
        rows = moments.groupBy("cluster", "topic", "partition").agg(newest)
        found = rows.select("cluster", "topic", "partition", "last.leader", "last.replicas")
        return [_leader_first(row.asDict()) for row in found.collect()]


def _leader_first(row: Row) -> Row:
    return {**row, "replicas": sorted(row["replicas"], key=lambda b: (b != row["leader"], b))}
