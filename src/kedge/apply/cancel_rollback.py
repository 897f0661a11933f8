"""Cancels and rolls back runs, and cleans up after processes that died."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kedge.apply.observe import observe
from kedge.apply.preview import target_of
from kedge.apply.run_port import Run, RunStore
from kedge.apply.run_requests import answer_at_rest
from kedge.apply.throttles import Waiting, release
from kedge.cluster.port import Cluster, Replica
from kedge.errors import NoReassignmentInProgress, Unavailable
from kedge.execution import (
    ENDED,
    Lease,
    MoveStatus,
    Observation,
    RunKind,
    RunRecord,
    RunState,
    Target,
    in_order,
    statuses_of,
)
from kedge.execution import journal as lines
from kedge.execution.run_states import INTERRUPTIBLE
from kedge.model import TopicPartition
from kedge.plan import (
    ANY_LOG_DIR,
    Change,
    Directories,
    PartitionReplica,
    Plan,
    Reassignment,
    inverse,
)

PATIENCE_S = 60.0
SETTLE_PATIENCE_S = 3.0  # for the end of moves that another command has sent back
PAUSE_S = 0.2


# ---- cancel -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What cancelling a run did; `reverting` are moves whose way back is not finished."""

    cancelled: list[TopicPartition] = field(default_factory=list[TopicPartition])
    reverting: list[TopicPartition] = field(default_factory=list[TopicPartition])
    unreleased: Lease = field(default_factory=Lease)


def cancel(
    cluster: Cluster, run: Run, waiting: Waiting, *, patience_s: float = PATIENCE_S
) -> Cancelled:
    """Send back what is under way, then remove the throttles; what has arrived stays.

    A partition whose replicas of before are on a broker that is down cannot come all the way back.
    The run is then left as `cancelling`, and the next command that reaches the broker finishes it;
    the throttles stay only while copies are under way.
    """
    if run.record().state is not RunState.CANCELLING:
        run.enter(RunState.CANCELLING)
    cancelled: dict[TopicPartition, None] = {}
    deadline = waiting.clock() + patience_s
    while True:
        back = _send_back(cluster, run)
        cancelled |= dict.fromkeys(back.open)
        if not back.open:
            run.enter(RunState.CANCELLED)
            return Cancelled(list(cancelled), [], release(cluster, run, waiting))
        stuck = not back.requested and set(back.open) <= set(back.blocked)
        if stuck or waiting.clock() >= deadline:
            left = run.record().lease if back.in_flight else release(cluster, run, waiting)
            return Cancelled(list(cancelled), back.open, left)
        waiting.sleep(PAUSE_S)


@dataclass(frozen=True, slots=True)
class _WayBack:
    """Partitions of a run between its places: all of them, those that a reassignment moves, those
    that wait for a broker which is down; and how many requests were sent."""

    open: list[TopicPartition]
    in_flight: list[TopicPartition]
    blocked: list[TopicPartition]
    requested: int


def _send_back(cluster: Cluster, run: Run) -> _WayBack:
    """Send back every partition of a run that is between its places."""
    record, plan = run.record(), run.plan()
    changes = [change for change in plan.changes if change.tp in record.started]
    target = target_of(plan, record.kind)
    seen = observe(cluster, changes, target).seen
    back = [change for change in changes if _is_between(change, seen)]
    requests = [change for change in back if _needs_request(change, seen)]
    _cancel_moves(cluster, requests, seen)
    copying = _log_dir_cancels(changes, seen, target.log_dirs)
    for refusal in (cluster.alter_log_dirs(copying) if copying else {}).values():
        if refusal is not None and not refusal.retriable:
            raise refusal
    copied = [TopicPartition(*each[:2]) for each in copying]
    return _WayBack(
        [change.tp for change in back] + copied,
        [change.tp for change in back if change.tp in seen.moving] + copied,
        [change.tp for change in back if not seen.alive.issuperset(change.before)],
        len(requests) + len(copied),
    )


def send_back(
    cluster: Cluster, changes: Sequence[Change], seen: Observation, target: Target
) -> None:
    """Send back moves that are under way, of replicas and between log directories."""
    _cancel_moves(cluster, [change for change in changes if change.tp in seen.moving], seen)
    copying = _log_dir_cancels(changes, seen, target.log_dirs)
    for refusal in (cluster.alter_log_dirs(copying) if copying else {}).values():
        if refusal is not None and not refusal.retriable:
            raise refusal


def _is_between(change: Change, seen: Observation) -> bool:
    """Whether a partition is on its way between `before` and `after`, in either direction."""
    move, present = seen.moving.get(change.tp), seen.replicas.get(change.tp)
    if move is not None:
        return frozenset(move.target) in (frozenset(change.before), frozenset(change.after))
    # A plain cancel can leave the right replicas in another order.
    reordered = present is not None and present not in (change.before, change.after)
    return reordered and frozenset(present or ()) == frozenset(change.before)


