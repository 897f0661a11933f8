"""`kedge plan`: make plans, check them, and see what balance costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.goal_options import GoalOptions
from kedge.cli.option_group import with_option_group
from kedge.cli.options import (
    EXIT_FAILED,
    Output,
    OutputOption,
    echo,
    help_without_command,
    note,
    say,
)
from kedge.cli.plan_loads import LoadOptions
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.model import Snapshot
    from kedge.plan import Finding, Plan

app = typer.Typer(name="plan")


@app.callback(invoke_without_command=True)
@with_option_group(LoadOptions, into="source")
@with_option_group(GoalOptions)
def root(
    options: GoalOptions,
    source: LoadOptions,
    context: typer.Context,
    out: Annotated[Path | None, typer.Option("--out", help="Write the plan to this file")] = None,
    output: OutputOption = Output.TABLE,
) -> int | None:
    """Make a plan that evens out what brokers carry, at the least movement of data

    The plan is also a reassignment file for Kafka's own tool. It carries the bounds that no plan
    can beat, and `kedge plan verify` checks them. The snapshot of a live cluster is kept beside it.

    With --prometheus the rates of partitions are attributed from the metrics of some hours; with
    --loads they come from tables of weeks.

    Example: kedge plan --snapshot cluster.json --tolerance 0.05 --max-bytes 2TB --out plan.json
    """
    if context.invoked_subcommand is not None:
        return None
    if options == GoalOptions() and source.loads is None:
        help_without_command(context)
    return _make(options, source, out, output)


def _make(options: GoalOptions, source: LoadOptions, out: Path | None, output: Output) -> int:
    from kedge.cli.plan_search import search_plan
    from kedge.files import write_atomically
    from kedge.files.plan_files import write_plan_snapshot
    from kedge.plan import plan_to_json
    from kedge.plan_maker import PlanMaker
    from kedge.report.plan_summary import plan_lines
    from kedge.report.plans import summary_row

    goals = options.goals()
    with PlanMaker() as maker:
        cluster = source.planned_cluster(options)
        plan = search_plan(maker, cluster, goals, options)
    if out is not None:
        write_atomically(out, plan_to_json(plan))
        if options.snapshot is None or source.loads_given:
            kept = write_plan_snapshot(cluster, out)
            say(f"the snapshot that the plan was made from: {kept}")
    if output is Output.JSON:
        echo_json(summary_row(plan))
    else:
        echo_lines(plan_lines(plan))
    if out is None:
        say("Nothing was written; use --out plan.json to keep the plan")
    return 0


@app.command("curve")
@with_option_group(GoalOptions)
def curve_command(
    options: GoalOptions,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a picture to this file")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Show how even the cluster gets for how many bytes moved, to pick the knee

    Example: kedge plan curve --snapshot cluster.json --tolerance 0.01 --html curve.html
    """
    from kedge.balance import solve
    from kedge.cli.live_progress import status_line
    from kedge.cli.stop_signal import StopSignal
    from kedge.files import write_atomically
    from kedge.report.curve import curve_html, curve_lines, curve_rows
    from kedge.report.plan_summary import progress_text

    goals = options.goals()
    cluster = options.cluster()
    with status_line() as show, StopSignal(options.time_limit) as stop:
        solved = solve(
            cluster,
            goals,
            options.seed,
            progress=lambda at: show(progress_text(at)),
            out_of_time=stop.is_set,
            use_all_time=options.time_limit is not None,
        )
    rows = curve_rows(solved)
    if html is not None:
        write_atomically(html, curve_html(rows, cluster.cluster_id or "").encode())
    if output is Output.JSON:
        echo_json({"points": rows})
    else:
        echo_lines(curve_lines(rows))
    return 0


@app.command("verify")
def verify_command(
    file: Annotated[Path, typer.Argument(help="A plan, or a reassignment file of Kafka's tools")],
    snapshot: Annotated[
        Path | None,
        typer.Option(help="Also check against this cluster; the snapshot beside the plan, if any"),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Check a plan against itself and, if given, against a cluster's snapshot

    With the snapshot that a plan was made from, every figure of its summary and every bound of
    its certificate is computed again. A plan of a live cluster has its snapshot beside it
    (plan.snapshot.json.gz), which is found without --snapshot.

    Example: kedge plan verify plan.json --snapshot cluster.json
    """
    plan, cluster = _inputs(file, snapshot)
    findings = _findings(plan, cluster)
    _show(findings, output)
    fatal = sum(finding.fatal for finding in findings)
    checked, warned = len(plan.partitions), len(findings) - fatal
    say(f"{checked} partitions checked, {fatal} errors, {warned} warnings")
    return EXIT_FAILED if fatal else 0


def _findings(plan: Plan, cluster: Snapshot | None) -> list[Finding]:
    if cluster is None:
        from kedge.plan import verify_plan

        return verify_plan(plan)
    from kedge.balance import verify_against

    return verify_against(plan, cluster)


def _inputs(file: Path, snapshot: Path | None) -> tuple[Plan, Snapshot | None]:
    """The plan, and the cluster to check it against."""
    from kedge.files import read_snapshot
    from kedge.files.plan_files import read_plan_file
    from kedge.plan import Plan, from_kafka_file

    found = read_plan_file(file)
    cluster = None if snapshot is None else read_snapshot(snapshot)
    if isinstance(found, Plan):
        return found, cluster or snapshot_beside(file, found)
    if cluster is None:
        raise InvalidRequest(
            f"{file}: this is a reassignment file of Kafka's tool, not a plan",
            hint="add --snapshot FILE to check it against a cluster",
        )
    return from_kafka_file(found, cluster), cluster


def snapshot_beside(file: Path, plan: Plan) -> Snapshot | None:
    """The snapshot that `kedge plan` has left beside a plan, with a note."""
    from kedge.files.plan_files import find_plan_snapshot

    found = find_plan_snapshot(file, plan)
    if found is None:
        return None
    note(f"using {found[0]}, the snapshot that the plan was made from")
    return found[1]


def _show(findings: Sequence[Finding], output: Output) -> None:
    if output is Output.JSON:
        import orjson

        rows = [
            {"severity": f.severity, "kind": f.kind, "place": f.place, "what": f.what}
            for f in findings
        ]
        echo(orjson.dumps({"findings": rows}).decode())
        return
    for finding in findings:
        echo(f"{finding.severity}: {finding}")
