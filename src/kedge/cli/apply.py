"""`kedge apply`, `status`, `resume`, `cancel`, `rollback`, `throttle`: plans on live clusters."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.amounts import parse_bytes
from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    DryRunOption,
    YesOption,
    confirm,
    connected,
    echo_json,
    echo_lines,
)
from kedge.cli.options import EXIT_FAILED, Output, OutputOption, say

if TYPE_CHECKING:
    from kedge.apply import Outcome, RunFiles, Runs
    from kedge.cluster.port import Cluster
    from kedge.plan import Plan

StateOption = Annotated[
    Path | None, typer.Option("--state", help="Where runs are remembered, if not in your home")
]
ThrottleOption = Annotated[
    str, typer.Option("--throttle", help="Bytes per second in and out of each broker, like 50MB")
]
NoThrottleOption = Annotated[bool, typer.Option("--no-throttle", help="As fast as the brokers can")]
SlotsOption = Annotated[
    int, typer.Option("--moves-per-broker", min=1, help="Copies at a time into and out of a broker")
]
IntervalOption = Annotated[
    float, typer.Option("--interval", min=0.05, help="Seconds between two looks at the cluster")
]
PlanArgument = Annotated[
    Path, typer.Argument(help="A plan, or a reassignment file of Kafka's tools")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("apply")(apply_command)
    app.command("status")(status_command)
    app.command("resume")(resume_command)
    app.command("cancel")(cancel_command)
    app.command("rollback")(rollback_command)
    app.command("throttle")(throttle_command)


@contextmanager
def _runs_of(
    bootstrap: str, command_config: Path | None, state: Path | None
) -> Generator[tuple[Cluster, Runs]]:
    from kedge.apply import Runs, default_state

    with connected(bootstrap, command_config) as cluster:
        yield cluster, Runs(state or default_state(), cluster.describe().cluster_id)


def apply_command(
    plan: PlanArgument,
    throttle: ThrottleOption = "",
    no_throttle: NoThrottleOption = False,
    moves_per_broker: SlotsOption = 2,
    skip_drifted: Annotated[
        bool, typer.Option("--skip-drifted", help="Leave out what has moved since the plan")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    interval: IntervalOption = 1.0,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Carry a plan out: throttled, a few moves at a time, with progress; always tidied up

    Example: kedge apply plan.json --bootstrap-server localhost:9092 --throttle 50MB
    """
    from kedge.apply import preview
    from kedge.cli.applying import carry_out, preview_lines, read_plan

    rate = _rate(throttle, no_throttle)
    with _runs_of(bootstrap_server, command_config, state) as (cluster, runs), runs.held():
        wanted = read_plan(plan, cluster)
        _refuse_unfinished(cluster, runs)
        changes, standings, seen = preview(cluster, wanted, skip_drifted=skip_drifted)
        for line in preview_lines(cluster, changes, standings, seen, rate):
            say(line)
        if dry_run:
            return 0
        confirm("Carry this out?", yes=yes)
        cluster_id = cluster.describe().cluster_id
        files = runs.begin(wanted, cluster_id, rate, moves_per_broker)
        return _ended(carry_out(cluster, files, changes, interval), files, output)


def _rate(throttle: str, no_throttle: bool) -> int | None:
    from kedge.errors import InvalidRequest

    if bool(throttle) == no_throttle:
        what = "both a throttle and none" if throttle else "how fast may replicas be copied?"
        raise InvalidRequest(what, hint="give --throttle 50MB (per second) or --no-throttle")
    return parse_bytes(throttle, "--throttle") if throttle else None


def _refuse_unfinished(cluster: Cluster, runs: Runs) -> None:
    """Clean up after runs that died; one whose moves still run must be ended first."""
    from kedge.apply import tidy_all
    from kedge.errors import ReassignmentInProgress

    for run in tidy_all(cluster, runs):
        say(f"removed the throttles that run {run.name} had left behind")
    for run in runs.unfinished():
        if run.state().lease:
            raise ReassignmentInProgress(
                f"run {run.name} was interrupted and its moves are still under way",
                hint="go on with kedge resume, or end it with kedge cancel",
            )


