"""Deletes topics: stops every replica, deletes every replica, then removes the topic.

A topic is *queued* from the request until it is gone, *started* once its partitions are offline,
and *ineligible* while something blocks it (a replica that is offline or could not be deleted, a
move in progress). There is no timer: deletion resumes after every response of a broker, when a
broker with one of its replicas starts, and when a move of the topic completes.

    queued ─ eligible ─→ started ─→ each replica: Offline → DeletionStarted → DeletionSuccessful
                             │                                   └→ Ineligible ─→ Offline (retry)
                             └─ all successful ─→ the topic is removed from the store

Only the last two events end *ineligible*; a response that completes the last started replica does
not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kedge.controller.context import Context
from kedge.controller.effects import (
    DeleteTopic,
    ReadDeletionRequests,
    RecordMessage,
    RemoveDeletionRequests,
    Script,
)
from kedge.controller.events import ReplicasDeleted
from kedge.controller.partitions import mark_partitions
from kedge.controller.reassignment_plan import remove_plan_entries
from kedge.controller.replicas import move_replicas
from kedge.controller.requests import send_metadata
from kedge.controller.states import PartitionState, ReplicaState
from kedge.model import BrokerId, TopicPartition

ReplicasByBroker = dict[BrokerId, list[TopicPartition]]


# ---- events ----------------------------------------------------------------------------------


def on_deletions_requested(context: Context) -> Script[None]:
    """Queue the topics to delete; remove unknown ones from the list."""
    wanted: set[str] = yield ReadDeletionRequests()
    unknown = sorted(wanted - context.topics)
    if unknown:
        yield RecordMessage(f"no topic to delete: {', '.join(unknown)}")
        yield RemoveDeletionRequests(unknown)
    known = wanted & context.topics
    if not known:
        return
    if not context.settings.delete_topics:
        yield RecordMessage("topic deletion is disabled: the requests are removed")
        yield RemoveDeletionRequests(sorted(known))
        return
    moving = {tp.topic for tp in context.being_reassigned}
    # marks only topics that were queued before: a move does not block a new deletion
    mark_ineligible(context, known & moving)
    queue(context, known)
    yield from resume_deletions(context)


def on_replicas_deleted(context: Context, event: ReplicasDeleted) -> Script[None]:
    """Process a broker's response, for topics whose deletion has started."""
    started = context.topics_with_deletion_started
    answers = {tp: code for tp, code in event.errors.items() if tp.topic in started}
    if not answers:
        return
    failed = sorted(tp for tp, code in answers.items() if event.error or code)
    yield from fail_deletion(context, {event.broker: failed})
    if len(failed) != len(answers):
        deleted = sorted(answers.keys() - set(failed))
        yield from complete_deletion(context, event.broker, deleted)


def begin(context: Context) -> Script[None]:
    """At failover: queue the listed topics, and block those that cannot be deleted now."""
    wanted: set[str] = yield ReadDeletionRequests()
    if not context.settings.delete_topics:
        if wanted:
            yield RemoveDeletionRequests(sorted(wanted))
        return
    queue(context, wanted)
    moving = {tp.topic for tp in context.being_reassigned}
    mark_ineligible(context, {t for t in wanted if t in moving or has_offline(context, t)})


def queue(context: Context, topics: set[str]) -> None:
    """Queue topics for deletion. Their moves end here.

    Kafka continues the moves: a broker that comes back then creates replicas again that were
    already deleted, and a move that can no longer complete blocks the deletion for ever.
    """
    context.queue_deletion(topics)
    if context.settings.safer:
        context.being_reassigned -= {tp for tp in context.being_reassigned if tp.topic in topics}


def has_offline(context: Context, topic: str) -> bool:
    """Return whether any replica of a topic is offline."""
    return any(
        not context.online(broker, tp)
        for tp in context.by_topic.get(topic, ())
        for broker in context.replicas(tp)
    )


# ---- blocking and resuming -------------------------------------------------------------------


def mark_ineligible(context: Context, topics: Iterable[str]) -> None:
    """Block the deletion of those of the topics that are queued."""
    context.topics_ineligible_for_deletion |= context.topics_to_be_deleted & set(topics)


def resume_for(context: Context, topics: Iterable[str]) -> Script[None]:
    """Unblock these topics and resume deletions."""
    resumed = context.topics_to_be_deleted & set(topics)
    if resumed:
        context.topics_ineligible_for_deletion -= resumed
        yield from resume_deletions(context)