def _needs_request(change: Change, seen: Observation) -> bool:
    """Whether the way back is not under way already, as far as brokers that are up allow it."""
    move, whole = seen.moving.get(change.tp), seen.alive.issuperset(change.before)
    if move is None:
        return whole
    if whole:
        return move.target != change.before
    return frozenset(move.target) != frozenset(change.before)


def _cancel_moves(cluster: Cluster, changes: Sequence[Change], seen: Observation) -> None:
    """Request the replicas of before, in their order; where one's broker is down, cancel plainly.

    A plain cancel keeps the order that the move wanted, so it is the second choice. A reassignment
    to a broker that is down is refused in ZooKeeper mode and does not end in KRaft mode.
    """
    if not changes:
        return
    answers = cluster.alter_reassignments(
        {c.tp: c.before if seen.alive.issuperset(c.before) else None for c in changes}
    )
    for refusal in answers.values():
        ended = isinstance(refusal, NoReassignmentInProgress)  # it arrived in this moment
        if refusal is not None and not refusal.retriable and not ended:
            raise refusal


def _log_dir_cancels(
    changes: Sequence[Change], seen: Observation, wanted: Mapping[PartitionReplica, str]
) -> dict[Replica, str]:
    """Copies between log directories are cancelled by sending the replica to where it is."""
    own = {change.tp for change in changes}
    return {
        Replica(*replica): present.current
        for replica, present in seen.directories.items()
        if replica.tp in own
        and replica in wanted
        and present.future == wanted[replica]
        and present.current is not None
    }


# ---- roll back ----------------------------------------------------------------------------------


def rollback_plan(cluster: Cluster, run: Run) -> Plan | None:
    """The plan that undoes what a run has moved so far; None where it has moved nothing."""
    record, plan = run.record(), run.plan()
    seen = observe(cluster, plan.changes, target_of(plan, record.kind)).seen
    moved = [
        at
        for at, change in enumerate(plan.changes)
        if change.tp in record.started and _is_changed(change, seen, record)
    ]
    if not moved:
        return None
    place = {old: new for new, old in enumerate(moved)}
    waves = (tuple(place[at] for at in wave if at in place) for wave in plan.waves)
    partial = replace(
        plan,
        partitions=tuple(plan.partitions[at] for at in moved),
        before={plan.partitions[at].tp: plan.before[plan.partitions[at].tp] for at in moved},
        reasons={},
        waves=tuple(wave for wave in waves if wave),
        summary=None,
    )
    back = inverse(partial)
    entries = tuple(_with_log_dirs(entry, record.log_dirs) for entry in back.partitions)
    return replace(back, partitions=entries, cluster_id=record.cluster_id)


def _is_changed(change: Change, seen: Observation, record: RunRecord) -> bool:
    present = seen.replicas.get(change.tp)
    if present is None:
        return False
    if present != change.before or change.tp in seen.moving:
        return True
    replicas = (PartitionReplica(*change.tp, broker) for broker in change.before)
    return any(
        replica in seen.directories
        and seen.directories[replica] != Directories(record.log_dirs.get(replica))
        for replica in replicas
    )


def _with_log_dirs(entry: Reassignment, log_dirs: Mapping[PartitionReplica, str]) -> Reassignment:
    """The log directories that the replicas were in, where they are known."""
    replicas = (PartitionReplica(*entry.tp, broker) for broker in entry.replicas)
    return replace(entry, log_dirs=tuple(log_dirs.get(each, ANY_LOG_DIR) for each in replicas))


def begin_rollback(runs: RunStore, run: Run, plan: Plan, record: RunRecord) -> Run:
    """The run that undoes another takes over its throttles; the other one ends.

    The new lease is on disk before the old one is given up: a crash in between leaves both, and
    removing a throttle twice changes nothing.
    """
    undone = run.record()
    rollback = runs.begin(plan, record)
    for setting in undone.own - set(undone.lease.settings()):
        rollback.write(lines.leased(Lease.of([setting])))
    if undone.lease:
        rollback.write(lines.leased(undone.lease))
        run.write(lines.released(Lease()))
    if undone.state not in ENDED:
        run.enter(RunState.CANCELLED)
    return rollback


# ---- clean up -----------------------------------------------------------------------------------


def close(cluster: Cluster, run: Run, waiting: Waiting) -> Lease:
    """End a run that has moved nothing; returns the throttles that are not confirmed to be gone."""
    run.enter(RunState.CANCELLED)
    return release(cluster, run, waiting)


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
    for run in runs.all():
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
    return bool(record.lease) or record.state in INTERRUPTIBLE


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
