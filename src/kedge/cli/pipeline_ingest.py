"""`kedge pipeline ingest` and `rates`: metrics into tables, and rates out of them."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import echo_json
from kedge.cli.options import Output, OutputOption, console, note, say
from kedge.cli.pipeline_options import (
    JarsOption,
    MasterOption,
    MemoryOption,
    PipelineCommand,
    TablesOption,
    spark_settings,
)
from kedge.errors import InvalidRequest
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.metrics.parsing.cluster_metadata import ClusterMetadata, LeaderHistory
    from kedge.pipeline.jobs.ingest import IngestResult
    from kedge.pipeline.jobs.ingest_metrics import MetricsRequest
    from kedge.pipeline.manifest import Settings
    from kedge.pipeline.rates_reader import PartitionRate


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
    """Add the commands to the group `pipeline`."""
    app.command("ingest", cls=PipelineCommand)(ingest_command)
    app.command("rates", cls=PipelineCommand)(rates_command)


def ingest_command(
    source: Annotated[Path, typer.Option("--input", help="Directory of files of the source")],
    tables: TablesOption,
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
    from kedge.pipeline.jobs.ingest import IngestRequest, ingest
    from kedge.pipeline.manifest import Settings
    from kedge.pipeline.session import spark_session
    from kedge.pipeline.sources.sample_files import Format

    settings = Settings(allowed_lateness_s=allowed_lateness, interval_s=interval)
    session = spark_settings(master, driver_memory, jars)
    if kind is SourceName.ROWS:
        if brokers is None or assignment is None:
            raise InvalidRequest("rows need --brokers and --assignment")
        request = IngestRequest(source, Format(form), brokers, assignment, tables, settings)
        with shown() as progress:
            done = ingest(
                request, lambda rows: spark_session(session.for_rows(rows)), progress=progress
            )
        show_run(done, tables, output)
        return
    from kedge.pipeline.jobs.ingest_metrics import ingest_metrics

    metrics = _metrics_request(kind, source, metadata, leaders, mapping, tables, settings)
    with shown() as progress:
        done = ingest_metrics(
            metrics, lambda rows: spark_session(session.for_rows(rows)), progress=progress
        )
    show_run(done, tables, output)


def _metrics_request(
    kind: SourceName,
    source: Path,
    metadata: Path | None,
    leaders: Path | None,
    mapping: Path | None,
    tables: Path,
    settings: Settings,
) -> MetricsRequest:
    from kedge.files import read_text, with_path_context
    from kedge.metrics.origins import Origin
    from kedge.metrics.parsing.series_mapping import parse_mapping
    from kedge.metrics.parsing.series_names import ExporterNames
    from kedge.pipeline.jobs.ingest_metrics import MetricsRequest

    if metadata is None:
        hint = "a JSON file with cluster, brokers and instance_to_broker"
        raise InvalidRequest(f"the source {kind} needs --metadata", hint=hint)
    names = ExporterNames()
    if mapping is not None:
        text = read_text(mapping)
        with with_path_context(mapping):
            names = parse_mapping(text)
    return MetricsRequest(
        source,
        Origin(kind),
        read_metadata(metadata),
        tables,
        read_leaders(leaders),
        names,
        settings,
    )


def read_metadata(path: Path) -> ClusterMetadata:
    """The metadata in a file."""
    from kedge.files import read_bytes, with_path_context
    from kedge.metrics.parsing.cluster_metadata import parse_metadata

    data = read_bytes(path)
    with with_path_context(path):
        return parse_metadata(data)


def read_leaders(path: Path | None) -> LeaderHistory:
    """Leaders over time in a file; none without one."""
    from kedge.files import read_bytes, with_path_context
    from kedge.metrics.parsing.cluster_metadata import parse_leaders

    if path is None:
        return ()
    data = read_bytes(path)
    with with_path_context(path):
        return parse_leaders(data)


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


def rates_command(
    tables: TablesOption,
    cluster: Annotated[str, typer.Option(help="The cluster")],
    start: Annotated[
        float | None, typer.Option("--from", help="Start of the time, in seconds since 1970")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--to", help="End of the time, in seconds since 1970")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the mean bytes per second of each partition, and how they were found

    Rules: measured, offsets, commits, growth, bytes_in, even.

    Example: kedge pipeline rates --tables history/ --cluster c00
    """
    from kedge.pipeline.rates_reader import read_rates

    found = read_rates(tables, cluster, start=start, end=end)
    if output is Output.JSON:
        echo_json([rate.to_row() for rate in found])
        return
    _show_rates(found)


def _show_rates(found: list[PartitionRate]) -> None:
    from rich.table import Table

    table = Table()
    table.add_column("partition", overflow="fold")
    for name in ("in, bytes/s", "out, bytes/s"):
        table.add_column(name, justify="right")
    for name in ("in by", "out by"):
        table.add_column(name)
    for one in sorted(found, key=lambda rate: -(rate.in_bytes_per_s + rate.out_bytes_per_s)):
        amounts = (f"{amount:,.0f}" for amount in (one.in_bytes_per_s, one.out_bytes_per_s))
        table.add_row(printable(f"{one.topic}-{one.partition}"), *amounts, one.in_by, one.out_by)
    console().print(table)
