"""`kedge pipeline`: ingest metrics, show findings, and write load models as snapshots."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from kedge.cli import (
    findings,
    pipeline_fanout,
    pipeline_ingest,
    pipeline_rates,
    pipeline_sample,
    pipeline_stream,
)
from kedge.cli.connection import echo_json
from kedge.cli.options import Output, OutputOption, echo, help_without_command, say
from kedge.cli.pipeline_options import (
    JarsOption,
    LimitOption,
    MasterOption,
    MemoryOption,
    PipelineCommand,
    TablesOption,
    spark_settings,
)
from kedge.errors import InvalidRequest

app = typer.Typer(name="pipeline", help="Make load models and findings of metrics, on Spark")
pipeline_ingest.register(app)
pipeline_rates.register(app)
pipeline_sample.register(app)
pipeline_stream.register(app)
pipeline_fanout.register(app)
findings.register(app)


@app.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    """Make load models and findings of metrics, on Spark"""
    help_without_command(context)


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
    unused: Annotated[
        str, typer.Option(help="Delete files this long after they were replaced; 7d without")
    ] = "",
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    output: OutputOption = Output.TABLE,
) -> None:
    """Merge the files of each day, and remove days that are too old

    Example: kedge pipeline compact --tables history/ --keep 30d
    """
    from kedge.pipeline.compaction import UNUSED_DAYS, compact
    from kedge.pipeline.jobs.ingest import new_run_id
    from kedge.pipeline.session import spark_session

    kept, unused_days = (_days(text) for text in (keep, unused))
    session = spark_settings(master, driver_memory, written=[tables])
    done = compact(
        tables,
        new_run_id(),
        keep_days=kept,
        session=lambda: spark_session(session),
        unused_days=UNUSED_DAYS if unused_days is None else unused_days,
    )
    if output is Output.JSON:
        echo_json(asdict(done))
        return
    gone = f"; {len(done.days_removed)} days removed ({done.rows_removed:,} rows)" if kept else ""
    unused_files = f"; {done.files_deleted} unused files deleted" if done.files_deleted else ""
    echo(f"{done.files_before} files before, {done.files_after} after{gone}{unused_files}")


def _days(text: str) -> int | None:
    days = re.fullmatch(r"(\d{1,5})d", text)
    if text and days is None:
        raise InvalidRequest(f"to keep {text!r}", hint="write it in days, like 30d")
    return int(days[1]) if days else None


@app.command("runs", cls=PipelineCommand)
def runs_command(
    tables: TablesOption, limit: LimitOption = 20, output: OutputOption = Output.TABLE
) -> None:
    """List the runs: rows that they read and wrote, and the version of each table

    Example: kedge pipeline runs --tables history/
    """
    from kedge.pipeline.tables.location import Location
    from kedge.pipeline.tables.runs import all_runs
    from kedge.pipeline.warehouse import published_run

    published_run(tables)
    runs = all_runs(Location.of(tables))
    if output is Output.JSON:
        echo_json([{**run, "finished_at": run["finished_at"].isoformat()} for run in runs])
        return
    for run in reversed(runs[-limit:]):
        moment = f"{run['finished_at']:%Y-%m-%d %H:%M:%S}"
        rows = f"{run['rows_read']:,} rows of tables read, {run['rows_written']:,} written"
        echo(f"{run['number']:>6}  {run['run_id']}  {run['kind']:<8} {moment}  {rows}")


@app.command("migrate", cls=PipelineCommand)
def migrate_command(
    former: Annotated[Path, typer.Argument(help="Directory of tables of an earlier release")],
    tables: Annotated[str, typer.Argument(help="New directory: a path, hdfs://… or s3a://…")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Copy tables of the former layout into Delta tables; the former ones stay

    Example: kedge pipeline migrate history/ history-delta/
    """
    from kedge.pipeline.jobs.ingest import new_run_id
    from kedge.pipeline.migration import migrate

    done = migrate(former, tables, new_run_id())
    if output is Output.JSON:
        echo_json(asdict(done))
        return
    echo(f"{tables}: {done.tables} tables with {done.rows:,} rows")


@app.command("register", cls=PipelineCommand)
def register_command(
    tables: TablesOption,
    database: Annotated[
        str, typer.Option(help="Database of Spark's catalog; created if it does not exist")
    ] = "kedge",
    jars: JarsOption = "",
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    output: OutputOption = Output.TABLE,
) -> None:
    """Register the tables by name in the catalog of Spark, as a Hive metastore

    The jars are those of delta-spark; the catalog is that of spark-defaults.conf.

    Example: kedge pipeline register --tables history/ --database kedge --jars delta.jar
    """
    from kedge.pipeline.catalog import JAVA_OPTIONS, SETTINGS, register
    from kedge.pipeline.session import spark_session

    chosen = spark_settings(master, driver_memory, jars, written=[tables])
    settings = replace(chosen, more=SETTINGS, java_options=JAVA_OPTIONS)
    done = register(tables, database, lambda: spark_session(settings))
    if output is Output.JSON:
        echo_json(asdict(done))
        return
    known = f"; {len(done.known)} were there before" if done.known else ""
    echo(f"{done.database}: {len(done.added)} tables registered{known}")
