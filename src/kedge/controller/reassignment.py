"""Moves a partition from one set of replicas to another (KIP-455), safe to stop at any point.

RS are the replicas, AR those being added, RR those being removed; the origin is RS − AR and the
target RS − RR. The stored assignment is the only durable record of the origin, so RS becomes the
target only in the very last write.

    phase U   the assignment is stored, then set; replicas that are not in the new one are stopped
              and deleted
    complete? nothing is added or removed, or the whole target is in the stored ISR
    phase A   no: the leader epoch is raised and sent; the new replicas start to fetch. Then wait.
    phase B   yes: leadership moves into the target, RR leave the ISR and are deleted, the target
              is stored and sent to all brokers

    {1,2,3} → {4,5,6}, leader 1         RS            leader, epoch   ISR
    start                               1,2,3         1, e0           1,2,3
    phases U and A                      4,5,6,1,2,3   1, e1           1,2,3
    the new ones have caught up         4,5,6,1,2,3   1, e1           1,2,3,4,5,6
    B: the leader moves                 4,5,6         4, e2           1,2,3,4,5,6
    B: 1, 2 and 3 leave one by one      4,5,6         4, e5           4,5,6

Phase B can be repeated from its start; only epochs grow. A controller that takes over during phase
B does so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kedge.controller.context import Context
from kedge.controller.deletion import mark_ineligible, resume_for
from kedge.controller.effects import (
    ReadLeaderships,
    ReadReassignmentPlan,
    RecordMessage,
    Script,
    StoreAssignment,
)
from kedge.controller.events import ReassignmentRequested
from kedge.controller.leader_election import Strategy
from kedge.controller.leader_epochs import bump_epoch, move_leader_to_replica, retain_in_sync
from kedge.controller.partitions import ElectionRule, bring_online, mark_partitions
from kedge.controller.reassignment_plan import Targets, remove_plan_entries
from kedge.controller.replicas import mark_new, move_one
from kedge.controller.requests import send_metadata
from kedge.controller.states import PartitionState, ReplicaState
from kedge.errors import StateChangeFailed
from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.model.partition import NO_LEADER
from kedge.plan.reassignment import cancel, reassign_to, unneeded_replicas

Outcomes = dict[TopicPartition, ErrorCode]


# ---- events ----------------------------------------------------------------------------------


def on_reassignment_requested(context: Context, event: ReassignmentRequested) -> Script[Outcomes]:
    """Validate each partition's target, then start the moves.

    The latest request wins: its partitions are removed from the stored plan.
    """
    wanted: dict[TopicPartition, ReplicaAssignment] = {}
    outcomes: Outcomes = {}
    for tp, target in sorted(event.targets.items(), key=lambda item: item[0]):
        now = context.assignment(tp)
        if target is not None:
            outcomes[tp] = target_error(context, now, target)
            if outcomes[tp] is ErrorCode.NONE:
                wanted[tp] = reassign_to(now, target)
        elif now.in_progress:
            wanted[tp] = cancel(now)
        else:
            outcomes[tp] = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    yield from remove_plan_entries(lambda tp, _: tp in wanted)
    outcomes |= yield from start_moves(context, wanted)
    return outcomes


def target_error(
    context: Context, now: ReplicaAssignment, target: tuple[BrokerId, ...]
) -> ErrorCode:
    """Return the error of a target; existing replicas may be dead."""
    if not target or len(set(target)) != len(target) or min(target) < 0:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if not context.live.issuperset(reassign_to(now, target).adding):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    return ErrorCode.NONE


def on_reassignment_planned(context: Context) -> Script[set[TopicPartition]]:
    """Start the stored plan; remove entries that cannot be started. Return the started ones."""
    plan: Targets | None = yield ReadReassignmentPlan(watch=True)
    if plan is None:
        return set()
    wanted = {tp: reassign_to(context.assignment(tp), plan[tp]) for tp in sorted(plan)}
    outcomes = yield from start_moves(context, wanted)
    failed = {tp for tp, code in outcomes.items() if code is not ErrorCode.NONE}
    if failed:
        yield RecordMessage(f"{len(failed)} entries of the reassignment plan cannot be started")
        yield from remove_plan_entries(lambda tp, _: tp in failed)
    return outcomes.keys() - failed


def on_plan_edited() -> Script[None]:
    """Read the plan to set the watch again; only the creation of a plan is a request."""
    yield ReadReassignmentPlan(watch=True)


def list_reassignments(
    context: Context, partitions: Iterable[TopicPartition] | None
) -> dict[TopicPartition, ReplicaAssignment]:
    """Return the moves in progress, among these partitions or among all."""
    requested = context.being_reassigned if partitions is None else partitions
    found = {tp: context.assignment(tp) for tp in sorted(requested)}
    return {tp: assignment for tp, assignment in found.items() if assignment.in_progress}


def resume_moves(
    context: Context, is_affected: Callable[[TopicPartition, ReplicaAssignment], bool]
) -> Script[None]:
    """Continue the stored moves that an event affects."""
    for tp in sorted(context.being_reassigned):
        now = context.assignment(tp)
        if is_affected(tp, now):
            yield from try_reassign(context, tp, now)


def maybe_complete(context: Context, tp: TopicPartition) -> Script[None]:
    """Complete a partition's move if the changed ISR allows it."""
    if tp not in context.being_reassigned or not context.replicas(tp):
        return
    now = context.assignment(tp)
    if (yield from is_complete(context, tp, now)):
        yield from reassign(context, tp, now)


