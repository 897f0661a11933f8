"""The replica machine: what each broker has been told about each of its replicas.

One call moves many replicas to one state and sends one batch of requests; brokers are taken in
Kafka's order (`order.py`), so that replicas leaving an ISR together leave as they do there.

    to NewReplica                LeaderAndIsr (new) to it, if the partition has a leadership
    to OnlineReplica             LeaderAndIsr to it; from New nothing: it has been told
    to OfflineReplica            StopReplica to it; out of the ISR; LeaderAndIsr to the others
    to ReplicaDeletionStarted    StopReplica with deletion
    to NonExistentReplica        forgotten, and out of the assignment in memory
    to the others                marked
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kedge.controller.context import Context
from kedge.controller.effects import (
    ReadLeaderships,
    RecordReplicas,
    Script,
    Stored,
    WriteLeaderships,
)
from kedge.controller.elections import succeed, without_replica
from kedge.controller.requests import RequestBatch
from kedge.controller.states import REPLICA_MAY_COME_FROM, ReplicaState
from kedge.model import NO_LEADER, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.scala_map_order import immutable_map_order

Replicas = Mapping[BrokerId, Iterable[TopicPartition]]  # partitions by the broker of the replica
Refused = dict[TopicPartition, str]


def move_replicas(context: Context, replicas: Replicas, target: ReplicaState) -> Script[None]:
    """Move replicas to a state; illegal moves are noted and left undone."""
    batch = RequestBatch(context)
    for broker in immutable_map_order(replicas):
        partitions = replicas[broker]
        valid, refused = sort_out(context, broker, partitions, target)
        if valid:
            valid = yield from move_on_broker(context, broker, valid, target, batch, refused)
        if valid or refused:
            yield RecordReplicas(broker, target, valid, refused)
    yield from batch.send()


def tell_online(context: Context, brokers: list[BrokerId]) -> Script[None]:
    """Tell brokers of all their replicas, which are online already: what moving every one of them
    to the state that it has would do, in one pass."""
    batch = RequestBatch(context)
    batch.lead_all(sorted(context.assignments), brokers)
    for broker in immutable_map_order(brokers):
        yield RecordReplicas(broker, ReplicaState.ONLINE, sorted(context.by_broker[broker]), {})
    yield from batch.send()


def move_one(
    context: Context, tp: TopicPartition, brokers: Iterable[BrokerId], target: ReplicaState
) -> Script[None]:
    """Move replicas of one partition to a state."""
    yield from move_replicas(context, {b: (tp,) for b in brokers}, target)


def sort_out(
    context: Context, broker: BrokerId, partitions: Iterable[TopicPartition], target: ReplicaState
) -> tuple[list[TopicPartition], Refused]:
    """Those that may move, and those that may not with the reason."""
    # a tuple: members are compared by identity, where a set would hash them one by one
    allowed = tuple(REPLICA_MAY_COME_FROM[target])
    states, nothing = context.replica_states.setdefault(broker, {}), ReplicaState.NON_EXISTENT
    asked = list(partitions)
    valid = [tp for tp in asked if states.get(tp, nothing) in allowed]
    if len(valid) == len(asked):
        return valid, {}
    # a replica that was asked to move is known from now on, even if it does not exist
    refused = {tp: states.setdefault(tp, nothing) for tp in asked}
    why = {
        tp: f"{target.value} cannot follow {state.value}"
        for tp, state in refused.items()
        if state not in allowed
    }
    return valid, why


def move_on_broker(
    context: Context,
    broker: BrokerId,
    partitions: list[TopicPartition],
    target: ReplicaState,
    batch: RequestBatch,
    refused: Refused,
) -> Script[list[TopicPartition]]:
    """Carry a legal move out for one broker; the answer is what really moved."""
    match target:
        case ReplicaState.NEW:
            return start(context, broker, partitions, batch, refused)
        case ReplicaState.ONLINE:
            bring_online(context, broker, partitions, batch)
        case ReplicaState.OFFLINE:
            return (yield from take_offline(context, broker, partitions, batch, refused))
        case ReplicaState.DELETION_STARTED:
            mark(context, broker, partitions, target)
            for tp in partitions:
                batch.stop(broker, tp, delete=True)
        case ReplicaState.NON_EXISTENT:
            forget(context, broker, partitions)
        case ReplicaState.DELETION_SUCCESSFUL | ReplicaState.DELETION_INELIGIBLE:
            mark(context, broker, partitions, target)
    return partitions


def mark(
    context: Context, broker: BrokerId, partitions: Iterable[TopicPartition], target: ReplicaState
) -> None:
    """Note a state, for all these partitions."""
    context.replica_states.setdefault(broker, {}).update(dict.fromkeys(partitions, target))


def mark_new(context: Context, tp: TopicPartition, brokers: Iterable[BrokerId]) -> Script[None]:
    """Mark the replicas of one partition as new that do not exist yet, and send nothing: later
    requests of the same event name the partition to their brokers."""
    for broker in brokers:
        if context.replica_state(broker, tp) is ReplicaState.NON_EXISTENT:
            mark(context, broker, (tp,), ReplicaState.NEW)
            yield RecordReplicas(broker, ReplicaState.NEW, [tp], {})


def start(
    context: Context,
    broker: BrokerId,
    partitions: list[TopicPartition],
    batch: RequestBatch,
    refused: Refused,
) -> list[TopicPartition]:
    """To NewReplica. A leader cannot be new: it would be told to follow nobody."""
    moved: list[TopicPartition] = []
    for tp in partitions:
        leadership = context.leaderships.get(tp)
        if leadership is not None and leadership.leader == broker:
            refused[tp] = "it leads the partition"
            mark(context, broker, (tp,), ReplicaState.NON_EXISTENT)
            continue
        if leadership is not None:
            batch.lead((broker,), tp, is_new=True)
        moved.append(tp)
    mark(context, broker, moved, ReplicaState.NEW)
    return moved


def bring_online(
    context: Context, broker: BrokerId, partitions: list[TopicPartition], batch: RequestBatch
) -> None:
    """To OnlineReplica. A new replica was told already; it is made part of the assignment if
    that has lost it meanwhile."""
    states = context.replica_states[broker]
    fresh = {tp for tp in partitions if states[tp] is ReplicaState.NEW}
    for tp in sorted(fresh):
        if keep_assigned(context, broker, tp):
            batch.reassigned(tp)
    batch.lead_again(broker, [tp for tp in partitions if tp not in fresh] if fresh else partitions)
    mark(context, broker, partitions, ReplicaState.ONLINE)


def keep_assigned(context: Context, broker: BrokerId, tp: TopicPartition) -> bool:
    """Append a replica to its partition's assignment (in memory); False if it is there."""
    now = context.assignment(tp)
    if broker in now.replicas:
        return False
    context.assign(tp, ReplicaAssignment((*now.replicas, broker), now.adding, now.removing))
    return True


