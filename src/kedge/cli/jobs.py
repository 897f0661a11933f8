"""`kedge drain`, `fill`, `replication`, `balance` and `undo`: a job in one command.

Each takes a snapshot, plans, shows the plan and what carrying it out takes, asks once, and applies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import confirm, echo_json, echo_lines
from kedge.cli.events import check_events
from kedge.cli.goal_options import GoalOptions
from kedge.cli.job_options import (
    MANDATORY_ONLY,
    SET_BY_JOBS,
    JobOptions,
    PlannedJobOptions,
    parse_broker_ids,
    parse_factors,
)
from kedge.cli.option_group import with_option_group
from kedge.cli.options import EXIT_FAILED, Output, note, say
from kedge.cli.run_options import RunOption
from kedge.cli.run_prediction import predicted_now, predicted_on, show_proposal

if TYPE_CHECKING:
    from kedge.apply import Proposal, Run, RunStore
    from kedge.apply.jobs import Job
    from kedge.apply.predict_run import PredictedRun
    from kedge.cli.carry_out import MoreSignals
    from kedge.cluster.port import Cluster
    from kedge.model import Snapshot

BrokersArgument = Annotated[list[str], typer.Argument(help="Ids of brokers", metavar="BROKER...")]
# The plan's options name the cluster; a plan that was just made has not drifted.
NAMED_BY_PLAN = ("bootstrap_server", "command_config", "skip_drifted")
MANDATORY = {"tolerance": MANDATORY_ONLY}
NO_LEADERS_ONLY = (*SET_BY_JOBS, "leaders_only", "above")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("drain")(drain_command)
    app.command("fill")(fill_command)
    app.command("replication")(replication_command)
    app.command("balance")(balance_command)
    app.command("undo")(undo_command)


@with_option_group(PlannedJobOptions, into="how", without=NAMED_BY_PLAN)
@with_option_group(GoalOptions, without=NO_LEADERS_ONLY, defaults=MANDATORY)
def drain_command(
    options: GoalOptions,
    how: PlannedJobOptions,
    brokers: BrokersArgument,
    unregister: Annotated[
        bool, typer.Option("--unregister", help="Remove their registrations, once stopped (KRaft)")
    ] = False,
) -> int:
    """Move everything off brokers, and check that nothing is left on them

    Only what must move is moved; --tolerance 0.05 evens out the other brokers as well. Brokers that
    can be cordoned (Kafka 4.3) get no new replicas meanwhile. With --unregister, run the command
    again once the brokers are stopped.

    Example: kedge drain 3 --bootstrap-server localhost:9092 --throttle 50MB
    """
    from kedge.apply.jobs import Drain

    job = Drain(parse_broker_ids(brokers), unregister=unregister, allow_down=how.ignore_health)
    return _do(job, options, how)


@with_option_group(PlannedJobOptions, into="how", without=NAMED_BY_PLAN)
@with_option_group(GoalOptions, without=NO_LEADERS_ONLY)
def fill_command(options: GoalOptions, how: PlannedJobOptions, brokers: BrokersArgument) -> int:
    """Move load onto brokers that are new or empty

    Example: kedge fill 7 8 --bootstrap-server localhost:9092 --throttle 50MB
    """
    from kedge.apply.jobs import Fill

    return _do(Fill(parse_broker_ids(brokers)), options, how)


@with_option_group(PlannedJobOptions, into="how", without=NAMED_BY_PLAN)
@with_option_group(GoalOptions, without=NO_LEADERS_ONLY, defaults=MANDATORY)
def replication_command(
    options: GoalOptions,
    how: PlannedJobOptions,
    factors: Annotated[
        list[str],
        typer.Argument(help="Topics, or patterns, with their replicas", metavar="TOPIC=N..."),
    ],
) -> int:
    """Give topics another replication factor

    Replicas are added where brokers have room, and removed from the fullest; nothing else moves
    unless --tolerance is given.

    Example: kedge replication orders=3 'logs-.*=2' --bootstrap-server localhost:9092
    """
    from kedge.apply.jobs import Replication

    return _do(Replication(parse_factors(factors)), options, how)


@with_option_group(PlannedJobOptions, into="how", without=NAMED_BY_PLAN)
@with_option_group(GoalOptions, without=SET_BY_JOBS)
def balance_command(options: GoalOptions, how: PlannedJobOptions) -> int:
    """Even out what brokers carry, at the least movement of data

    Example: kedge balance --bootstrap-server localhost:9092 --tolerance 0.05 --max-bytes 2TB
    """
    from kedge.apply.jobs import Balance

    return _do(Balance(), options, how)


@with_option_group(JobOptions, into="how", without=("moves_per_broker", "skip_drifted"))
def undo_command(how: JobOptions, run: RunOption = None) -> int:
    """Bring back what the latest run has moved, with the throttle that it had

    Another --throttle, or --no-throttle, may be given.

    Example: kedge undo --bootstrap-server localhost:9092
    """
    from kedge.apply import propose_rollback
    from kedge.cli.carry_out import carried_out, end_run, show_outcome
    from kedge.execution import Action

    with how.more_signals() as more, how.acting() as (cluster, runs):
        options = how.options_to_undo(runs, run)
        proposal = propose_rollback(cluster, runs, run, options)
        proposal, predicted = predicted_now(cluster, runs, proposal, how)
        show_proposal(proposal, predicted, how)
        if how.dry_run:
            return 0
        confirm("Undo this run?", yes=how.yes)
        undone = proposal.run
        assert undone is not None, "a rollback is that of a run"
        if proposal.action is Action.CLOSE:
            return end_run(cluster, undone, how.output)
        partitions = 0 if proposal.judged is None else len(proposal.judged.changes)
        predicted_s = None if predicted is None else predicted.prediction.seconds
        watching = how.watching(partitions, predicted_s, more)
        ran = carried_out(cluster, runs, proposal, watching)
    show_outcome(ran, how.output)
    return 0 if ran.outcome.complete else EXIT_FAILED


# ---- shared -------------------------------------------------------------------------------------


def _do(job: Job, options: GoalOptions, how: PlannedJobOptions) -> int:
    """Check, plan, show, ask, carry out, check again."""
    from kedge.apply.jobs import propose, snapshot_for
    from kedge.apply.plan_file import growth_of
    from kedge.cli.plan_search import search_plan
    from kedge.plan_maker import PlanMaker

    check_events(how.events, how.output)
    how = replace(
        how.with_throttle(),
        bootstrap_server=options.bootstrap_server,
        command_config=options.command_config,
    )
    how.load_source()
    limits, goals = how.run_options(), job.goals(how.goals(options))
    with (
        PlanMaker() as maker,
        how.more_signals() as more,
        how.acting(begins=True) as (cluster, runs),
    ):
        snapshot = snapshot_for(cluster, runs, job)
        plan = None
        if (nothing := job.nothing_to_do(snapshot)) is None:
            snapshot = how.loaded(snapshot, cluster)
            plan = search_plan(maker, snapshot, job.goals_on(snapshot, goals), options)
            if not plan.partitions:
                nothing = "Nothing to move: the cluster is as it should be"
        if nothing is not None or plan is None:
            return _end_without_moves(cluster, job, nothing or "", how)
        limits = replace(limits, growth=growth_of(plan, snapshot))
        proposal = propose(cluster, runs, plan, limits, job)
        return _apply(cluster, runs, job, proposal, snapshot, how, more)


def _end_without_moves(cluster: Cluster, job: Job, nothing: str, how: JobOptions) -> int:
    """Nothing is to be moved: do what the job does besides, and check."""
    from kedge.apply import Waiting
    from kedge.apply.jobs import Ending
    from kedge.report.jobs import job_row

    question = job.check_end(cluster)
    ending = Ending()
    if not how.dry_run:
        if question is not None:
            confirm(f"{nothing}. {question}", yes=how.yes)
        _prepare(job, cluster, None)
        ending = job.finish(cluster, Waiting())
    if how.output is Output.JSON:
        echo_json(job_row(job, ending))
    else:
        echo_lines([nothing, *ending.lines])
    return 0 if ending.complete else EXIT_FAILED


def _apply(
    cluster: Cluster,
    runs: RunStore,
    job: Job,
    proposal: Proposal,
    snapshot: Snapshot,
    how: JobOptions,
    more: MoreSignals | None,
) -> int:
    from kedge.apply import Waiting
    from kedge.apply.jobs import keep_snapshot
    from kedge.cli.carry_out import carried_out
    from kedge.execution.prediction import refuse_problems
    from kedge.report.jobs import job_lines, job_row
    from kedge.report.run_summary import ended_row

    assert proposal.judged is not None, "a plan is proposed"
    run = predicted_on(snapshot, runs, proposal.judged, how)
    proposal = replace(proposal, judged=run.judged)
    refuse_problems(run.prediction)
    if not _agreed(job, proposal, run, how):
        return 0

    def on_run(begun: Run) -> None:
        keep_snapshot(begun, snapshot)
        _prepare(job, cluster, begun)

    ran = carried_out(
        cluster,
        runs,
        proposal,
        how.watching(len(run.judged.changes), run.prediction.seconds, more),
        on_run=on_run,
    )
    ending = job.finish(cluster, Waiting()) if ran.outcome.complete else None
    if how.output is Output.JSON:
        echo_json(job_row(job, ending, ended_row(ran.run.name, ran.outcome, ran.summary)))
    else:
        echo_lines(job_lines(ending, ran.run.name, ran.outcome, ran.summary))
    return 0 if ending is not None and ending.complete else EXIT_FAILED


def _prepare(job: Job, cluster: Cluster, run: Run | None) -> None:
    for line in job.prepare(cluster, run):
        note(line)


def _agreed(job: Job, proposal: Proposal, run: PredictedRun, how: JobOptions) -> bool:
    """Show the plan and what carrying it out takes, then ask; False for a dry run."""
    from kedge.report.plan_summary import plan_lines
    from kedge.report.plans import summary_row
    from kedge.report.prediction import eta_line
    from kedge.report.proposals import predicted_row
    from kedge.report.runs import proposal_lines

    plan = run.judged.plan
    lines = [*plan_lines(plan), *proposal_lines(proposal), eta_line(run)]
    if how.dry_run and how.output is Output.JSON:
        row = {"job": job.name, "dry_run": True, **summary_row(plan)}
        echo_json(row | {"prediction": predicted_row(run)})
        return False
    if how.dry_run:
        echo_lines(lines)
        return False
    for line in lines:
        say(line)
    confirm(job.question, yes=how.yes)
    return True
