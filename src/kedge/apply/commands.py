"""The commands of a run: each checks first, and does only what was shown.

`propose_…` reads the table of states (`execution.run_states`), observes the cluster and returns
what the command would do, or raises the sentence that refuses it; nothing is changed. `carry_out`
does it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from kedge.apply.cancel_rollback import begin_rollback, close, rollback_plan
from kedge.apply.cordons import complete_cordons, restore_cordons
from kedge.apply.executor import Executor
from kedge.apply.observe import observe
from kedge.apply.outcome import Outcome, Pacing
from kedge.apply.preview import Preview, RunOptions, preview, target_of
from kedge.apply.run_port import Run, RunStore, new_record
from kedge.apply.run_requests import allowed
from kedge.cluster.port import Cluster
from kedge.errors import RefusedCommand
from kedge.execution import (
    Action,
    MoveStatus,
    RunKind,
    RunPrediction,
    RunState,
    Verb,
    statuses_of,
)
from kedge.execution import journal as lines
from kedge.model import TopicPartition
from kedge.plan import Plan


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a command would do: to `run`, or by a new run of what was checked.

    `predicted_s` are the seconds that this is predicted to take, in the time of the cluster.
    """

    action: Action
    run: Run | None = None
    judged: Preview | None = None
    moving: tuple[TopicPartition, ...] = ()
    plan_file: str = ""
    predicted_s: float | None = None


# ---- checking -----------------------------------------------------------------------------------


def propose_apply(
    cluster: Cluster, runs: RunStore, plan: Plan, options: RunOptions, plan_file: str
) -> Proposal:
    """Start a run, or continue the one that was interrupted with the same plan."""
    latest = runs.chosen(None) if runs.all() else None
    if latest is not None:
        same = _same(plan, latest.plan())
        action = allowed(Verb.APPLY_SAME if same else Verb.APPLY, runs, latest)
        if action is Action.CONTINUE:
            return _continued(cluster, runs, latest, options, action)
    judged = preview(cluster, plan, options, own=runs.own_settings())
    return Proposal(Action.START, latest, judged, plan_file=plan_file)


def _same(plan: Plan, other: Plan) -> bool:
    """Whether two plans put the same partitions to the same places."""
    return plan.partitions == other.partitions


def propose_resume(
    cluster: Cluster, runs: RunStore, run_id: str | None, options: RunOptions
) -> Proposal:
    """Continue a run, or the rollback of it."""
    run = runs.chosen(run_id)
    action = allowed(Verb.RESUME, runs, run)
    return _continued(cluster, runs, run, options, action)


def propose_cancel(cluster: Cluster, runs: RunStore, run_id: str | None) -> Proposal:
    """Cancel what is under way of a run, or of the rollback of it."""
    run = runs.chosen(run_id)
    action = allowed(Verb.CANCEL, runs, run)
    if action is Action.CANCEL_ROLLBACK:
        run = _rollback(runs, run)
    plan, record = run.plan(), run.record()
    target = target_of(plan, record.kind)
    seen = observe(cluster, plan.changes, target).seen
    statuses = statuses_of(plan.changes, seen, target)
    moving = sorted(tp for tp, status in statuses.items() if status is MoveStatus.MOVING)
    return Proposal(action, run, moving=tuple(moving))


def propose_rollback(
    cluster: Cluster, runs: RunStore, run_id: str | None, options: RunOptions
) -> Proposal:
    """Undo what a run has moved, or continue the rollback that was interrupted."""
    run = runs.chosen(run_id)
    action = allowed(Verb.ROLLBACK, runs, run)
    if action is Action.CONTINUE_ROLLBACK:
        return _continued(cluster, runs, run, options, action)
    back = rollback_plan(cluster, run) if action is Action.ROLL_BACK else None
    if back is None:
        if run.record().state in (RunState.DONE, RunState.CANCELLED):
            raise RefusedCommand(
                f"Run {run.name} has moved nothing that is still in place",
                hint="kedge runs lists other runs; name one with --run",
            )
        return Proposal(Action.CLOSE, run)
    judged = preview(cluster, back, options, kind=RunKind.ROLLBACK, own=runs.own_settings())
    return Proposal(action, run, judged)


