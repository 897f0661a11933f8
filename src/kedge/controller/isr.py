"""Handles ISR changes of leaders: requested from the controller, or written to the store.

From IBP 2.7 on a leader sends AlterPartition (KIP-497): the controller validates and writes. Before
that, the leader writes and adds a notification, and the controller only reads again. Either way the
change is sent to all brokers, and a move that waited for it is completed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kedge.controller.context import Context
from kedge.controller.effects import (
    DeleteNotifications,
    NotificationKind,
    Notifications,
    ReadLeaderships,
    ReadNotifications,
    Reply,
    Script,
    WriteLeaderships,
    WriteOutcome,
    then_always,
)
from kedge.controller.events import IsrChangeRequested, RequestedIsr
from kedge.controller.leader_epochs import remove_non_replica_isr_members
from kedge.controller.reassignment import maybe_complete
from kedge.controller.requests import send_metadata
from kedge.model import Leadership, Recovery, TopicPartition
from kedge.model.error_codes import ErrorCode

_FIRST_VERSION_WITH_IDS = 2
_FIRST_VERSION_WITH_INELIGIBLE = 2


@dataclass(slots=True)
class IsrAnswer:
    """The response to a leader: one error for all, or a leadership or an error for each partition.

    Partitions of unknown topic ids are named by that id.
    """

    error: ErrorCode = ErrorCode.NONE
    stored: dict[TopicPartition, Leadership] = field(
        default_factory=dict[TopicPartition, Leadership]
    )
    errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict[TopicPartition, ErrorCode])
    names: dict[str, str] = field(default_factory=dict[str, str])  # of topics, by their ids


def on_isr_change_requested(context: Context, event: IsrChangeRequested) -> Script[IsrAnswer]:
    """Validate and store ISR changes, send them to all, respond; then complete moves."""
    registration = context.registered.get(event.broker)
    if registration is None or registration.epoch != event.broker_epoch:
        return IsrAnswer(ErrorCode.STALE_BROKER_EPOCH)
    answer = IsrAnswer()
    wanted = changes_by_partition(context, event, answer)
    validated_changes = {
        tp: validated(context, event, tp, wanted[tp], answer) for tp in sorted(wanted)
    }
    accepted = {
        tp: leadership for tp, leadership in validated_changes.items() if leadership is not None
    }
    if accepted:
        outcome: WriteOutcome = yield WriteLeaderships(accepted, context.epoch)
        answer.errors |= dict.fromkeys(outcome.stale, ErrorCode.INVALID_UPDATE_VERSION)
        answer.errors |= dict.fromkeys(outcome.failed, ErrorCode.UNKNOWN_SERVER_ERROR)
        answer.stored |= outcome.stored
        for tp, leadership in outcome.stored.items():
            context.set_leadership(tp, leadership)
    yield from send_metadata(context, context.registered, sorted(wanted))
    yield Reply(answer)
    for tp in sorted(answer.stored):
        yield from remove_non_replica_isr_members(context, tp, answer.stored[tp].isr)
        yield from maybe_complete(context, tp)
    for tp, code in sorted(answer.errors.items()):
        if code is ErrorCode.INELIGIBLE_REPLICA and tp in wanted:
            yield from remove_non_replica_isr_members(context, tp, wanted[tp].isr)
    return answer


def changes_by_partition(
    context: Context, event: IsrChangeRequested, answer: IsrAnswer
) -> dict[TopicPartition, RequestedIsr]:
    """Return the requested changes by partition; newer versions name topics by id."""
    by_id = event.version >= _FIRST_VERSION_WITH_IDS
    wanted: dict[TopicPartition, RequestedIsr] = {}
    for key, changes in event.topics.items():
        topic = context.topic_names.get(key) if by_id else key
        if by_id and topic is not None:
            answer.names[key] = topic
        for number, change in changes.items():
            if topic is None:
                answer.errors[TopicPartition(key, number)] = ErrorCode.UNKNOWN_TOPIC_ID
            else:
                wanted[TopicPartition(topic, number)] = change
    return wanted


def validated(
    context: Context,
    event: IsrChangeRequested,
    tp: TopicPartition,
    change: RequestedIsr,
    answer: IsrAnswer,
) -> Leadership | None:
    """Return the leadership to store; None if there is none, with the reason in the answer."""
    now = context.leaderships.get(tp)
    if now is None:
        answer.errors[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return None
    wanted = Leadership(
        event.broker,
        change.isr,
        change.leader_epoch,
        change.partition_epoch,
        now.controller_epoch,
        change.recovery,
    )
    if is_already(now, wanted):
        answer.stored[tp] = now
        return None
    error = isr_change_error(context, now, wanted, event.version)
    if error is ErrorCode.NONE and adds_non_replicas(context, tp, now, wanted):
        error = ErrorCode.INELIGIBLE_REPLICA
    if error is not ErrorCode.NONE:
        answer.errors[tp] = error
        return None
    return wanted


def adds_non_replicas(
    context: Context, tp: TopicPartition, now: Leadership, wanted: Leadership
) -> bool:
    """Return whether an ISR contains brokers without a replica of the partition; Kafka stores it.

    If no replica is in sync, brokers without a replica that are in sync may add replicas.
    """
    members = set(context.replicas(tp))
    known = members if members.intersection(now.isr) else members.union(now.isr)
    return context.settings.safer and not known.issuperset(wanted.isr)


def is_already(now: Leadership, wanted: Leadership) -> bool:
    """Return whether a request matches the stored state; its partition epoch may be older."""
    return wanted.partition_epoch <= now.partition_epoch and (
        wanted.leader,
        wanted.leader_epoch,
        wanted.isr,
        wanted.recovery,
    ) == (now.leader, now.leader_epoch, now.isr, now.recovery)


def isr_change_error(
    context: Context, now: Leadership, wanted: Leadership, version: int
) -> ErrorCode:
    """Return the error of a requested change; NONE if it is valid."""
    newer = wanted.partition_epoch > now.partition_epoch or wanted.leader_epoch > now.leader_epoch
    if newer:
        # the leader has a newer state: another process is the controller
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < now.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if wanted.partition_epoch < now.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    recovering = wanted.recovery is Recovery.RECOVERING
    if recovering and (len(wanted.isr) > 1 or now.recovery is Recovery.RECOVERED):
        return ErrorCode.INVALID_REQUEST
    if not context.live.issuperset(wanted.isr):
        by_name = version >= _FIRST_VERSION_WITH_INELIGIBLE
        return ErrorCode.INELIGIBLE_REPLICA if by_name else ErrorCode.OPERATION_NOT_ATTEMPTED
    return ErrorCode.NONE


# ---- notifications of changes that leaders wrote -----------------------------------------------


def on_isr_changes_notified(context: Context) -> Script[None]:
    """Read the named partitions again; delete the notifications even on an error."""
    notifications: Notifications = yield ReadNotifications(NotificationKind.ISR_CHANGES)
    main = reload_partitions(context, sorted(notifications.partitions))
    yield from then_always(main, delete_notifications(NotificationKind.ISR_CHANGES, notifications))


def delete_notifications(kind: NotificationKind, notifications: Notifications) -> Script[None]:
    """Delete the notifications that were read."""
    if notifications.names:
        yield DeleteNotifications(kind, notifications.names)


def reload_partitions(context: Context, partitions: list[TopicPartition]) -> Script[None]:
    """Reload leaderships, send them to all brokers, complete moves."""
    if not partitions:
        return
    yield from reload_leaderships(context, partitions)
    yield from send_metadata(context, context.registered, partitions)
    for tp in partitions:
        if tp in context.leaderships:
            yield from remove_non_replica_isr_members(context, tp, context.leaderships[tp].isr)
        yield from maybe_complete(context, tp)


def reload_leaderships(context: Context, partitions: Iterable[TopicPartition]) -> Script[None]:
    """Load stored leaderships into the context."""
    known = [tp for tp in partitions if tp in context.assignments]
    stored: dict[TopicPartition, Leadership] = yield ReadLeaderships(known)
    for tp, leadership in stored.items():
        context.set_leadership(tp, leadership)
