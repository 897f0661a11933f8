"""`kedge pipeline ingest`: metrics into tables."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.cluster_description import described_cluster, series_names
from kedge.cli.connection import (
    CommandConfigOption,
    echo_json,
    read_properties,
)
from kedge.cli.interrupts import stop_event
from kedge.cli.option_group import with_option_group
from kedge.cli.options import Output, OutputOption, console, note, say
from kedge.cli.pipeline_options import (
    SAMPLES_TOPIC,
    JarsOption,
    MasterOption,
    MemoryOption,
    PipelineCommand,
    TablesOption,
    spark_settings,
)
from kedge.cli.prometheus_options import PrometheusOptions, note_unmeasured, note_warnings, seconds
from kedge.errors import InvalidRequest
from kedge.model.parse_amounts import check_moment
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.metrics.parsing.cluster_metadata import ClusterMetadata, LeaderHistory
    from kedge.pipeline.jobs.context import SizedSessionFactory
    from kedge.pipeline.jobs.follow_records import RecordStream
    from kedge.pipeline.jobs.ingest import IngestResult
    from kedge.pipeline.manifest import Settings


class FormatName(StrEnum):
    """The forms of files of samples."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"


class SourceName(StrEnum):
    """Where metrics come from."""

    ROWS = "rows"
    PROMETHEUS = "prometheus"
    SCRAPE = "scrape"
    ADMIN = "admin"
    CRUISE_CONTROL = "cruise-control"
    KMINION = "kminion"


# Sources that are also read from a topic, and its name.
TOPICS = {
    SourceName.CRUISE_CONTROL: "__CruiseControlMetrics",
    SourceName.SCRAPE: SAMPLES_TOPIC,
    SourceName.ADMIN: SAMPLES_TOPIC,
}
# Brokers count what is read by topic; committed offsets tell of which partitions.
WITHOUT_GROUPS = (SourceName.PROMETHEUS, SourceName.SCRAPE)


@dataclass(frozen=True)
class IngestOptions:
    """What is ingested, the cluster that it is of, and where to, as typed."""

    tables: TablesOption
    source: Annotated[
        str | None,
        typer.Option(
            "--input", help="Directory of files of the source; rows: also hdfs://…, s3a://…"
        ),
    ] = None
    kind: Annotated[SourceName, typer.Option("--source", help="Where the metrics come from")] = (
        SourceName.ROWS
    )
    metadata: Annotated[
        Path | None,
        typer.Option(help="The cluster: JSON with its name, brokers and instance_to_broker"),
    ] = None
    leaders: Annotated[
        Path | None, typer.Option(help="Leaders over time: JSON, for sources without them")
    ] = None
    groups: Annotated[
        Path | None,
        typer.Option(
            help="Admin snapshots with committed offsets, which tell who reads what; "
            "the directory admin beside --input if there is one"
        ),
    ] = None
    bootstrap_server: Annotated[
        str, typer.Option("--bootstrap-server", help="Or a live cluster that tells both")
    ] = ""
    command_config: CommandConfigOption = None
    start: Annotated[
        float | None, typer.Option("--from", help="With --prometheus: start, seconds since 1970")
    ] = None
    end: Annotated[
        float | None, typer.Option("--to", help="With --prometheus: end; now without")
    ] = None
    topic: Annotated[
        str,
        typer.Option(
            "--topic",
            help="With --bootstrap-server, of Cruise Control or of `pipeline produce --samples`; "
            "__CruiseControlMetrics or kedge.samples without",
        ),
    ] = ""
    every: Annotated[str, typer.Option(help="Go on reading the topic, at this pause, like 60s")] = (
        ""
    )
    mapping: Annotated[
        Path | None, typer.Option(help="Series of other exporter rules: a TOML file")
    ] = None
    form: Annotated[FormatName, typer.Option("--format", help="Form of the files of rows")] = (
        FormatName.PARQUET
    )
    brokers: Annotated[
        str | None,
        typer.Option("--brokers", help="For rows: table of brokers (Parquet, CSV, JSON lines)"),
    ] = None
    assignment: Annotated[
        str | None,
        typer.Option("--assignment", help="For rows: table of partitions and their replicas"),
    ] = None
    allowed_lateness: Annotated[
        int, typer.Option(help="Seconds after which a row counts as late", min=0)
    ] = 1800
    interval: Annotated[int, typer.Option(help="Seconds that a sample covers", min=1)] = 60
    master: MasterOption = "local[2]"
    driver_memory: MemoryOption = "2g"
    jars: JarsOption = ""
    output: OutputOption = Output.TABLE

    def settings(self) -> Settings:
        """The settings of the tables."""
        from kedge.pipeline.manifest import Settings

        return Settings(allowed_lateness_s=self.allowed_lateness, interval_s=self.interval)

    def described(self) -> tuple[ClusterMetadata, LeaderHistory]:
        """The cluster that the metrics are of, and its leaders."""
        return described_cluster(
            self.kind, self.metadata, self.leaders, self.bootstrap_server, self.command_config
        )

    def session(self) -> SizedSessionFactory:
        """Makes the Spark session for so many rows."""
        from kedge.pipeline.session import spark_session

        chosen = spark_settings(self.master, self.driver_memory, self.jars, written=[self.tables])
        return lambda rows: spark_session(chosen.for_rows(rows))


