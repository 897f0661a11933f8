"""`kedge pipeline`: ingest metrics, show findings, and write load models as snapshots."""

from __future__ import annotations

import re
from dataclasses import asdict
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