def fail_deletion(
    context: Context, replicas: Mapping[BrokerId, Iterable[TopicPartition]]
) -> Script[None]:
    """Mark replicas of queued topics that could not be deleted."""
    queued = context.topics_to_be_deleted
    failed = {b: [tp for tp in tps if tp.topic in queued] for b, tps in replicas.items()}
    topics = {tp.topic for tps in failed.values() for tp in tps}
    if topics:
        yield from move_replicas(context, failed, ReplicaState.DELETION_INELIGIBLE)
        mark_ineligible(context, topics)
        yield from resume_deletions(context)


def complete_deletion(
    context: Context, broker: BrokerId, partitions: Iterable[TopicPartition]
) -> Script[None]:
    """Mark replicas that a broker has deleted."""
    deleted = [tp for tp in partitions if tp.topic in context.topics_to_be_deleted]
    yield from move_replicas(context, {broker: deleted}, ReplicaState.DELETION_SUCCESSFUL)
    yield from resume_deletions(context)


# ---- all deletions ----------------------------------------------------------------------------


def resume_deletions(context: Context) -> Script[None]:
    """Finish complete deletions, retry failed ones, start eligible ones."""
    retried: list[str] = []
    eligible: list[str] = []
    for topic in sorted(context.topics_to_be_deleted):
        states = states_of(context, topic)
        if states <= {ReplicaState.DELETION_SUCCESSFUL}:
            yield from finish(context, topic)
            continue
        if ReplicaState.DELETION_STARTED in states:
            continue
        if ReplicaState.DELETION_INELIGIBLE in states:
            retried.append(topic)
        if topic not in context.topics_ineligible_for_deletion:
            eligible.append(topic)
    if retried:
        failed = replicas_in(context, retried, ReplicaState.DELETION_INELIGIBLE)
        yield from move_replicas(context, failed, ReplicaState.OFFLINE)
    if eligible:
        yield from start(context, eligible)


def states_of(context: Context, topic: str) -> set[ReplicaState]:
    """Return the states of a topic's replicas."""
    return {
        context.replica_state(broker, tp)
        for tp in context.by_topic.get(topic, ())
        for broker in context.replicas(tp)
    }


def replicas_in(
    context: Context, topics: Iterable[str], state: ReplicaState | None = None
) -> ReplicasByBroker:
    """Return the replicas of topics (in one state), by broker and sorted."""
    found: ReplicasByBroker = {}
    for topic in topics:
        for tp in context.partitions_of(topic):
            for broker in context.replicas(tp):
                if state is None or context.replica_state(broker, tp) is state:
                    found.setdefault(broker, []).append(tp)
    return found


def start(context: Context, topics: list[str]) -> Script[None]:
    """Take partitions offline, send their removal to all brokers, then delete the replicas."""
    unseen = [t for t in topics if t not in context.topics_with_deletion_started]
    if unseen:
        partitions = [tp for topic in unseen for tp in context.partitions_of(topic)]
        yield from mark_partitions(context, partitions, PartitionState.OFFLINE)
        yield from mark_partitions(context, partitions, PartitionState.NON_EXISTENT)
        # only now: offline partitions of started topics are not counted
        context.topics_with_deletion_started.update(unseen)
    everything = [tp for topic in topics for tp in context.partitions_of(topic)]
    yield from send_metadata(context, context.registered, everything)
    yield from delete_replicas(context, topics)


def delete_replicas(context: Context, topics: list[str]) -> Script[None]:
    """Send StopReplica with deletion for every online replica that is not deleted yet."""
    dead: ReplicasByBroker = {}
    alive: ReplicasByBroker = {}
    for broker, partitions in replicas_in(context, topics).items():
        for tp in partitions:
            if not context.online(broker, tp):
                dead.setdefault(broker, []).append(tp)
            elif context.replica_state(broker, tp) is not ReplicaState.DELETION_SUCCESSFUL:
                alive.setdefault(broker, []).append(tp)
    yield from move_replicas(context, dead, ReplicaState.DELETION_INELIGIBLE)
    yield from move_replicas(context, alive, ReplicaState.OFFLINE)
    yield from move_replicas(context, alive, ReplicaState.DELETION_STARTED)
    mark_ineligible(context, {tp.topic for tps in dead.values() for tp in tps})


def finish(context: Context, topic: str) -> Script[None]:
    """Remove a topic after all of its replicas are deleted."""
    deleted = replicas_in(context, [topic], ReplicaState.DELETION_SUCCESSFUL)
    yield from move_replicas(context, deleted, ReplicaState.NON_EXISTENT)
    yield DeleteTopic(topic)
    context.remove_topic(topic)
    if context.settings.safer:
        # no other event removes the entries of a deleted topic from the plan
        yield from remove_plan_entries(lambda tp, _: tp.topic == topic)
    yield RecordMessage(f"topic {topic} is deleted")
