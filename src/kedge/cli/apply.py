"""`kedge apply`, `resume`, `cancel` and `rollback`: carry plans out, and undo them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    DryRunOption,
    YesOption,
    confirm,
    echo_json,
    echo_lines,
)
from kedge.cli.options import EXIT_FAILED, Output, OutputOption, note, say
from kedge.cli.run_options import (
    IgnoreHealthOption,
    IntervalOption,
    NoThrottleOption,
    PlanArgument,
    RunOption,
    SkipDriftedOption,
    SlotsOption,
    StateOption,
    TakeOverOption,
    ThrottleOption,
    acting_on_runs,
    options_to_continue,
    run_options,
)

if TYPE_CHECKING:
    from kedge.apply import Proposal, RunStore
    from kedge.cluster.port import Cluster


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("apply")(apply_command)
    app.command("resume")(resume_command)
    app.command("cancel")(cancel_command)
    app.command("rollback")(rollback_command)


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
    take_over: TakeOverOption = False,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Carry a plan out: throttled, a few moves at a time, with progress; always tidied up

    Example: kedge apply plan.json --bootstrap-server localhost:9092 --throttle 50MB
    """
    from kedge.apply import propose_apply
    from kedge.apply.plan_file import read_plan

    options = run_options(throttle, no_throttle, moves_per_broker, skip_drifted, ignore_health)
    acting = acting_on_runs(
        bootstrap_server, command_config, state, dry_run=dry_run, take_over=take_over
    )
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
    take_over: TakeOverOption = False,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Continue a run that was stopped or killed, with its own throttle unless another is given

    Example: kedge resume --bootstrap-server localhost:9092
    """
    from kedge.apply import propose_resume

    with acting_on_runs(bootstrap_server, command_config, state, take_over=take_over) as (
        cluster,
        runs,
    ):
        options = options_to_continue(runs, run, throttle, no_throttle, skip_drifted, ignore_health)
        proposal = propose_resume(cluster, runs, run, options)
        _show(proposal)
        return _carried_out(cluster, runs, proposal, interval, output)


def cancel_command(
    run: RunOption = None,
    yes: YesOption = False,
    state: StateOption = None,
    take_over: TakeOverOption = False,
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

    with acting_on_runs(bootstrap_server, command_config, state, take_over=take_over) as (
        cluster,
        runs,
    ):
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
    take_over: TakeOverOption = False,
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

    options = run_options(throttle, no_throttle, moves_per_broker, skip_drifted, ignore_health)
    acting = acting_on_runs(
        bootstrap_server, command_config, state, dry_run=dry_run, take_over=take_over
    )
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


# ---- shared --------------------------------------------------------------------------------------


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
    cluster: Cluster, runs: RunStore, proposal: Proposal, interval_s: float, output: Output
) -> int:
    """Run to the end, with progress; an interrupt stops the run cleanly."""
    from kedge.apply import Pacing, carry_out
    from kedge.cli.interrupts import stop_requests
    from kedge.cli.live_progress import run_progress
    from kedge.report.runs import outcome_lines, outcome_row

    with stop_requests() as stopping, run_progress() as show:
        pacing = Pacing(interval_s=interval_s, stopping=stopping, on_progress=show, on_note=note)
        run, outcome = carry_out(cluster, runs, proposal, pacing)
    if output is Output.JSON:
        echo_json(outcome_row(outcome, run.name))
    else:
        echo_lines(outcome_lines(outcome, run.name))
    return 0 if outcome.complete else EXIT_FAILED
