"""The replica state machine: tracks the requests that each broker was sent for its replicas.

One call moves many replicas to one state and sends one batch of requests; brokers are processed in
Kafka's sequence (`scala_map_order`), so that replicas leave an ISR together as they do there.

    to NewReplica                LeaderAndIsr (new) to it, if the partition has a leadership
    to OnlineReplica             LeaderAndIsr to it; from New nothing: it was sent before
    to OfflineReplica            StopReplica to it; out of the ISR; LeaderAndIsr to the others
    to ReplicaDeletionStarted    StopReplica with deletion
    to NonExistentReplica        removed from the tables and from the assignment in memory
    to the others                marked
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kedge.controller.context import Context
from kedge.controller.effects import (
    ReadLeaderships,
    RecordReplicas,
    Script,
    WriteLeaderships,
    WriteOutcome,
)
from kedge.controller.leader_election import succeed, without_replica
from kedge.controller.requests import RequestBatch
from kedge.controller.states import REPLICA_MAY_COME_FROM, ReplicaState
from kedge.model import NO_LEADER, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.scala_map_order import immutable_map_order

Replicas = Mapping[BrokerId, Iterable[TopicPartition]]  # partitions by the broker of the replica
Refused = dict[TopicPartition, str]


def move_replicas(context: Context, replicas: Replicas, target: ReplicaState) -> Script[None]:
    """Move replicas to a state; illegal transitions are logged and skipped."""
    batch = RequestBatch(context)
    for broker in immutable_map_order(replicas):
        partitions = replicas[broker]
        valid, refused = split_by_validity(context, broker, partitions, target)
        if valid:
            valid = yield from move_on_broker(context, broker, valid, target, batch, refused)
        if valid or refused:
            yield RecordReplicas(broker, target, valid, refused)
    yield from batch.send()


def send_online(context: Context, brokers: list[BrokerId]) -> Script[None]:
    """Send brokers all their replicas, which are online already.

    It has the effect of moving each to its current state, in one pass.
    """
    batch = RequestBatch(context)
    batch.add_all_leader_and_isr(sorted(context.assignments), brokers)
    for broker in immutable_map_order(brokers):
        yield RecordReplicas(broker, ReplicaState.ONLINE, sorted(context.by_broker[broker]), {})
    yield from batch.send()


def move_one(
    context: Context, tp: TopicPartition, brokers: Iterable[BrokerId], target: ReplicaState
) -> Script[None]:
    """Move replicas of one partition to a state."""
    yield from move_replicas(context, {b: (tp,) for b in brokers}, target)


def split_by_validity(
    context: Context, broker: BrokerId, partitions: Iterable[TopicPartition], target: ReplicaState
) -> tuple[list[TopicPartition], Refused]:
    """Return the replicas that may move, and the others with the reason."""
    # a tuple compares members by identity, where a set would hash each
    allowed = tuple(REPLICA_MAY_COME_FROM[target])
    states, nothing = context.replica_states.setdefault(broker, {}), ReplicaState.NON_EXISTENT
    requested = list(partitions)
    valid = [tp for tp in requested if states.get(tp, nothing) in allowed]
    if len(valid) == len(requested):
        return valid, {}
    # a replica in a rejected request is in the table from now on, even if it does not exist
    refused = {tp: states.setdefault(tp, nothing) for tp in requested}
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
    """Make a legal transition for one broker; return the replicas that moved."""
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
                batch.add_stop_replica(broker, tp, delete=True)
        case ReplicaState.NON_EXISTENT:
            remove(context, broker, partitions)
        case ReplicaState.DELETION_SUCCESSFUL | ReplicaState.DELETION_INELIGIBLE:
            mark(context, broker, partitions, target)
    return partitions


def mark(
    context: Context, broker: BrokerId, partitions: Iterable[TopicPartition], target: ReplicaState
) -> None:
    """Set the state of replicas of these partitions."""
    context.replica_states.setdefault(broker, {}).update(dict.fromkeys(partitions, target))


def mark_new(context: Context, tp: TopicPartition, brokers: Iterable[BrokerId]) -> Script[None]:
    """Mark those of a partition's replicas as new that do not exist yet; send nothing.

    Later requests of the same event contain the partition.
    """
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
    """To NewReplica. A leader cannot be new, because it would have no leader to follow."""
    moved: list[TopicPartition] = []
    for tp in partitions:
        leadership = context.leaderships.get(tp)
        if leadership is not None and leadership.leader == broker:
            refused[tp] = "it leads the partition"
            mark(context, broker, (tp,), ReplicaState.NON_EXISTENT)
            continue
        if leadership is not None:
            batch.add_leader_and_isr((broker,), tp, is_new=True)
        moved.append(tp)
    mark(context, broker, moved, ReplicaState.NEW)
    return moved


def bring_online(
    context: Context, broker: BrokerId, partitions: list[TopicPartition], batch: RequestBatch
) -> None:
    """To OnlineReplica.

    A new replica was sent before; it is added to the assignment if it is no longer there.
    """
    states = context.replica_states[broker]
    new = {tp for tp in partitions if states[tp] is ReplicaState.NEW}
    for tp in sorted(new):
        if ensure_assigned(context, broker, tp):
            batch.invalidate(tp)
    batch.add_leader_and_isr_to(
        broker, [tp for tp in partitions if tp not in new] if new else partitions
    )
    mark(context, broker, partitions, ReplicaState.ONLINE)


def ensure_assigned(context: Context, broker: BrokerId, tp: TopicPartition) -> bool:
    """Append a replica to its partition's assignment (in memory); False if it is there."""
    now = context.assignment(tp)
    if broker in now.replicas:
        return False
    context.set_assignment(tp, ReplicaAssignment((*now.replicas, broker), now.adding, now.removing))
    return True


