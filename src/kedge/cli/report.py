"""`kedge report`: plans, runs and clusters as one page for people who were not there."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import BootstrapOption, CommandConfigOption
from kedge.cli.options import echo, help_without_command, say
from kedge.cli.run_options import (
    PlanArgument,
    RunOption,
    RunsAccess,
    StateOption,
    reading_runs,
    state_directory,
)
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.execution import Limits
    from kedge.model import Snapshot
    from kedge.plan import Plan
    from kedge.report.page import Document

CURVE_PARTITIONS_MAX = 20_000  # the curve of a larger cluster takes as long as its plan

app = typer.Typer(name="report", help="Write a report of a plan, a run or a cluster")


class Format(StrEnum):
    """The form of a report on stdout."""

    MARKDOWN = "markdown"
    HTML = "html"


HtmlOption = Annotated[
    Path | None, typer.Option("--html", help="Write a self-contained page to this file")
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Write the report to stdout in this form")
]
SnapshotOption = Annotated[
    Path | None, typer.Option("--snapshot", help="The cluster as a snapshot file")
]


@app.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Write a report of a plan, a run or a cluster"""
    help_without_command(context)


@app.command("plan")
def plan_command(
    plan: PlanArgument,
    snapshot: SnapshotOption = None,
    html: HtmlOption = None,
    form: FormatOption = None,
) -> int:
    """Report a plan: its cost, balance before and after, its prediction, and every move

    The snapshot beside the plan, if any, is found; without one the report has no pictures.

    Example: kedge report plan plan.json --html plan.html
    """
    from kedge.apply.predict_run import Circumstances, predicted
    from kedge.balance import goals_from_json, solve
    from kedge.report.curve import curve_rows
    from kedge.report.plan_report import PlanReport

    made, cluster = _plan_and_snapshot(plan, snapshot)
    report = PlanReport(made, plan.name.partition(".")[0], cluster)
    if cluster is not None:
        around = Circumstances(state_directory(None))
        found = predicted(made, cluster, _limits(made), around)
        report = replace(report, prediction=found)
    if cluster is not None and made.goals is not None and len(cluster) <= CURVE_PARTITIONS_MAX:
        solved = solve(cluster, goals_from_json(made.goals))
        report = replace(report, curve=curve_rows(solved))
    return _write(report.document(), html, form)


@app.command("run")
def run_command(
    run: RunOption = None,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    html: HtmlOption = None,
    form: FormatOption = None,
) -> int:
    """Report a run: how far it is or how it ended, by broker and by partition

    Example: kedge report run --bootstrap-server localhost:9092 --html run.html
    """
    import time

    from kedge.apply.run_status import run_status
    from kedge.report.run_report import run_document

    with reading_runs(RunsAccess(bootstrap_server, command_config, state)) as (cluster, runs):
        status = run_status(cluster, runs, runs.chosen(run))
    return _write(run_document(status, time.time()), html, form)


@app.command("cluster")
def cluster_command(
    snapshot: SnapshotOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    html: HtmlOption = None,
    form: FormatOption = None,
) -> int:
    """Report a cluster: brokers, disks, leaders, topics, and what stands out

    Example: kedge report cluster --bootstrap-server localhost:9092 --html cluster.html
    """
    from kedge.cli.snapshot import live_snapshot
    from kedge.files import read_snapshot
    from kedge.report.cluster_report import cluster_document

    if snapshot is not None and bootstrap_server:
        raise InvalidRequest("Two clusters given", hint="use --snapshot or --bootstrap-server")
    found = (
        live_snapshot(bootstrap_server, command_config)
        if snapshot is None
        else read_snapshot(snapshot)
    )
    return _write(cluster_document(found), html, form)


def _plan_and_snapshot(file: Path, given: Path | None) -> tuple[Plan, Snapshot | None]:
    """The plan, and the cluster that it is for: as given, or the snapshot beside the plan."""
    from kedge.cli.plan import snapshot_beside
    from kedge.files import read_snapshot
    from kedge.files.plan_files import read_plan_file
    from kedge.plan import Plan, from_kafka_file

    found = read_plan_file(file)
    cluster = read_snapshot(given) if given is not None else None
    if not isinstance(found, Plan):
        if cluster is None:
            raise InvalidRequest(
                f"{file}: a reassignment file says nothing of its cluster",
                hint="add --snapshot FILE",
            )
        return from_kafka_file(found, cluster), cluster
    return found, cluster if cluster is not None else snapshot_beside(file, found)


def _limits(plan: Plan) -> Limits:
    """The pace that the plan was made for."""
    from kedge.balance import goals_from_json
    from kedge.execution import Limits

    goals = goals_from_json(plan.goals or {})
    return Limits(int(goals.rate_bytes_per_second), goals.moves_each_way)


def _write(document: Document, html: Path | None, form: Format | None) -> int:
    """Write the page to its file, or the report to stdout: Markdown unless a form is named."""
    from kedge.files import write_atomically
    from kedge.report.page import html_of, markdown_of

    if html is not None:
        write_atomically(html, html_of(document).encode())
        say(f"the report: {html}")
    if form is not None or html is None:
        echo((html_of if form is Format.HTML else markdown_of)(document).rstrip("\n"))
    return 0