def register(app: typer.Typer) -> None:
    """Add the command to the group `pipeline`."""
    with_server = with_option_group(PrometheusOptions, into="server")
    with_rest = with_option_group(IngestOptions)
    app.command("ingest", cls=PipelineCommand)(with_server(with_rest(ingest_command)))


def ingest_command(options: IngestOptions, server: PrometheusOptions) -> None:
    """Ingest metrics: raw values, samples, load models, findings, snapshots

    Sources: answers of Prometheus, scrapes of /metrics, admin snapshots, Cruise Control's topic,
    kminion, or rows with the bytes of each replica.

    Example: kedge pipeline ingest --input metrics/ --format parquet --brokers brokers.parquet
    --assignment assignment.parquet --tables history/
    """
    check_moment(options.start, "--from")
    check_moment(options.end, "--to")
    if server.prometheus:
        options = replace(options, kind=SourceName.PROMETHEUS)
    if options.kind in TOPICS and options.source is None and options.bootstrap_server:
        options = replace(options, topic=options.topic or TOPICS[options.kind])
        done = _ingest_topic(options)
        if done is None:
            say(f"{options.topic} has no new records")
            return
    elif (options.source is None) != bool(server.prometheus):
        raise InvalidRequest(
            "no metrics given" if options.source is None else "metrics from two places",
            hint="use either --input DIRECTORY or --prometheus URL",
        )
    elif options.kind is SourceName.ROWS and options.source is not None:
        done = _ingest_rows(options, options.source)
    else:
        done = _ingest_metrics(options, server)
    show_run(done, options.tables, options.output)


def _ingest_topic(options: IngestOptions) -> IngestResult | None:
    """The new records of a topic; None where there are none."""
    from kedge.pipeline.jobs.follow_records import follow_records
    from kedge.pipeline.session import spark_session

    stream = _record_stream(options)
    pause = seconds(options.every, "--every") if options.every else None
    chosen = spark_settings(
        options.master, options.driver_memory, options.jars, written=[options.tables]
    )
    with spark_session(chosen) as spark, stop_event() as stop:
        return follow_records(
            stream,
            lambda _: nullcontext(spark),
            wait=lambda: pause is None or stop.wait(pause),
            missed=lambda error: note(f"{error}; tried again in {options.every}"),
        )


def _record_stream(options: IngestOptions) -> RecordStream:
    """The topic of records, of the cluster that its description names."""
    from kedge.metrics.origins import Origin
    from kedge.pipeline.jobs.follow_records import RecordStream
    from kedge.pipeline.sources.record_spool import RecordTopic

    records = RecordTopic(
        options.bootstrap_server,
        options.topic,
        options.described()[0].cluster,
        read_properties(options.command_config),
        Origin(options.kind),
    )
    names = series_names(options.mapping)
    return RecordStream(records, options.described, options.tables, options.settings(), names)


