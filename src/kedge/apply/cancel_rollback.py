"""Cancels and rolls back runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kedge.apply.cordons import restore_cordons
from kedge.apply.observe import observe
from kedge.apply.preview import target_of
from kedge.apply.run_port import Run, RunStore
from kedge.apply.throttles import Waiting, release
from kedge.cluster.port import Cluster, Replica
from kedge.errors import NoReassignmentInProgress
from kedge.execution import (
    ENDED,
    Lease,
    Observation,
    RunKind,
    RunRecord,
    RunState,
    Setting,
    Target,
)
from kedge.execution import journal as lines
from kedge.model import BrokerId, TopicPartition
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
    """What cancelling a run did; `reverting` are moves whose way back is not finished, `uncordoned`
    the brokers that the run had cordoned."""

    cancelled: list[TopicPartition] = field(default_factory=list[TopicPartition])
    reverting: list[TopicPartition] = field(default_factory=list[TopicPartition])
    unreleased: Lease = field(default_factory=Lease)
    uncordoned: list[BrokerId] = field(default_factory=list[BrokerId])


def cancel(
    cluster: Cluster, run: Run, waiting: Waiting, *, patience_s: float = PATIENCE_S
) -> Cancelled:
    """Send back what is under way, then remove throttles and cordons; what has arrived stays.

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
            return replace(close(cluster, run, waiting), cancelled=list(cancelled))
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
    target = target_of(plan, record.kind)
    seen = observe(cluster, plan.changes, target).seen
    changes = _to_send_back(plan.changes, record, seen)
    back = [change for change in changes if _is_between(change, seen)]
    requests = [change for change in back if _needs_request(change, seen)]
    _cancel_moves(cluster, requests, seen)
    copying = _log_dir_cancels(plan.changes if target.rollback else changes, seen, target)
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


def _to_send_back(changes: Sequence[Change], record: RunRecord, seen: Observation) -> list[Change]:
    """The partitions that a run has started, each with the replicas to which it is sent back.

    A rollback may not have reached every partition that the run which it undoes is still moving:
    those are sent back to where that run has found them.
    """

    def is_undone(change: Change) -> bool:
        move = seen.moving.get(change.tp)
        return (
            record.kind is RunKind.ROLLBACK
            and move is not None
            and frozenset(move.origin) == frozenset(change.after)
            and frozenset(move.target) == frozenset(change.before)
        )

    undone = [Change(c.tp, c.after, c.before) for c in changes if is_undone(c)]
    known = {change.tp for change in undone}
    return [*undone, *(c for c in changes if c.tp in record.started and c.tp not in known)]


def send_back(
    cluster: Cluster, changes: Sequence[Change], seen: Observation, target: Target
) -> None:
    """Send back moves that are under way, of replicas and between log directories."""
    _cancel_moves(cluster, [change for change in changes if change.tp in seen.moving], seen)
    copying = _log_dir_cancels(changes, seen, target)
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
    changes: Sequence[Change], seen: Observation, target: Target
) -> dict[Replica, str]:
    """Copies between log directories are cancelled by sending the replica to where it is.

    Those of a rollback go to the directories that it names; those of the run which it undoes leave
    them.
    """
    own = {change.tp for change in changes}
    return {
        Replica(*replica): present.current
        for replica, present in seen.directories.items()
        if replica.tp in own
        and replica in target.log_dirs
        and present.current is not None
        and present.future is not None
        and target.log_dirs[replica]
        in ((present.future, present.current) if target.rollback else (present.future,))
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

    A crash on the way leaves a rollback that has begun: `settle` hands over what is missing.
    """
    rollback = runs.begin(plan, record)
    hand_over(run, rollback)
    return rollback


def hand_over(run: Run, rollback: Run) -> None:
    """End a run in favour of its rollback, which gets its throttles and cordons; repeated, it
    changes nothing.

    The new lease is on disk before the old one is given up: a crash in between leaves both, and
    removing a throttle twice changes nothing.
    """
    undone, known = run.record(), rollback.record()
    if undone.lease:
        for former in _leases_of(undone.own - known.own):
            rollback.write(lines.leased(former))
        rollback.write(lines.leased(undone.lease.updated(known.lease)))
        run.write(lines.released(Lease()))
    if undone.cordons:
        rollback.write(lines.cordoned(undone.cordons))
        run.write(lines.uncordoned(undone.cordons))
    if undone.state not in ENDED:
        run.enter(RunState.CANCELLED)


def close(cluster: Cluster, run: Run, waiting: Waiting) -> Cancelled:
    """End a run of which nothing is under way, and remove its throttles and cordons.

    The state is first in the journal: what a crash leaves of the rest, `settle` removes.
    """
    run.enter(RunState.CANCELLED)
    left = release(cluster, run, waiting)
    return Cancelled(unreleased=left, uncordoned=restore_cordons(cluster, run))


def _leases_of(settings: Collection[Setting]) -> list[Lease]:
    """As few leases as hold all of these: one holds one value of a config."""
    values: dict[tuple[str, str, str], list[Setting]] = {}
    for setting in sorted(settings):
        values.setdefault(setting[:3], []).append(setting)
    most = max(map(len, values.values()), default=0)
    return [Lease.of(each[at] for each in values.values() if at < len(each)) for at in range(most)]
