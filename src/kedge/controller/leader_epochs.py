"""Raising a leader epoch, so that a leader learns its replicas anew; and leaders with strangers.

A stranger is a broker in an ISR that holds no replica of the partition (any more). A controller
that dies between storing a new assignment and telling it leaves strangers behind, and so does a
leader that writes its ISR itself just before it is told. Strangers are expelled in this order:

    the leader is one        a member of the ISR that does hold a replica takes over
    the epoch is raised      and the ISR stored without them: from here on they count no more
    they are stopped         and what they hold is deleted

As long as nobody but strangers is in sync, theirs is the only copy: it is kept, the replicas copy
from it, and the first of them to be in sync lets the strangers go.
"""

from __future__ import annotations

from collections.abc import Iterable

from kedge.controller.context import Context
from kedge.controller.effects import ReadLeaderships, Script, Stored, WriteLeaderships
from kedge.controller.elections import choose_in_sync, succeed
from kedge.controller.partitions import ElectionRule, bring_online, mark_partitions
from kedge.controller.requests import RequestBatch
from kedge.controller.states import PartitionState
from kedge.errors import StateChangeFailed
from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.partition import NO_LEADER


def bump_epoch(context: Context, tp: TopicPartition, assignment: ReplicaAssignment) -> Script[None]:
    """One leader epoch up and everyone told, so that the leader learns of the new replicas."""
    yield from raise_leader_epoch(context, tp)
    batch = RequestBatch(context)
    batch.lead(assignment.origin, tp, is_new=False)
    batch.lead(assignment.adding, tp, is_new=True)
    leader = context.leaderships[tp].leader
    if context.settings.safer and leader in strangers_of(context, tp, (leader,)):
        # it has the only copy: it must know who is going to fetch from it
        batch.lead((leader,), tp, is_new=False)
    yield from batch.send()


def raise_leader_epoch(context: Context, tp: TopicPartition) -> Script[None]:
    """Store the leadership again with its epoch one higher, however often others write."""
    while True:
        stored: dict[TopicPartition, Leadership] = yield ReadLeaderships(
            (tp,), watch=not context.settings.leaders_ask
        )
        now = stored.get(tp)
        if now is None:
            raise StateChangeFailed(f"{tp} has no stored leadership to raise the epoch of")
        if now.controller_epoch > context.epoch:
            raise StateChangeFailed(
                f"{tp} was written by a controller of epoch {now.controller_epoch}"
            )
        outcome: Stored = yield WriteLeaderships({tp: raised(context, tp, now)}, context.epoch)
        if outcome.failed:
            raise StateChangeFailed(f"{tp}: {outcome.failed[tp]}")
        if outcome.stored:
            context.lead(tp, outcome.stored[tp])
            return


def raised(context: Context, tp: TopicPartition, now: Leadership) -> Leadership:
    """The leadership with its epoch one higher, and without strangers if anybody else is in sync.

    From the raised epoch on the leader knows its replicas and acknowledges without the others. If
    those still counted as in sync, one of them could be elected later without what was
    acknowledged. Kafka stores the ISR as it is, and takes replicas out afterwards.
    """
    members = tuple(b for b in now.isr if b in context.replicas(tp))
    if not members or not context.settings.safer:
        return succeed(now, now.leader, now.isr)
    return succeed(now, now.leader if now.leader in members else NO_LEADER, members)


def lead_from_within(context: Context, tp: TopicPartition) -> Script[None]:
    """A leader without a replica gives way to one that has it, if one is in sync."""
    now = context.leaderships[tp]
    if any(b in context.replicas(tp) for b in now.isr):
        yield from mark_partitions(context, (tp,), PartitionState.OFFLINE)
        yield from bring_online(context, (tp,), ElectionRule())


def retain_in_sync(
    context: Context, tp: TopicPartition, staying: tuple[BrokerId, ...]
) -> Script[bool]:
    """Whether a replica that stays is in the stored ISR; if so, none but such a replica leads.

    A leader that writes ISRs itself (IBP below 2.7) may have dropped the staying replicas since the
    context was filled, and may drop them after any read. So a leader that does not stay is replaced
    by a conditional write of the very ISR that was judged: it cannot write again after that.
    """
    while True:
        stored: dict[TopicPartition, Leadership] = yield ReadLeaderships((tp,))
        now = stored.get(tp)
        if now is None or now.controller_epoch > context.epoch:
            return True  # the writes of the move itself are going to fail, and say why
        context.lead(tp, now)
        members = tuple(b for b in now.isr if b in staying)
        if not members:
            return False
        if context.settings.leaders_ask or now.leader in (NO_LEADER, *staying):
            return True
        leader = choose_in_sync(staying, members, context.online_brokers(tp))
        successor = succeed(now, NO_LEADER if leader is None else leader, members)
        outcome: Stored = yield WriteLeaderships({tp: successor}, context.epoch)
        if outcome.stored:
            context.lead(tp, outcome.stored[tp])
            if leader is None:
                yield from mark_partitions(context, (tp,), PartitionState.OFFLINE)
        if not outcome.stale:
            return True


def expel_strangers(context: Context, tp: TopicPartition, isr: Iterable[BrokerId]) -> Script[None]:
    """Tell a leader its replicas again that counts strangers in, and stop those."""
    strangers = strangers_of(context, tp, isr)
    if not strangers or not context.settings.safer or tp.topic in context.topics_to_be_deleted:
        return
    if context.leaderships[tp].leader in strangers:
        yield from lead_from_within(context, tp)
    yield from bump_epoch(context, tp, context.assignment(tp))
    kept = context.leaderships[tp].isr
    batch = RequestBatch(context)
    for broker in strangers:
        if broker not in kept:
            batch.stop(broker, tp, delete=True)
    yield from batch.send()


def strangers_of(
    context: Context, tp: TopicPartition, brokers: Iterable[BrokerId]
) -> list[BrokerId]:
    """Those of these brokers that are alive and hold no replica of the partition."""
    return [b for b in brokers if b in context.live and b not in context.replicas(tp)]
