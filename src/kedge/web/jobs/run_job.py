"""The work of runs: apply, resume, rollback and cancel, by the functions of the command line.

A job that a dead server has left is started again with the same request. `apply` continues the run
of the same plan, `rollback` the rollback that had begun: both ask the table of states, as the
commands do.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from kedge.apply import (
    Pacing,
    Proposal,
    Run,
    RunStore,
    Waiting,
    cancel,
    close,
    propose_apply,
    propose_cancel,
    propose_resume,
    propose_rollback,
    settle,
)
from kedge.apply.plan_file import growth_of
from kedge.cluster.port import Cluster
from kedge.errors import ReassignmentInProgress
from kedge.execution import Action, RunState
from kedge.report.run_events import note_event
from kedge.report.run_summary import summary_lines
from kedge.report.runs import cancelled_lines, cancelled_row, outcome_lines, outcome_row
from kedge.report.watched_run import RunListener, carry_out_watched
from kedge.web.jobs.job_context import JobContext
from kedge.web.jobs.run_options import (
    INTERVAL_S,
    at_start_rate,
    options_of,
    options_to_continue,
)

Result = Mapping[str, Any]


def apply_plan(context: JobContext) -> Result:
    """Carry a plan out, or continue the run of it."""
    request, name = context.row.request, context.row.cluster
    documents = context.documents
    row = documents.plan_row(name, request["plan_id"])
    plan = documents.plan(name, request["plan_id"])
    snapshot = documents.snapshot(name, row.snapshot_id)
    growth = growth_of(plan, snapshot)
    with _acting(context) as (cluster, runs):
        if ended := _ended_already(context, runs):
            return ended
        options = options_of(request, growth)
        proposal = propose_apply(cluster, runs, plan, options, f"plan {row.id}")
        if proposal.judged is not None:
            state = context.registry.of(name).state
            judged = at_start_rate(proposal.judged, snapshot, runs, state)
            proposal = replace(proposal, judged=judged)
        return _carried_out(context, cluster, runs, proposal)


def resume_run(context: JobContext) -> Result:
    """Continue a run that was stopped or killed."""
    with _acting(context) as (cluster, runs):
        run, request = context.row.request["run"], context.row.request
        options = options_to_continue(runs, run, request)
        proposal = propose_resume(cluster, runs, run, options)
        return _carried_out(context, cluster, runs, proposal)


def roll_back_run(context: JobContext) -> Result:
    """Bring back what a run has moved."""
    with _acting(context) as (cluster, runs):
        run, options = context.row.request["run"], options_of(context.row.request, {})
        proposal = propose_rollback(cluster, runs, run, options)
        if proposal.action is not Action.CLOSE:
            return _carried_out(context, cluster, runs, proposal)
        assert proposal.run is not None
        return _closed(context, cluster, proposal.run)


def cancel_run(context: JobContext) -> Result:
    """Cancel the moves of a run that are under way; what has arrived stays."""
    with _acting(context) as (cluster, runs):
        proposal = propose_cancel(cluster, runs, context.row.request["run"])
        run = proposal.run
        assert run is not None
        if proposal.action is Action.CLOSE:
            return _closed(context, cluster, run)
        context.began(run.name)
        done = cancel(cluster, run, _waiting(context))
        return _with_lines(cancelled_row(done, run.name), cancelled_lines(done, run.name))


# ---- shared --------------------------------------------------------------------------------------


@contextmanager
def _acting(context: JobContext) -> Generator[tuple[Cluster, RunStore]]:
    """The runs of the cluster, locked; what processes that died have left is cleaned up first."""
    note = _noting(context)
    with (
        context.registry.open_runs(context.row.cluster, note) as (cluster, runs),
        _held(runs),
    ):
        settle(cluster, runs, _waiting(context), note, finish_cancels=False)
        yield cluster, runs


@contextmanager
def _held(runs: RunStore) -> Generator[None]:
    """The lock of the runs; of its refusal, a hint that fits a server's client."""
    with ExitStack() as held:
        try:
            held.enter_context(runs.held())
        except ReassignmentInProgress as busy:
            hint = "pause, cancel or roll back the run that is at work first"
            raise ReassignmentInProgress(busy.what, hint=hint) from busy
        yield


def _noting(context: JobContext) -> Callable[[str], None]:
    return lambda text: context.report(note_event(text), keep=True)


def _waiting(context: JobContext) -> Waiting:
    return Waiting(sleep=context.sleep)


def _ended_already(context: JobContext, runs: RunStore) -> Result | None:
    """The result of a run that had ended when its server died before it could write that."""
    if context.row.run is None:
        return None
    run = runs.chosen(context.row.run)
    state = runs.state_of(run)
    if state in (RunState.DONE, RunState.CANCELLED, RunState.ROLLED_BACK):
        return {"run": run.name, "complete": state is RunState.DONE, "done": run.record().moved}
    return None


def _carried_out(
    context: JobContext, cluster: Cluster, runs: RunStore, proposal: Proposal
) -> Result:
    pacing = Pacing(interval_s=INTERVAL_S, sleep=context.sleep, stopping=context.stopping.is_set)
    listener = RunListener(
        send=lambda event: context.report(event, keep=event["event"] != "progress"),
        on_run=lambda run: context.began(run.name),
    )
    predicted_s = context.row.request.get("predicted_s")
    ran = carry_out_watched(cluster, runs, proposal, pacing, listener, predicted_s=predicted_s)
    if not ran.outcome.complete and not ran.outcome.stopped:
        context.report(note_event(f"run {ran.run.name} did not complete"), keep=True)
    lines = [*outcome_lines(ran.outcome, ran.run.name), *summary_lines(ran.summary)]
    return _with_lines(outcome_row(ran.outcome, ran.run.name), lines)


def _closed(context: JobContext, cluster: Cluster, run: Run) -> Result:
    """End a run that has moved nothing: its throttles are removed."""
    context.began(run.name)
    done = close(cluster, run, _waiting(context))
    row = {**cancelled_row(done, run.name), "complete": True}
    return _with_lines(row, cancelled_lines(done, run.name))


def _with_lines(row: Result, lines: list[str]) -> Result:
    """A result for programs, with the lines that a terminal shows."""
    return {**row, "lines": lines}