def _ingest_rows(options: IngestOptions, source: str) -> IngestResult:
    from kedge.cli.pipeline_progress import shown
    from kedge.pipeline.jobs.ingest import IngestRequest, ingest
    from kedge.pipeline.session import LOCAL_ROWS_MAX
    from kedge.pipeline.sources.sample_files import Format

    if options.brokers is None or options.assignment is None:
        raise InvalidRequest("rows need --brokers and --assignment")
    request = IngestRequest(
        source,
        Format(options.form),
        options.brokers,
        options.assignment,
        options.tables,
        options.settings(),
    )
    # A cluster, or a library that the user names, is used.
    here = options.master.startswith("local") and not options.jars
    limit = LOCAL_ROWS_MAX if here else 0
    with shown("reading files") as progress:
        return ingest(request, options.session(), progress=progress, rows_here_max=limit)


def _ingest_metrics(options: IngestOptions, server: PrometheusOptions) -> IngestResult:
    """The metrics of another system, and the committed offsets that explain what was read."""
    from kedge.cli.pipeline_progress import shown
    from kedge.metrics.origins import Origin
    from kedge.pipeline.jobs.ingest_metrics import MetricsRequest, ingest_metrics

    source = _local_input(options)
    metadata, leaders = options.described()
    names = series_names(options.mapping)
    with ExitStack() as stack:
        if source is None:
            downloaded = server.downloaded(names, start=options.start, end=options.end)
            source = stack.enter_context(downloaded)[0].parent
        request = MetricsRequest(source, Origin(options.kind), metadata, options.tables, leaders)
        request = replace(request, names=names, settings=options.settings())
        progress = stack.enter_context(shown())
        groups = options.groups or _groups_beside(options)
        if groups is not None:
            note(f"committed offsets are taken from {groups}")
        request = replace(request, groups=groups)
        return ingest_metrics(request, options.session(), progress=progress)


def _local_input(options: IngestOptions) -> Path | None:
    """The directory of input; refused if it is not of this machine."""
    if options.source is not None and "://" in options.source:
        hint = _address_hint(options.kind, options.source)
        raise InvalidRequest(f"{options.source}: not a directory of this machine", hint=hint)
    return None if options.source is None else Path(options.source)


def _address_hint(kind: SourceName, address: str) -> str:
    """How a live address is read: rates need values of several moments, not one answer."""
    if not address.startswith(("http://", "https://")):
        return "only --source rows reads hdfs://… and s3a://…"
    if kind is SourceName.PROMETHEUS:
        return "a server is named by --prometheus URL"
    return (
        f"first `kedge pipeline sample --bootstrap-server HOST:PORT --scrape {address}=BROKER "
        "--for 10m --out samples`, then this command with --input samples/scrape --metadata "
        "samples/metadata.json --leaders samples/leaders.json.gz; or to a topic with `kedge "
        "pipeline produce --samples`"
    )


def _groups_beside(options: IngestOptions) -> Path | None:
    """The admin snapshots of the recording that the input is a part of."""
    from kedge.pipeline.sources.metric_files import snapshots_beside

    source = _local_input(options)
    return snapshots_beside(source) if source and options.kind in WITHOUT_GROUPS else None


def show_run(done: IngestResult, tables: str, output: Output) -> None:
    """Show the row counts of a run."""
    note_warnings(done.warnings)
    note_unmeasured(done.unmeasured)
    if done.values_without_samples:
        note(
            f"no sample was made of {done.values_without_samples:,} values: this needs values of "
            "two moments, and leaders (--leaders, --bootstrap-server) where the source has neither "
            "leaders nor log sizes of partitions"
        )
    if output is Output.JSON:
        echo_json(asdict(done))
        return
    from rich.table import Table

    from kedge.report.findings import account_rows

    table = Table(title=printable(f"{tables}, all runs together"), title_justify="left")
    table.add_column("")
    table.add_column("rows", justify="right")
    for name, count in account_rows(done.accounts):
        table.add_row(printable(name), f"{count:,}")
    console().print(table)
    skipped = f", {done.files_skipped} known already" if done.files_skipped else ""
    say(f"run {done.run_id}: {done.rows:,} rows of {done.files} new files{skipped}")
    if done.rows_written:
        say(f"{done.rows_merged:,} rows of tables read, {done.rows_written:,} written")
    others = [name for name in done.ignored if name.endswith("of other instances")]
    if others:
        note(f"{others[0]}: not brokers of the metadata; see instance_to_broker")