def resume_command(
    interval: IntervalOption = 1.0,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Go on with the last run, where it was stopped or killed

    Example: kedge resume --bootstrap-server localhost:9092
    """
    from kedge.apply import preview
    from kedge.cli.applying import carry_out

    with _runs_of(bootstrap_server, command_config, state) as (cluster, runs), runs.held():
        files = runs.last()
        changes, _, _ = preview(cluster, files.plan())
        return _ended(carry_out(cluster, files, changes, interval), files, output)


def cancel_command(
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Cancel the moves of the last run that are under way; what has arrived stays

    Example: kedge cancel --bootstrap-server localhost:9092
    """
    from kedge.apply import give_up

    with _runs_of(bootstrap_server, command_config, state) as (cluster, runs), runs.held():
        files = runs.last()
        cancelled = give_up(cluster, files)
    if output is Output.JSON:
        echo_json({"run": files.name, "cancelled": [tp._asdict() for tp in cancelled]})
    else:
        echo_lines(
            [f"cancelled {len(cancelled)} moves of run {files.name}; its throttles are gone"]
        )


def rollback_command(
    throttle: ThrottleOption = "",
    no_throttle: NoThrottleOption = False,
    moves_per_broker: SlotsOption = 2,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    interval: IntervalOption = 1.0,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Bring everything back that the last run has moved, whether it ended or not

    Example: kedge rollback --bootstrap-server localhost:9092 --throttle 50MB
    """
    from kedge.apply import give_up, preview, way_back
    from kedge.cli.applying import carry_out, preview_lines

    rate = _rate(throttle, no_throttle)
    with _runs_of(bootstrap_server, command_config, state) as (cluster, runs), runs.held():
        last = runs.last()
        back: Plan = way_back(cluster, last)
        if not dry_run:
            confirm(f"Bring {len(back.partitions)} partitions back?", yes=yes)
            give_up(cluster, last)
        changes, standings, seen = preview(cluster, back, skip_drifted=dry_run)
        for line in preview_lines(cluster, changes, standings, seen, rate):
            say(line)
        if dry_run:
            return 0
        files = runs.begin(back, cluster.describe().cluster_id, rate, moves_per_broker)
        return _ended(carry_out(cluster, files, changes, interval), files, output)


def _ended(outcome: Outcome, files: RunFiles, output: Output) -> int:
    from kedge.cli.applying import outcome_lines, outcome_row

    if output is Output.JSON:
        echo_json(outcome_row(outcome, files))
    else:
        echo_lines(outcome_lines(outcome, files))
    return 0 if outcome.complete else EXIT_FAILED


def status_command(
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how far the last run is, from any terminal

    Example: kedge status --bootstrap-server localhost:9092
    """
    from kedge.cli.applying import status_lines, status_row

    with _runs_of(bootstrap_server, command_config, state) as (cluster, runs):
        row = status_row(cluster, runs.last())
    if output is Output.JSON:
        echo_json(row)
    else:
        echo_lines(status_lines(row))


def throttle_command(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove what runs that died have left behind")
    ] = False,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the throttles that runs from here have set; remove them with --clear

    Example: kedge throttle --clear --bootstrap-server localhost:9092
    """
    from kedge.apply import tidy
    from kedge.cli.applying import lease_rows

    with _runs_of(bootstrap_server, command_config, state) as (cluster, runs):
        rows = [row for run in runs.unfinished() for row in lease_rows(run)]
        if clear:
            with runs.held():
                for run in runs.unfinished():
                    tidy(cluster, run)
    if output is Output.JSON:
        echo_json({"throttles": rows, "cleared": clear})
        return
    said = [f"{row['run']}  {row['of']}  {row['config']} = {row['value']}" for row in rows]
    echo_lines(said or ["no throttles of ours are set"])
    if clear and rows:
        echo_lines([f"removed {len(rows)} throttles"])
