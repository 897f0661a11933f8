"""Failed log directories: the broker leaves a note, and its answers tell which replicas are bad.

The note names only the broker. So all its replicas are told LeaderAndIsr again, and those on a
failed directory are answered with KAFKA_STORAGE_ERROR. Only a restart of the broker clears that.
"""

from __future__ import annotations

from kedge.controller.brokers import on_replicas_lost
from kedge.controller.context import Context
from kedge.controller.effects import (
    NotificationKind,
    Notifications,
    ReadNotifications,
    RecordMessage,
    Script,
    then_always,
)
from kedge.controller.events import LeaderAndIsrAnswered
from kedge.controller.isr import delete_notifications
from kedge.controller.replicas import move_replicas
from kedge.controller.states import ReplicaState
from kedge.model.error_codes import ErrorCode


def on_log_dir_failures_notified(context: Context) -> Script[None]:
    """Ask the brokers named about all their replicas; the notifications go, even if resend failed."""
    notifications: Notifications = yield ReadNotifications(NotificationKind.LOG_DIR_FAILURES)
    resend = move_replicas(
        context, context.partitions_on(notifications.brokers), ReplicaState.ONLINE
    )
    yield from then_always(
        resend, delete_notifications(NotificationKind.LOG_DIR_FAILURES, notifications)
    )


def on_leader_and_isr_answered(context: Context, event: LeaderAndIsrAnswered) -> Script[None]:
    """Learn which replicas are on failed directories; newly found ones are lost."""
    if event.error is not ErrorCode.NONE:
        yield RecordMessage(f"broker {event.broker} refused LeaderAndIsr: {event.error.name}")
        return
    before = context.offline_dirs.get(event.broker, set())
    good = {tp for tp, code in event.errors.items() if code is ErrorCode.NONE}
    bad = {tp for tp, code in event.errors.items() if code is ErrorCode.KAFKA_STORAGE_ERROR}
    now = (before - good) | bad
    if now:
        context.offline_dirs[event.broker] = now
    else:
        context.offline_dirs.pop(event.broker, None)
    found = sorted(now - before)
    if found:
        yield from on_replicas_lost(context, {event.broker: found})
