"""`kedge pipeline`: ingest metrics, show findings, and write load models as snapshots."""

from __future__ import annotations

import re
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli import findings, pipeline_fanout, pipeline_stream
from kedge.cli.connection import echo_json
from kedge.cli.options import Output, OutputOption, console, echo, help_without_command, say
from kedge.cli.pipeline_options import (
    AssignmentTableOption,
    BrokersTableOption,
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
    from kedge.pipeline.jobs.ingest import IngestResult

app = typer.Typer(name="pipeline", help="Make load models and findings of metrics, on Spark")
pipeline_stream.register(app)
pipeline_fanout.register(app)
findings.register(app)


class FormatName(StrEnum):
    """The forms of files of samples."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"


@app.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    """Make load models and findings of metrics, on Spark"""
    help_without_command(context)


@app.command("ingest", cls=PipelineCommand)
def ingest_command(
    source: Annotated[Path, typer.Option("--input", help="Directory of files of samples")],
    brokers: BrokersTableOption,
    assignment: AssignmentTableOption,
    tables: TablesOption,
    form: Annotated[FormatName, typer.Option("--format", help="Form of the files")] = (
        FormatName.PARQUET
    ),
    allowed_lateness: Annotated[
        int, typer.Option(help="Seconds after which a row counts as late", min=0)
    ] = 1800,
    interval: Annotated[int, typer.Option(help="Seconds that a sample covers", min=1)] = 60,
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    jars: JarsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Ingest files of metrics: raw rows, samples, load models, findings, snapshots

    Example: kedge pipeline ingest --input metrics/ --format parquet --brokers brokers.parquet
    --assignment assignment.parquet --tables history/
    """
    from kedge.cli.pipeline_progress import shown
    from kedge.pipeline.jobs.ingest import IngestRequest, ingest
    from kedge.pipeline.manifest import Settings
    from kedge.pipeline.session import spark_session
    from kedge.pipeline.sources.sample_files import Format

    settings = Settings(allowed_lateness_s=allowed_lateness, interval_s=interval)
    request = IngestRequest(source, Format(form), brokers, assignment, tables, settings)
    session = spark_settings(master, driver_memory, jars)
    with shown() as progress:
        done = ingest(
            request, lambda rows: spark_session(session.for_rows(rows)), progress=progress
        )
    _show_run(done, tables, output)


def _show_run(done: IngestResult, tables: Path, output: Output) -> None:
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


@app.command("loads", cls=PipelineCommand)
def loads_command(
    tables: TablesOption,
    cluster: Annotated[str, typer.Option(help="The cluster to make a snapshot of")],
    out: Annotated[Path, typer.Option(help="Where to: a directory, x.json or x.json.gz")],
    at: Annotated[
        str, typer.Option(help="Which load: p50, p95, max, mean, ewma or forecast+7d")
    ] = "p95",
) -> None:
    """Write a snapshot that carries the load chosen, for `kedge plan --snapshot`

    Example: kedge pipeline loads --tables history/ --cluster c00 --at p95 --out c00.snapshot/
    """
    from kedge.files import write_snapshot
    from kedge.pipeline.load_snapshots import parse_load_statistic, snapshot_at

    snapshot = snapshot_at(tables, cluster, parse_load_statistic(at))
    write_snapshot(snapshot, out)
    say(f"{out}: {len(snapshot)} partitions of {cluster} at {at}")


@app.command("compact", cls=PipelineCommand)
def compact_command(
    tables: TablesOption,
    keep: Annotated[str, typer.Option(help="Days to keep, as 30d; all without")] = "",
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    output: OutputOption = Output.TABLE,
) -> None:
    """Merge the files of each day, and remove days that are too old

    Example: kedge pipeline compact --tables history/ --keep 30d
    """
    from kedge.pipeline.compaction import compact
    from kedge.pipeline.jobs.ingest import new_run_id
    from kedge.pipeline.session import spark_session

    days = re.fullmatch(r"(\d{1,5})d", keep)
    if keep and days is None:
        raise InvalidRequest(f"to keep {keep!r}", hint="write it in days, like 30d")
    session = spark_settings(master, driver_memory)
    kept = int(days[1]) if days else None
    done = compact(tables, new_run_id(), keep_days=kept, session=lambda: spark_session(session))
    if output is Output.JSON:
        echo_json(asdict(done))
        return
    gone = f"; {len(done.days_removed)} days removed ({done.rows_removed:,} rows)" if kept else ""
    echo(f"{done.files_before} files before, {done.files_after} after{gone}")
