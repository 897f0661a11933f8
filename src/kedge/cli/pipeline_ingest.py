"""`kedge pipeline ingest`: metrics into tables."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import asdict, replace
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
    JarsOption,
    MasterOption,
    MemoryOption,
    PipelineCommand,
    TablesOption,
    spark_settings,
)
from kedge.cli.prometheus_options import PrometheusOptions, seconds
from kedge.errors import InvalidRequest
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.pipeline.jobs.ingest import IngestResult


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


def register(app: typer.Typer) -> None:
    """Add the command to the group `pipeline`."""
    with_server = with_option_group(PrometheusOptions, into="server")
    app.command("ingest", cls=PipelineCommand)(with_server(ingest_command))


def ingest_command(
    server: PrometheusOptions,
    tables: TablesOption,
    source: Annotated[
        Path | None, typer.Option("--input", help="Directory of files of the source")
    ] = None,
    kind: Annotated[
        SourceName, typer.Option("--source", help="Where the metrics come from")
    ] = SourceName.ROWS,
    metadata: Annotated[
        Path | None,
        typer.Option(help="The cluster: JSON with its name, brokers and instance_to_broker"),
    ] = None,
    leaders: Annotated[
        Path | None, typer.Option(help="Leaders over time: JSON, for sources without them")
    ] = None,
    bootstrap_server: Annotated[
        str, typer.Option("--bootstrap-server", help="Or a live cluster that tells both")
    ] = "",
    command_config: CommandConfigOption = None,
    start: Annotated[
        float | None, typer.Option("--from", help="With --prometheus: start, seconds since 1970")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--to", help="With --prometheus: end; now without")
    ] = None,
    topic: Annotated[
        str, typer.Option("--topic", help="With --bootstrap-server: the topic of Cruise Control")
    ] = "__CruiseControlMetrics",
    every: Annotated[
        str, typer.Option(help="Go on reading the topic, at this pause, like 60s")
    ] = "",
    mapping: Annotated[
        Path | None, typer.Option(help="Series of other exporter rules: a TOML file")
    ] = None,
    form: Annotated[FormatName, typer.Option("--format", help="Form of the files of rows")] = (
        FormatName.PARQUET
    ),
    brokers: Annotated[
        Path | None,
        typer.Option("--brokers", help="For rows: table of brokers (Parquet, CSV, JSON lines)"),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option("--assignment", help="For rows: table of partitions and their replicas"),
    ] = None,
    allowed_lateness: Annotated[
        int, typer.Option(help="Seconds after which a row counts as late", min=0)
    ] = 1800,
    interval: Annotated[int, typer.Option(help="Seconds that a sample covers", min=1)] = 60,
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    jars: JarsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Ingest metrics: raw values, samples, load models, findings, snapshots

    Sources: answers of Prometheus, scrapes of /metrics, admin snapshots, Cruise Control's topic,
    kminion, or rows with the bytes of each replica.

    Example: kedge pipeline ingest --input metrics/ --format parquet --brokers brokers.parquet
    --assignment assignment.parquet --tables history/
    """
    from kedge.cli.pipeline_progress import shown
    from kedge.pipeline.jobs.follow_records import follow_records
    from kedge.pipeline.jobs.ingest import IngestRequest, ingest
    from kedge.pipeline.manifest import Settings
    from kedge.pipeline.session import spark_session
    from kedge.pipeline.sources.record_spool import RecordTopic
    from kedge.pipeline.sources.sample_files import Format

    settings = Settings(allowed_lateness_s=allowed_lateness, interval_s=interval)
    session = spark_settings(master, driver_memory, jars)
    if server.prometheus:
        kind = SourceName.PROMETHEUS
    if kind is SourceName.CRUISE_CONTROL and source is None and bootstrap_server:
        described = described_cluster(kind, metadata, leaders, bootstrap_server, command_config)
        records = RecordTopic(
            bootstrap_server, topic, described[0].cluster, read_properties(command_config)
        )
        with spark_session(session) as spark, stop_event() as stop:
            pause = seconds(every, "--every") if every else None
            done = follow_records(
                records,
                described,
                tables,
                settings,
                lambda _: nullcontext(spark),
                wait=lambda: pause is None or stop.wait(pause),
            )
        if done is None:
            say(f"{topic} has no new records")
        else:
            show_run(done, tables, output)
        return
    if (source is None) != bool(server.prometheus):
        raise InvalidRequest(
            "no metrics given" if source is None else "metrics from two places",
            hint="use either --input DIRECTORY or --prometheus URL",
        )
    if kind is SourceName.ROWS and source is not None:
        if brokers is None or assignment is None:
            raise InvalidRequest("rows need --brokers and --assignment")
        request = IngestRequest(source, Format(form), brokers, assignment, tables, settings)
        with shown() as progress:
            done = ingest(
                request, lambda rows: spark_session(session.for_rows(rows)), progress=progress
            )
        show_run(done, tables, output)
        return
    from kedge.metrics.origins import Origin
    from kedge.pipeline.jobs.ingest_metrics import MetricsRequest, ingest_metrics

    described = described_cluster(kind, metadata, leaders, bootstrap_server, command_config)
    names = series_names(mapping)
    with ExitStack() as stack:
        if source is None:
            files = stack.enter_context(server.downloaded(names, start=start, end=end))
            source = files[0].parent
        request = MetricsRequest(source, Origin(kind), described[0], tables, described[1])
        request = replace(request, names=names, settings=settings)
        progress = stack.enter_context(shown())
        done = ingest_metrics(
            request, lambda rows: spark_session(session.for_rows(rows)), progress=progress
        )
    show_run(done, tables, output)


def show_run(done: IngestResult, tables: Path, output: Output) -> None:
    """Show the row counts of a run."""
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
    others = [name for name in done.ignored if name.endswith("of other instances")]
    if others:
        note(f"{others[0]}: not brokers of the metadata; see instance_to_broker")