def forget(context: Context, broker: BrokerId, partitions: list[TopicPartition]) -> None:
    """To NonExistentReplica."""
    states = context.replica_states[broker]
    for tp in partitions:
        if broker in context.replicas(tp):
            context.assign(tp, context.assignment(tp).remove_replica(broker))
        del states[tp]


# ---- going offline ---------------------------------------------------------------------------


def take_offline(
    context: Context,
    broker: BrokerId,
    partitions: list[TopicPartition],
    batch: RequestBatch,
    refused: Refused,
) -> Script[list[TopicPartition]]:
    """To OfflineReplica: stop it, take it out of the ISR, tell the replicas that remain."""
    for tp in partitions:
        batch.stop(broker, tp, delete=False)
    led = [tp for tp in partitions if tp in context.leaderships]
    moved = yield from leave_isr(context, broker, led, refused)
    for tp in moved:
        if tp.topic not in context.topics_to_be_deleted:
            batch.lead([b for b in context.replicas(tp) if b != broker], tp, is_new=False)
    bare = [tp for tp in partitions if tp not in context.leaderships]
    if bare:
        # nobody can be told to lead: there is only the news that the replica is gone
        batch.metadata_to_all(bare)
        moved += bare
    mark(context, broker, moved, ReplicaState.OFFLINE)
    return moved


def leave_isr(
    context: Context, broker: BrokerId, partitions: list[TopicPartition], refused: Refused
) -> Script[list[TopicPartition]]:
    """Take a broker out of ISRs, until each is settled; the answer is where that is so.

    Where the broker is not in the ISR nothing is written and the record is only refreshed, under
    this controller's epoch.
    """
    settled: list[TopicPartition] = []
    remaining = partitions
    while remaining:
        stored: dict[TopicPartition, Leadership] = yield ReadLeaderships(remaining)
        wanted: dict[TopicPartition, Leadership] = {}
        for tp in remaining:
            now = stored.get(tp)
            if now is None:
                # while a topic is being deleted, its leaderships may be gone already
                if tp.topic not in context.topics_to_be_deleted:
                    refused[tp] = "no leadership is stored"
            elif now.controller_epoch > context.epoch:
                refused[tp] = f"written by a controller of epoch {now.controller_epoch}"
            elif broker in now.isr:
                wanted[tp] = after_leaving(context, tp, now, broker)
            else:
                context.lead(tp, under_epoch(now, context.epoch))
                settled.append(tp)
        if not wanted:
            break
        outcome: Stored = yield WriteLeaderships(wanted, context.epoch)
        refused.update(outcome.failed)
        for tp, leadership in outcome.stored.items():
            context.lead(tp, leadership)
            settled.append(tp)
        remaining = outcome.stale
    return settled


def after_leaving(
    context: Context, tp: TopicPartition, now: Leadership, broker: BrokerId
) -> Leadership:
    """The leadership once a member of the ISR has left.

    The last member that holds a replica stays listed. Brokers without a replica, which a controller
    that died during a cancel left in the ISR, do not count: none of them can be elected, so an ISR
    of these alone would leave the partition without a leader for good.
    """
    replicas = context.replicas(tp)
    is_last = broker in replicas and not any(b in replicas for b in now.isr if b != broker)
    if context.settings.safer and is_last and now.leader in (broker, NO_LEADER):
        return succeed(now, NO_LEADER, (broker,))
    return without_replica(now, broker)


def under_epoch(now: Leadership, controller_epoch: int) -> Leadership:
    """The same leadership as if this controller had written it."""
    return Leadership(
        now.leader, now.isr, now.leader_epoch, now.partition_epoch, controller_epoch, now.recovery
    )