def remove(context: Context, broker: BrokerId, partitions: list[TopicPartition]) -> None:
    """To NonExistentReplica."""
    states = context.replica_states[broker]
    for tp in partitions:
        if broker in context.replicas(tp):
            context.set_assignment(tp, context.assignment(tp).remove_replica(broker))
        del states[tp]


# ---- going offline ---------------------------------------------------------------------------


def take_offline(
    context: Context,
    broker: BrokerId,
    partitions: list[TopicPartition],
    batch: RequestBatch,
    refused: Refused,
) -> Script[list[TopicPartition]]:
    """To OfflineReplica: stop it, remove it from the ISR, notify the remaining replicas."""
    for tp in partitions:
        batch.add_stop_replica(broker, tp, delete=False)
    led = [tp for tp in partitions if tp in context.leaderships]
    moved = yield from leave_isr(context, broker, led, refused)
    for tp in moved:
        if tp.topic not in context.topics_to_be_deleted:
            batch.add_leader_and_isr(
                [b for b in context.replicas(tp) if b != broker], tp, is_new=False
            )
    without_leadership = [tp for tp in partitions if tp not in context.leaderships]
    if without_leadership:
        # without a leadership there is no LeaderAndIsr: only metadata shows the offline replica
        batch.add_metadata_to_all(without_leadership)
        moved += without_leadership
    mark(context, broker, moved, ReplicaState.OFFLINE)
    return moved


def leave_isr(
    context: Context, broker: BrokerId, partitions: list[TopicPartition], refused: Refused
) -> Script[list[TopicPartition]]:
    """Remove a broker from ISRs, with retries; return the partitions where it succeeded.

    Where the broker is not in the ISR nothing is written and the record is only refreshed, with
    this controller's epoch.
    """
    done: list[TopicPartition] = []
    remaining = partitions
    while remaining:
        stored: dict[TopicPartition, Leadership] = yield ReadLeaderships(remaining)
        wanted: dict[TopicPartition, Leadership] = {}
        for tp in remaining:
            now = stored.get(tp)
            if now is None:
                # while a topic is being deleted, its leaderships may be deleted already
                if tp.topic not in context.topics_to_be_deleted:
                    refused[tp] = "no leadership is stored"
            elif now.controller_epoch > context.epoch:
                refused[tp] = f"written by a controller of epoch {now.controller_epoch}"
            elif broker in now.isr:
                wanted[tp] = after_leaving(context, tp, now, broker)
            else:
                context.set_leadership(tp, under_epoch(now, context.epoch))
                done.append(tp)
        if not wanted:
            break
        outcome: WriteOutcome = yield WriteLeaderships(wanted, context.epoch)
        refused.update(outcome.failed)
        for tp, leadership in outcome.stored.items():
            context.set_leadership(tp, leadership)
            done.append(tp)
        remaining = outcome.stale
    return done


def after_leaving(
    context: Context, tp: TopicPartition, now: Leadership, broker: BrokerId
) -> Leadership:
    """Return the leadership after a member of the ISR has left.

    The last member that holds a replica stays. Brokers without a replica, which a controller that
    died during a cancellation left in the ISR, do not count: none of them can be elected, so an ISR
    of these alone would leave the partition without a leader for good.
    """
    replicas = context.replicas(tp)
    is_last = broker in replicas and not any(b in replicas for b in now.isr if b != broker)
    if context.settings.safer and is_last and now.leader in (broker, NO_LEADER):
        return succeed(now, NO_LEADER, (broker,))
    return without_replica(now, broker)


def under_epoch(now: Leadership, controller_epoch: int) -> Leadership:
    """Return the same leadership with this controller's epoch."""
    return Leadership(
        now.leader, now.isr, now.leader_epoch, now.partition_epoch, controller_epoch, now.recovery
    )
