"""`kedge apply`, `resume`, `cancel` and `rollback`: carry plans out, and undo them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from kedge.cli.apply_options import ApplyOptions
from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    YesOption,
    confirm,
    echo_json,
    echo_lines,
)
from kedge.cli.option_group import with_option_group
from kedge.cli.options import EXIT_FAILED, Output, OutputOption, say
from kedge.cli.run_options import (
    PlanArgument,
    RunOption,
    RunsAccess,
    StateOption,
    TakeOverOption,
    acting_on_runs,
)
from kedge.cli.run_prediction import predicted_now, show_proposal

if TYPE_CHECKING:
    from kedge.apply import Proposal, RunStore
    from kedge.apply.predict_run import PredictedRun
    from kedge.cli.carry_out import MoreSignals
    from kedge.cluster.port import Cluster


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("apply")(apply_command)
    app.command("resume")(resume_command)
    app.command("cancel")(cancel_command)
    app.command("rollback")(rollback_command)


@with_option_group(ApplyOptions)
def apply_command(options: ApplyOptions, plan: PlanArgument) -> int:
    """Carry a plan out: throttled, a few moves at a time, with progress; always tidied up

    Example: kedge apply plan.json --bootstrap-server localhost:9092 --throttle 50MB
    """
    from kedge.apply import propose_apply
    from kedge.apply.plan_file import growth_of, read_plan
    from kedge.files.plan_files import find_plan_snapshot

    chosen = options.run_options()
    with options.more_signals() as more, options.acting(begins=True) as (cluster, runs):
        wanted = read_plan(plan, cluster)
        found = find_plan_snapshot(plan, wanted)
        loads = None if found is None else found[1]  # a live cluster reports no rates
        if loads is not None:
            chosen = replace(chosen, growth=growth_of(wanted, loads))
        proposal = propose_apply(cluster, runs, wanted, chosen, str(plan))
        proposal, predicted = predicted_now(cluster, runs, proposal, options, loads)
        if not _agreed(proposal, predicted, "Apply this plan?", options):
            return 0
        return _carried_out(cluster, runs, proposal, predicted, options, more)


@with_option_group(ApplyOptions, without=("moves_per_broker", "dry_run"))
def resume_command(options: ApplyOptions, run: RunOption = None) -> int:
    """Continue a run that was stopped or killed, with its own throttle unless another is given

    Example: kedge resume --bootstrap-server localhost:9092
    """
    from kedge.apply import propose_resume

    with options.more_signals() as more, options.acting() as (cluster, runs):
        proposal = propose_resume(cluster, runs, run, options.options_to_continue(runs, run))
        proposal, predicted = predicted_now(cluster, runs, proposal, options)
        show_proposal(proposal, predicted, options)
        return _carried_out(cluster, runs, proposal, predicted, options, more)


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
    from kedge.apply import Waiting, cancel, close, propose_cancel
    from kedge.execution import Action
    from kedge.report.runs import cancelled_lines, cancelled_row

    access = RunsAccess(bootstrap_server, command_config, state, take_over=take_over)
    with acting_on_runs(access) as (cluster, runs):
        proposal = propose_cancel(cluster, runs, run)
        _show(proposal)
        confirm("Cancel this run?", yes=yes)
        files = proposal.run
        assert files is not None
        if proposal.action is Action.CLOSE:
            done = close(cluster, files, Waiting())
        else:
            done = cancel(cluster, files, Waiting())
    if output is Output.JSON:
        echo_json(cancelled_row(done, files.name))
    else:
        echo_lines(cancelled_lines(done, files.name))
    return EXIT_FAILED if done.reverting else 0


@with_option_group(ApplyOptions)
def rollback_command(options: ApplyOptions, run: RunOption = None) -> int:
    """Bring back what a run has moved, whether it ended or not

    Example: kedge rollback --bootstrap-server localhost:9092 --throttle 50MB
    """
    from kedge.apply import propose_rollback
    from kedge.cli.carry_out import end_run
    from kedge.execution import Action

    chosen = options.run_options()
    with options.more_signals() as more, options.acting() as (cluster, runs):
        proposal = propose_rollback(cluster, runs, run, chosen)
        proposal, predicted = predicted_now(cluster, runs, proposal, options)
        if not _agreed(proposal, predicted, "Roll back?", options):
            return 0
        if proposal.action is not Action.CLOSE:
            return _carried_out(cluster, runs, proposal, predicted, options, more)
        assert proposal.run is not None
        return end_run(cluster, proposal.run, options.output)


# ---- shared --------------------------------------------------------------------------------------


def _show(proposal: Proposal) -> None:
    from kedge.report.runs import proposal_lines

    for line in proposal_lines(proposal):
        say(line)


def _agreed(
    proposal: Proposal, predicted: PredictedRun | None, question: str, options: ApplyOptions
) -> bool:
    """Show, then ask; False for a dry run."""
    show_proposal(proposal, predicted, options)
    if options.dry_run:
        return False
    confirm(question, yes=options.yes)
    return True


def _carried_out(
    cluster: Cluster,
    runs: RunStore,
    proposal: Proposal,
    predicted: PredictedRun | None,
    options: ApplyOptions,
    more: MoreSignals | None,
) -> int:
    """Run to the end, with progress; an interrupt stops the run cleanly."""
    from kedge.cli.carry_out import carried_out, show_outcome

    partitions = 0 if proposal.judged is None else len(proposal.judged.changes)
    predicted_s = None if predicted is None else predicted.prediction.seconds
    watching = options.watching(partitions, predicted_s, more)
    ran = carried_out(cluster, runs, proposal, watching)
    show_outcome(ran, options.output)
    return 0 if ran.outcome.complete else EXIT_FAILED
