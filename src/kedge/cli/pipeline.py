"""`kedge pipeline`: ingest metrics, show findings, and write load models as snapshots."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kedge.cli import (
    pipeline_fanout,
    pipeline_ingest,
    pipeline_rates,
    pipeline_sample,
    pipeline_stream,
)
from kedge.cli.connection import echo_json
from kedge.cli.options import Output, OutputOption, console, echo, help_without_command, say
from kedge.cli.pipeline_options import (
    MasterOption,
    MemoryOption,
    PipelineCommand,
    TablesOption,
    spark_settings,
)
from kedge.errors import InvalidRequest
from kedge.model.printable import printable

app = typer.Typer(name="pipeline", help="Make load models and findings of metrics, on Spark")
pipeline_ingest.register(app)
pipeline_rates.register(app)
pipeline_sample.register(app)
pipeline_stream.register(app)
pipeline_fanout.register(app)

SHOWN = 50


@app.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    """Make load models and findings of metrics, on Spark"""
    help_without_command(context)


@app.command("findings", cls=PipelineCommand)
def findings_command(
    tables: TablesOption,
    kind: Annotated[str, typer.Option(help="Only of this kind, as hot_broker")] = "",
    cluster: Annotated[str, typer.Option(help="Only of this cluster")] = "",
    limit: Annotated[int, typer.Option(help="Findings to show at most", min=1)] = SHOWN,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what stands out: hot brokers, skew, flapping, growth, disks that fill up

    Example: kedge pipeline findings --tables history/
    """
    from kedge.pipeline.findings_reader import KINDS, read_findings, with_time_series
    from kedge.report.findings import finding_row, sparkline

    if kind and kind not in KINDS:
        raise InvalidRequest(f"no kind {kind!r}", hint=f"there are {', '.join(KINDS)}")
    found = read_findings(tables, kind=kind or None, cluster=cluster or None)
    drawn = with_time_series(tables, found[:limit])
    if output is Output.JSON:
        echo_json([finding_row(one) for one in drawn])
        return
    from rich.table import Table

    table = Table(show_lines=False)
    for name in ("kind", "cluster", "of", "value", "course", "why"):
        table.add_column(name, overflow="fold", justify="right" if name == "value" else "left")
    for one in drawn:
        value = f"{one.value:g}"
        row = (one.kind, one.cluster, one.subject, value, sparkline(one.course), one.why)
        table.add_row(*map(printable, row))
    if drawn:
        console().print(table)
    say(f"{len(found)} findings" + (f", {limit} of them shown" if len(found) > limit else ""))


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