def _continued(
    cluster: Cluster, runs: RunStore, run: Run, options: RunOptions, action: Action
) -> Proposal:
    if action is Action.CONTINUE_ROLLBACK:
        run = _rollback(runs, run)
    record = run.record()
    judged = preview(
        cluster,
        run.plan(),
        options,
        kind=record.kind,
        own=runs.own_settings(),
        log_dirs_before=record.log_dirs,
        sent_back=record.sent_back,
    )
    return Proposal(action, run, judged)


def _rollback(runs: RunStore, run: Run) -> Run:
    rollback = runs.rollback_of(run)
    assert rollback is not None, "only a run with a rollback has this action"
    return rollback


# ---- acting -------------------------------------------------------------------------------------


def carry_out(
    cluster: Cluster, runs: RunStore, proposal: Proposal, pacing: Pacing
) -> tuple[Run, Outcome]:
    """Do what was proposed and shown."""
    judged = proposal.judged
    assert judged is not None, "this action carries nothing out"
    if runs.clock() is not None:  # the brokers of a lab follow another rate at once
        pacing = replace(pacing, rise_s=0.0)
    pacing = replace(pacing, throttled_until=_end_of_last_run(runs, pacing))
    run = _run_for(cluster, runs, proposal, judged, pacing)
    pacing.on_run(run)
    if judged.skipped:
        run.write(lines.skipped(judged.skipped))
    for note in _set_cordons_right(cluster, run, judged.kind):
        pacing.on_note(note)
    outcome = Executor(cluster, run, judged, pacing).carry_out()
    skipped = {tp: MoveStatus.DRIFTED for tp in judged.skipped}
    return run, replace(outcome, skipped={**skipped, **outcome.skipped})


def _set_cordons_right(cluster: Cluster, run: Run, kind: RunKind) -> list[str]:
    """Give brokers the cordons that the run needs before it moves; returns what was changed."""
    if kind is RunKind.ROLLBACK:  # no reassignment to a cordoned broker is accepted
        return [f"broker {broker} uncordoned" for broker in restore_cordons(cluster, run)]
    return [f"broker {broker} cordoned" for broker in complete_cordons(cluster, run)]


def _end_of_last_run(runs: RunStore, pacing: Pacing) -> float:
    """When the last run changed its state, by the clock of the pacing."""
    return pacing.clock() - since_last_run(runs, pacing.now())


def since_last_run(runs: RunStore, now: float) -> float:
    """The seconds since the last run changed its state."""
    return now - max((runs.record_of(run).changed_at for run in runs.all()[-1:]), default=-math.inf)


def _run_for(
    cluster: Cluster, runs: RunStore, proposal: Proposal, judged: Preview, pacing: Pacing
) -> Run:
    limits, steering, old = judged.options.limits, judged.options.steering, proposal.run
    if proposal.action in (Action.CONTINUE, Action.CONTINUE_ROLLBACK):
        assert old is not None
        record = old.record()
        wanted = limits.rate, limits.each_way, steering
        if (record.rate, record.each_way, record.steering) != wanted:
            old.write(lines.settings_changed(*wanted))
        if proposal.predicted_s is not None:
            old.write(lines.predicted(proposal.predicted_s, at=old.now()))
        return old
    record = new_record(
        runs.cluster_id,
        kind=judged.kind,
        undoes=old.name if old and proposal.action is Action.ROLL_BACK else None,
        plan_file=proposal.plan_file,
        rate=limits.rate,
        each_way=limits.each_way,
    )
    prediction = RunPrediction.made(record.begun_at, proposal.predicted_s)
    record = replace(record, steering=steering, prediction=prediction)
    if proposal.action is Action.ROLL_BACK:
        assert old is not None
        return begin_rollback(runs, old, judged.plan, record)
    if old is not None and runs.state_of(old) in (RunState.PLANNED, RunState.THROTTLING):
        close(cluster, old, pacing.waiting)
    return runs.begin(judged.plan, record)
