"""`kedge apply`, `resume`, `cancel`, `rollback`, `status`, `throttle`, `runs`."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.amounts import parse_rate
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
    from kedge.apply import Proposal, RunOptions, Runs
    from kedge.cluster.port import Cluster

StateOption = Annotated[
    Path | None, typer.Option("--state", help="Directory of runs, if not in your home")
]
RunOption = Annotated[
    str | None, typer.Option("--run", help="Id of a run (kedge runs lists them), if not the latest")
]
ThrottleOption = Annotated[
    str, typer.Option("--throttle", help="Bytes per second in and out of each broker, like 50MB")
]
NoThrottleOption = Annotated[bool, typer.Option("--no-throttle", help="As fast as the brokers can")]
SlotsOption = Annotated[
    int, typer.Option("--moves-per-broker", min=1, help="Copies at a time into and out of a broker")
]
SkipDriftedOption = Annotated[
    bool, typer.Option("--skip-drifted", help="Leave out what has moved since the plan was made")
]
IgnoreHealthOption = Annotated[
    bool,
    typer.Option(
        "--ignore-health",
        help="Move although brokers are down or other partitions are under-replicated",
    ),
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
    app.command("runs")(runs_command)


@contextmanager
def _runs_of(
    bootstrap: str, command_config: Path | None, state: Path | None
) -> Generator[tuple[Cluster, Runs]]:
    from kedge.apply import Runs, default_state

    with connected(bootstrap, command_config) as cluster:
        yield cluster, Runs(state or default_state(), cluster.describe().cluster_id)


@contextmanager
def _acting(
    bootstrap: str, command_config: Path | None, state: Path | None, *, dry_run: bool = False
) -> Generator[tuple[Cluster, Runs]]:
    """The only process that works on the cluster's runs, with the leftovers of others settled."""
    with _runs_of(bootstrap, command_config, state) as (cluster, runs), runs.held():
        if not dry_run:
            _settle(cluster, runs, finish_cancels=False)
        yield cluster, runs


@contextmanager
def _reading(
    bootstrap: str, command_config: Path | None, state: Path | None
) -> Generator[tuple[Cluster, Runs]]:
    """The runs of a cluster; leftovers are settled unless another process works on them."""
    from kedge.errors import ReassignmentInProgress

    with _runs_of(bootstrap, command_config, state) as (cluster, runs):
        if runs.all():
            try:
                with runs.held():
                    _settle(cluster, runs, finish_cancels=True)
            except ReassignmentInProgress:
                pass
        yield cluster, runs


def _settle(cluster: Cluster, runs: Runs, *, finish_cancels: bool) -> None:
    from kedge.apply import Waiting, settle

    def note(text: str) -> None:
        say(f"note: {text}")

    settle(cluster, runs, Waiting(), note, finish_cancels=finish_cancels)


