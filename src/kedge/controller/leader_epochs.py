"""Raises leader epochs, and removes ISR members that hold no replica.

A non-replica ISR member is a broker in an ISR that holds no replica of the partition (any more). A
controller that dies between storing a new assignment and sending it leaves such members, and so
does a leader that writes its ISR itself just before it gets the assignment. They are removed so:

    the leader is one        a member of the ISR that holds a replica is elected
    the epoch is raised      and the ISR is stored without them
    they are stopped         and their logs are deleted

While no other broker is in sync, theirs is the only copy: it is kept, the replicas fetch from it,
and they are removed when the first replica is in sync.
"""

from __future__ import annotations

from collections.abc import Iterable

from kedge.controller.context import Context
from kedge.controller.effects import ReadLeaderships, Script, WriteLeaderships, WriteOutcome
from kedge.controller.leader_election import choose_in_sync, succeed
from kedge.controller.partitions import ElectionRule, bring_online, mark_partitions
from kedge.controller.requests import RequestBatch
from kedge.controller.states import PartitionState
from kedge.errors import StateChangeFailed
from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.partition import NO_LEADER


def bump_epoch(context: Context, tp: TopicPartition, assignment: ReplicaAssignment) -> Script[None]:
    """Raise the leader epoch and send it to all, so that the leader gets the new replicas."""
    yield from raise_leader_epoch(context, tp)
    batch = RequestBatch(context)
    batch.add_leader_and_isr(assignment.origin, tp, is_new=False)
    batch.add_leader_and_isr(assignment.adding, tp, is_new=True)
    leader = context.leaderships[tp].leader
    if context.settings.safer and leader in live_non_replicas(context, tp, (leader,)):
        # it has the only copy: it must know the replicas that fetch from it
        batch.add_leader_and_isr((leader,), tp, is_new=False)
    yield from batch.send()


def raise_leader_epoch(context: Context, tp: TopicPartition) -> Script[None]:
    """Store the leadership with its epoch one higher; retry while others write."""
    while True:
        stored: dict[TopicPartition, Leadership] = yield ReadLeaderships(
            (tp,), watch=not context.settings.uses_alter_partition
        )
        now = stored.get(tp)
        if now is None:
            raise StateChangeFailed(f"{tp} has no stored leadership to raise the epoch of")
        if now.controller_epoch > context.epoch:
            raise StateChangeFailed(
                f"{tp} was written by a controller of epoch {now.controller_epoch}"
            )
        outcome: WriteOutcome = yield WriteLeaderships(
            {tp: raised(context, tp, now)}, context.epoch
        )
        if outcome.failed:
            raise StateChangeFailed(f"{tp}: {outcome.failed[tp]}")
        if outcome.stored:
            context.set_leadership(tp, outcome.stored[tp])
            return


def raised(context: Context, tp: TopicPartition, now: Leadership) -> Leadership:
    """Return the leadership with its epoch one higher, without non-replicas if any replica is in
    sync.

    From the raised epoch on the leader knows its replicas and acknowledges without the others. If
    those still counted as in sync, one of them could be elected later without acknowledged records.
    Kafka stores the ISR as it is, and removes replicas afterwards.
    """
    members = tuple(b for b in now.isr if b in context.replicas(tp))
    if not members or not context.settings.safer:
        return succeed(now, now.leader, now.isr)
    return succeed(now, now.leader if now.leader in members else NO_LEADER, members)


def move_leader_to_replica(context: Context, tp: TopicPartition) -> Script[None]:
    """Replace a leader without a replica by an in-sync replica, if there is one."""
    now = context.leaderships[tp]
    if any(b in context.replicas(tp) for b in now.isr):
        yield from mark_partitions(context, (tp,), PartitionState.OFFLINE)
        yield from bring_online(context, (tp,), ElectionRule())


def retain_in_sync(
    context: Context, tp: TopicPartition, staying: tuple[BrokerId, ...]
) -> Script[bool]:
    """Return whether a staying replica is in the stored ISR; if so, only such a replica leads.

    A leader that writes ISRs itself (IBP below 2.7) may have removed the staying replicas since the
    context was loaded, and may remove them after any read. So a leader that does not stay is
    replaced by a conditional write of the ISR that was checked: it cannot write after that.
    """
    while True:
        stored: dict[TopicPartition, Leadership] = yield ReadLeaderships((tp,))
        now = stored.get(tp)
        if now is None or now.controller_epoch > context.epoch:
            return True  # the writes of the move fail later, with the reason
        context.set_leadership(tp, now)
        members = tuple(b for b in now.isr if b in staying)
        if not members:
            return False
        if context.settings.uses_alter_partition or now.leader in (NO_LEADER, *staying):
            return True
        leader = choose_in_sync(staying, members, context.online_brokers(tp))
        successor = succeed(now, NO_LEADER if leader is None else leader, members)
        outcome: WriteOutcome = yield WriteLeaderships({tp: successor}, context.epoch)
        if outcome.stored:
            context.set_leadership(tp, outcome.stored[tp])
            if leader is None:
                yield from mark_partitions(context, (tp,), PartitionState.OFFLINE)
        if not outcome.stale:
            return True


def remove_non_replica_isr_members(
    context: Context, tp: TopicPartition, isr: Iterable[BrokerId]
) -> Script[None]:
    """Send a leader its replicas again if its ISR has non-replicas, and stop those."""
    non_replica_isr_members = live_non_replicas(context, tp, isr)
    if (
        not non_replica_isr_members
        or not context.settings.safer
        or tp.topic in context.topics_to_be_deleted
    ):
        return
    if context.leaderships[tp].leader in non_replica_isr_members:
        yield from move_leader_to_replica(context, tp)
    yield from bump_epoch(context, tp, context.assignment(tp))
    kept = context.leaderships[tp].isr
    batch = RequestBatch(context)
    for broker in non_replica_isr_members:
        if broker not in kept:
            batch.add_stop_replica(broker, tp, delete=True)
    yield from batch.send()


def live_non_replicas(
    context: Context, tp: TopicPartition, brokers: Iterable[BrokerId]
) -> list[BrokerId]:
    """Return those of these brokers that are live and hold no replica of the partition."""
    return [b for b in brokers if b in context.live and b not in context.replicas(tp)]