def start_moves(
    context: Context, wanted: Mapping[TopicPartition, ReplicaAssignment]
) -> Script[Outcomes]:
    """Start requested moves one after the other, except of topics to be deleted."""
    outcomes: Outcomes = {}
    for tp, assignment in wanted.items():
        if tp.topic in context.topics_to_be_deleted or not context.replicas(tp):
            outcomes[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif (yield from loses_data(context, tp, assignment)):
            yield RecordMessage(
                f"the move of {tp} is rejected: it would delete all replicas in sync"
            )
            outcomes[tp] = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        else:
            outcomes[tp] = yield from try_reassign(context, tp, assignment)
    return outcomes


def try_reassign(
    context: Context, tp: TopicPartition, assignment: ReplicaAssignment
) -> Script[ErrorCode]:
    """Run one move; its failure does not stop the next."""
    try:
        yield from reassign(context, tp, assignment)
    except StateChangeFailed as failure:
        yield RecordMessage(f"the move of {tp} failed: {failure}")
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.NONE


def loses_data(context: Context, tp: TopicPartition, wanted: ReplicaAssignment) -> Script[bool]:
    """Return whether a new assignment deletes every replica that is in sync.

    That happens when the stored plan has no replicas for a partition, and when a move is cancelled
    or overridden while only added replicas are in sync. Kafka deletes them.
    """
    if not context.settings.safer:
        return False
    dropped = unneeded_replicas(context.assignment(tp), wanted)
    if not wanted.target or not dropped or tp not in context.leaderships:
        return not wanted.target
    return not (yield from retain_in_sync(context, tp, wanted.replicas))


# ---- the procedure ---------------------------------------------------------------------------


def reassign(context: Context, tp: TopicPartition, wanted: ReplicaAssignment) -> Script[None]:
    """Bring one partition as far towards an assignment as possible now."""
    mark_ineligible(context, {tp.topic})
    led = context.leaderships[tp].leader if tp in context.leaderships else NO_LEADER
    yield from update_assignment(context, tp, wanted)
    if context.settings.safer and tp not in context.leaderships:
        # no leadership is stored, so there is no data: all online replicas are in sync
        yield from bring_online(context, (tp,), ElectionRule())
    if (yield from is_complete(context, tp, wanted)):
        yield from complete(context, tp, wanted)
        return
    if context.settings.safer and led != NO_LEADER and led not in wanted.replicas:
        # the leader was one of the dropped replicas: added ones need another to fetch from
        yield from move_leader_to_replica(context, tp)
    yield from bump_epoch(context, tp, wanted)
    for broker in wanted.adding:
        state = context.replica_state(broker, tp)
        if not context.settings.safer or state is not ReplicaState.NEW:
            yield from move_one(context, tp, (broker,), ReplicaState.NEW)


def update_assignment(
    context: Context, tp: TopicPartition, wanted: ReplicaAssignment
) -> Script[None]:
    """Phase U."""
    now = context.assignment(tp)
    if now != wanted:
        yield from store_assignment(context, tp, wanted)
        context.set_assignment(tp, wanted)
        unneeded = unneeded_replicas(now, wanted)
        if context.settings.safer and (unneeded or tp not in context.leaderships):
            # requests before phase A reach the added replicas too: they may be in sync before it
            yield from mark_new(context, tp, wanted.adding)
        if unneeded:
            yield from remove_replicas(context, tp, unneeded)
    context.being_reassigned.add(tp)


def store_assignment(
    context: Context, tp: TopicPartition, wanted: ReplicaAssignment
) -> Script[None]:
    """Rewrite the topic with one partition's assignment replaced."""
    known = {other: context.assignments[other] for other in context.partitions_of(tp.topic)}
    known[tp] = wanted
    topic_id = context.topic_ids.get(tp.topic)
    if not (yield StoreAssignment(tp.topic, topic_id, known, keep_unknown=True)):
        raise StateChangeFailed(f"{tp} has no stored assignment: its topic is gone")


def remove_replicas(
    context: Context, tp: TopicPartition, brokers: Iterable[BrokerId]
) -> Script[None]:
    """Stop and delete replicas, without waiting for responses."""
    gone = tuple(brokers)
    for state in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        yield from move_one(context, tp, gone, state)


def is_complete(
    context: Context, tp: TopicPartition, assignment: ReplicaAssignment
) -> Script[bool]:
    """Return whether nothing is added or removed, or the stored ISR has the whole target.

    Where leaders write ISRs themselves, the read sets a watch on the next change.
    """
    if not assignment.in_progress:
        return True
    stored: dict[TopicPartition, Leadership] = yield ReadLeaderships(
        (tp,), watch=not context.settings.uses_alter_partition
    )
    return tp in stored and set(assignment.target) <= set(stored[tp].isr)


# ---- phase B ---------------------------------------------------------------------------------


def complete(context: Context, tp: TopicPartition, assignment: ReplicaAssignment) -> Script[None]:
    """Finish a move whose target is in sync: remove the other replicas."""
    if not assignment.target:
        # Kafka raises an error here, because an empty list has no preferred leader
        raise StateChangeFailed(f"{tp} is to have no replicas at all")
    yield from move_one(context, tp, assignment.adding, ReplicaState.ONLINE)
    done = ReplicaAssignment(assignment.target)
    context.set_assignment(tp, done)
    yield from move_leader(context, tp, done)
    leader = context.leaderships[tp].leader
    if context.settings.safer and assignment.removing and leader not in done.replicas:
        # the ISR has shrunk since it was read: removing the leader would lose data
        context.set_assignment(tp, assignment)
        yield RecordMessage(f"the move of {tp} waits: no replica of its target can lead")
        return
    yield from remove_replicas(context, tp, assignment.removing)
    yield from store_assignment(context, tp, done)
    yield from remove_plan_entries(lambda other, target: other == tp and target == done.replicas)
    context.being_reassigned.discard(tp)
    yield from send_metadata(context, context.registered, (tp,))
    yield from resume_for(context, {tp.topic})


def move_leader(context: Context, tp: TopicPartition, done: ReplicaAssignment) -> Script[None]:
    """Keep a leader inside the target that can serve, even if it is not the preferred one."""
    now = context.leaderships.get(tp)
    if now is None:
        raise StateChangeFailed(f"{tp} never had a leader")
    if now.leader in done.replicas and context.online(now.leader, tp):
        yield from bump_epoch(context, tp, done)
    else:
        yield from bring_online(context, (tp,), ElectionRule(Strategy.REASSIGN))
        if context.settings.safer and context.leaderships[tp].leader == NO_LEADER:
            # an online partition is not elected for when the broker of its replica starts
            yield from mark_partitions(context, (tp,), PartitionState.OFFLINE)