def apply_command(
    plan: PlanArgument,
    throttle: ThrottleOption = "",
    no_throttle: NoThrottleOption = False,
    moves_per_broker: SlotsOption = 2,
    skip_drifted: SkipDriftedOption = False,
    ignore_health: IgnoreHealthOption = False,
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
    from kedge.apply import propose_apply
    from kedge.cli.applying import read_plan

    options = _options(throttle, no_throttle, moves_per_broker, skip_drifted, ignore_health)
    acting = _acting(bootstrap_server, command_config, state, dry_run=dry_run)
    with acting as (cluster, runs):
        wanted = read_plan(plan, cluster)
        proposal = propose_apply(cluster, runs, wanted, options, str(plan))
        if not _agreed(proposal, "Apply this plan?", dry_run=dry_run, yes=yes):
            return 0
        return _carried_out(cluster, runs, proposal, interval, output)


def resume_command(
    run: RunOption = None,
    throttle: ThrottleOption = "",
    no_throttle: NoThrottleOption = False,
    skip_drifted: SkipDriftedOption = False,
    ignore_health: IgnoreHealthOption = False,
    yes: YesOption = False,
    interval: IntervalOption = 1.0,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Continue a run that was stopped or killed, with its own throttle unless another is given

    Example: kedge resume --bootstrap-server localhost:9092
    """
    from kedge.apply import propose_resume

    with _acting(bootstrap_server, command_config, state) as (cluster, runs):
        options = _options_of_run(runs, run, throttle, no_throttle, skip_drifted, ignore_health)
        proposal = propose_resume(cluster, runs, run, options)
        _show(proposal)
        return _carried_out(cluster, runs, proposal, interval, output)


def cancel_command(
    run: RunOption = None,
    yes: YesOption = False,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Cancel the moves of a run that are under way; what has arrived stays

    Example: kedge cancel --bootstrap-server localhost:9092
    """
    from kedge.apply import Cancelled, Waiting, cancel, close, propose_cancel
    from kedge.execution import Action
    from kedge.report.runs import cancelled_lines, cancelled_row

    with _acting(bootstrap_server, command_config, state) as (cluster, runs):
        proposal = propose_cancel(cluster, runs, run)
        _agreed(proposal, "Cancel this run?", dry_run=False, yes=yes)
        files = proposal.run
        assert files is not None
        if proposal.action is Action.CLOSE:
            done = Cancelled(unreleased=close(cluster, files, Waiting()))
        else:
            done = cancel(cluster, files, Waiting())
    if output is Output.JSON:
        echo_json(cancelled_row(done, files.name))
    else:
        echo_lines(cancelled_lines(done, files.name))
    return EXIT_FAILED if done.reverting else 0


def rollback_command(
    run: RunOption = None,
    throttle: ThrottleOption = "",
    no_throttle: NoThrottleOption = False,
    moves_per_broker: SlotsOption = 2,
    skip_drifted: SkipDriftedOption = False,
    ignore_health: IgnoreHealthOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    interval: IntervalOption = 1.0,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Bring back what a run has moved, whether it ended or not

    Example: kedge rollback --bootstrap-server localhost:9092 --throttle 50MB
    """
    from kedge.apply import Cancelled, Waiting, close, propose_rollback
    from kedge.execution import Action
    from kedge.report.runs import cancelled_lines, cancelled_row

    options = _options(throttle, no_throttle, moves_per_broker, skip_drifted, ignore_health)
    acting = _acting(bootstrap_server, command_config, state, dry_run=dry_run)
    with acting as (cluster, runs):
        proposal = propose_rollback(cluster, runs, run, options)
        if not _agreed(proposal, "Roll back?", dry_run=dry_run, yes=yes):
            return 0
        if proposal.action is not Action.CLOSE:
            return _carried_out(cluster, runs, proposal, interval, output)
        assert proposal.run is not None
        name = proposal.run.name
        done = Cancelled(unreleased=close(cluster, proposal.run, Waiting()))
    if output is Output.JSON:
        echo_json({**cancelled_row(done, name), "complete": True})
    else:
        echo_lines(cancelled_lines(done, name))
    return 0


def status_command(
    run: RunOption = None,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how far a run is

    Example: kedge status --bootstrap-server localhost:9092
    """
    from kedge.report.runs import status_lines, status_row

    with _reading(bootstrap_server, command_config, state) as (cluster, runs):
        row = status_row(cluster, runs, runs.chosen(run), time.time())
    if output is Output.JSON:
        echo_json(row)
    else:
        echo_lines(status_lines(row))


def runs_command(
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the runs on a cluster that were started from here

    Example: kedge runs --bootstrap-server localhost:9092
    """
    from kedge.report.runs import run_lines, run_rows

    with _reading(bootstrap_server, command_config, state) as (cluster, runs):
        rows = run_rows(cluster, runs, time.time())
    if output is Output.JSON:
        echo_json({"runs": rows})
    else:
        echo_lines(run_lines(rows))


def throttle_command(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove them, even while moves are under way")
    ] = False,
    run: RunOption = None,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the throttles that runs from here have set; remove them with --clear

    Example: kedge throttle --clear --bootstrap-server localhost:9092
    """
    from kedge.apply import Waiting, is_under_way, release
    from kedge.report.runs import lease_rows

    with _reading(bootstrap_server, command_config, state) as (cluster, runs):
        chosen = runs.all() if run is None else [runs.chosen(run)]
        before = [row for each in chosen for row in lease_rows(each.name, each.record().lease)]
        if clear and before:
            with runs.held():
                for each in chosen:
                    if each.record().lease and is_under_way(cluster, each):
                        say(f"note: moves of run {each.name} go on without a throttle")
                    release(cluster, each, Waiting())
        after = [row for each in chosen for row in lease_rows(each.name, each.record().lease)]
    if output is Output.JSON:
        echo_json({"throttles": after if clear else before, "cleared": len(before) - len(after)})
        return
    lines = [f"{row['run']}  {row['of']}  {row['config']} = {row['value']}" for row in after]
    echo_lines(lines or ["No throttles of kedge runs are set"])
    if clear and before:
        echo_lines([f"{len(before) - len(after)} throttle settings removed"])


# ---- shared -------------------------------------------------------------------------------------


def _options(
    throttle: str, no_throttle: bool, each_way: int, skip_drifted: bool, ignore_health: bool
) -> RunOptions:
    from kedge.apply import RunOptions
    from kedge.errors import InvalidRequest
    from kedge.execution import Limits

    if bool(throttle) == no_throttle:
        what = "Both --throttle and --no-throttle are given" if throttle else "No throttle given"
        raise InvalidRequest(what, hint="use --throttle 50MB (per second) or --no-throttle")
    rate = parse_rate(throttle, "--throttle") if throttle else None
    return RunOptions(Limits(rate, each_way), skip_drifted, ignore_health)


def _options_of_run(
    runs: Runs,
    run_id: str | None,
    throttle: str,
    no_throttle: bool,
    skip_drifted: bool,
    ignore_health: bool,
) -> RunOptions:
    """The limits of the run that continues, unless a throttle is given."""
    from kedge.apply import RunOptions
    from kedge.execution import Limits

    run = runs.chosen(run_id)
    record = (runs.rollback_of(run) or run).record()
    if throttle or no_throttle:
        return _options(throttle, no_throttle, record.each_way, skip_drifted, ignore_health)
    return RunOptions(Limits(record.rate, record.each_way), skip_drifted, ignore_health)


def _show(proposal: Proposal) -> None:
    from kedge.report.runs import proposal_lines

    for line in proposal_lines(proposal):
        say(line)


def _agreed(proposal: Proposal, question: str, *, dry_run: bool, yes: bool) -> bool:
    """Show, then ask; False for a dry run."""
    _show(proposal)
    if dry_run:
        return False
    confirm(question, yes=yes)
    return True


def _carried_out(
    cluster: Cluster, runs: Runs, proposal: Proposal, interval: float, output: Output
) -> int:
    from kedge.cli.applying import carried_out
    from kedge.report.runs import outcome_lines, outcome_row

    run, outcome = carried_out(cluster, runs, proposal, interval)
    if output is Output.JSON:
        echo_json(outcome_row(outcome, run.name))
    else:
        echo_lines(outcome_lines(outcome, run.name))
    return 0 if outcome.complete else EXIT_FAILED
