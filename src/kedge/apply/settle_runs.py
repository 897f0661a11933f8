"""Finishes what processes that died have left: throttles, cancels, rollbacks that have begun."""

from __future__ import annotations

from collections.abc import Callable

from kedge.apply.cancel_rollback import cancel, hand_over
from kedge.apply.cordons import restore_cordons
from kedge.apply.observe import observe
from kedge.apply.preview import target_of
from kedge.apply.run_port import Run, RunStore
from kedge.apply.run_requests import answer_at_rest
from kedge.apply.throttles import Waiting, release
from kedge.cluster.port import Cluster
from kedge.errors import Unavailable
from kedge.execution import (
    ENDED,
    MoveStatus,
    RunKind,
    RunRecord,
    RunState,
    in_order,
    statuses_of,
)
from kedge.execution.run_states import INTERRUPTIBLE

SETTLE_PATIENCE_S = 3.0  # for the end of moves that another command has sent back


def settle(
    cluster: Cluster,
    runs: RunStore,
    waiting: Waiting,
    on_note: Callable[[str], None],
    *,
    finish_cancels: bool = True,
) -> None:
    """Finish what processes that died have left: throttles without moves, cancels without an end.

    Every command of a run calls this first, while no other process works on the cluster's runs.
    Commands that act leave an unfinished cancel to `kedge cancel` (`finish_cancels`): what they do
    with it is in the table of states.
    """
    found = {run.name: run for run in runs.all()}
    for run in found.values():
        record = run.record()
        if record.undoes in found and record.state not in ENDED:
            hand_over(found[record.undoes], run)
            record = run.record()
        if _has_requests(run, record):
            answer_at_rest(cluster, run, waiting)
            record = run.record()
        if not _is_left_over(record):
            continue
        if record.state is RunState.CANCELLING and not finish_cancels:
            continue
        try:
            _settle_one(cluster, run, record, waiting, on_note)
        except Unavailable as fault:
            on_note(f"run {run.name} was not cleaned up: {fault.what}")


def has_leftovers(run: Run, record: RunRecord) -> bool:
    """Whether a run may need `settle` if no process carries it out."""
    return _is_left_over(record) or _has_requests(run, record)


def _is_left_over(record: RunRecord) -> bool:
    cordoned = record.state is RunState.CANCELLED and bool(record.cordons)
    return bool(record.lease) or cordoned or record.state in INTERRUPTIBLE


def _has_requests(run: Run, record: RunRecord) -> bool:
    return record.state not in ENDED and bool(run.requests())


def _settle_one(
    cluster: Cluster,
    run: Run,
    record: RunRecord,
    waiting: Waiting,
    on_note: Callable[[str], None],
) -> None:
    if record.state is RunState.CANCELLING:
        left = cancel(cluster, run, waiting, patience_s=SETTLE_PATIENCE_S).unreleased
    elif is_under_way(cluster, run):
        return
    else:
        left = release(cluster, run, waiting)
        if record.state is RunState.CANCELLED:
            restore_cordons(cluster, run)
    removed = len(record.lease.settings()) - len(left.settings())
    if removed:
        on_note(f"removed {removed} throttle settings that run {run.name} had left")
    if left:
        names = ", ".join(left.brokers) or ", ".join(left.topics)
        kind = "broker" if left.brokers else "topic"
        on_note(f"run {run.name}: throttles stay on {kind} {names} until it can be reached")
    if record.state is RunState.RELEASING:
        run.enter(RunState.DONE, moved=len(record.started))


def is_under_way(cluster: Cluster, run: Run) -> bool:
    """Whether any partition of a run is being moved, by this run or by another."""
    plan = run.plan()
    changes = in_order(plan)
    target = target_of(plan, RunKind.ROLLBACK)
    seen = observe(cluster, changes, target).seen
    if any(change.tp in seen.moving for change in changes):
        return True
    statuses = statuses_of(changes, seen, target)
    return any(status is MoveStatus.MOVING for status in statuses.values())
