"""Takes over the cluster after a won election: sets watches, loads the state, restores consistency.

The sequence matters. Watches are set before reads, so that no change is missed. Brokers get the
list of live brokers before LeaderAndIsr. Replicas are processed before partitions are elected, so a
partition whose leader failed with the old controller is written twice: once without the failed
replica, once with its new leader.
"""

from __future__ import annotations

from kedge.controller import deletion
from kedge.controller.configs import load_configs
from kedge.controller.context import Context, Registration
from kedge.controller.effects import (
    DeleteNotifications,
    InitialiseFeatures,
    NotificationKind,
    Notifications,
    OpenLinks,
    ReadBrokers,
    ReadLeaderships,
    ReadNotifications,
    ReadTopicRecords,
    ReadTopics,
    ScheduleRebalance,
    Script,
    TopicRecord,
)
from kedge.controller.leader_epochs import remove_non_replica_isr_members
from kedge.controller.partitions import try_online
from kedge.controller.preferred_election import elect_pending
from kedge.controller.reassignment import on_reassignment_planned, resume_moves
from kedge.controller.replicas import move_replicas, send_online
from kedge.controller.requests import send_metadata
from kedge.controller.states import PartitionState, ReplicaState
from kedge.controller.topics import load_assignments, load_topic_ids
from kedge.model import BrokerId, Leadership, TopicPartition

_FIRST_REBALANCE_SECONDS = 5


def take_over(context: Context) -> Script[None]:
    """Everything that a new controller does after it has won the election."""
    settings = context.settings
    yield InitialiseFeatures(settings.versions_features, settings.feature_record_version)
    yield from delete_old_notifications()
    yield from load_configs(context)
    yield from load_context(context)
    yield from deletion.begin(context)
    yield from send_metadata(context, context.registered, ())
    yield from start_replicas(context)
    yield from start_partitions(context)
    started = yield from on_reassignment_planned(context)
    yield from resume_moves(context, lambda tp, _: tp not in started)
    yield from remove_all_non_replica_isr_members(context)
    yield from deletion.resume_deletions(context)
    yield from elect_pending(context)
    if settings.auto_rebalance:
        yield ScheduleRebalance(_FIRST_REBALANCE_SECONDS)


def remove_all_non_replica_isr_members(context: Context) -> Script[None]:
    """Correct partitions whose ISR contains brokers without a replica."""
    assignments = context.assignments
    affected = [
        tp
        for tp, now in context.leaderships.items()
        if now.isr != (known := assignments[tp].replicas) and not set(now.isr) <= set(known)
    ]
    for tp in sorted(affected):
        yield from remove_non_replica_isr_members(context, tp, context.leaderships[tp].isr)


def delete_old_notifications() -> Script[None]:
    """Delete notifications for the previous controller: the state is read afterwards anyway."""
    for kind in (NotificationKind.LOG_DIR_FAILURES, NotificationKind.ISR_CHANGES):
        notifications: Notifications = yield ReadNotifications(kind)
        if notifications.names:
            yield DeleteNotifications(kind, notifications.names)


def load_context(context: Context) -> Script[None]:
    """Load brokers, topics, assignments, moves in progress and leaderships from the store."""
    registrations: dict[BrokerId, Registration] = yield ReadBrokers()
    context.add_brokers(registrations.values())
    context.topics = set((yield ReadTopics()))
    topics = sorted(context.topics)
    records: dict[str, TopicRecord] = (yield ReadTopicRecords(topics)) if topics else {}
    yield from load_topic_ids(context, records)
    partitions = load_assignments(context, records)
    moving = [tp for tp in partitions if context.assignments[tp].in_progress]
    context.being_reassigned.update(moving)
    if partitions:
        stored: dict[TopicPartition, Leadership] = yield ReadLeaderships(partitions)
        for tp, leadership in stored.items():
            context.set_leadership(tp, leadership)
    yield OpenLinks([context.registered[b] for b in sorted(context.registered)])


def start_replicas(context: Context) -> Script[None]:
    """Mark replicas on live brokers online and send them; remove the others from ISRs."""
    for broker, held in context.by_broker.items():
        alive = broker in context.live
        state = ReplicaState.ONLINE if alive else ReplicaState.DELETION_INELIGIBLE
        context.replica_states[broker] = dict.fromkeys(held, state)
    yield from send_online(context, [b for b in context.by_broker if b in context.live])
    dead = context.partitions_on(b for b in context.by_broker if b not in context.live)
    yield from move_replicas(context, dead, ReplicaState.OFFLINE)


def start_partitions(context: Context) -> Script[None]:
    """Mark partitions new, online or offline by their leaders, and retry elections."""
    leaderships, live = context.leaderships, context.live
    states = dict.fromkeys(context.assignments, PartitionState.NEW)
    for tp, now in leaderships.items():
        states[tp] = PartitionState.ONLINE if now.leader in live else PartitionState.OFFLINE
    context.begin_partition_states(states)
    yield from try_online(context)
