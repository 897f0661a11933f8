"""Handles failed log directories.

A broker writes a notification that names only itself. So LeaderAndIsr is sent again for all its
replicas, and those on a failed directory return KAFKA_STORAGE_ERROR. Only a restart of the broker
clears that.
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
    """Send all replicas of the named brokers again; delete the notifications in any case."""
    notifications: Notifications = yield ReadNotifications(NotificationKind.LOG_DIR_FAILURES)
    resend = move_replicas(
        context, context.partitions_on(notifications.brokers), ReplicaState.ONLINE
    )
    yield from then_always(
        resend, delete_notifications(NotificationKind.LOG_DIR_FAILURES, notifications)
    )


def on_leader_and_isr_answered(context: Context, event: LeaderAndIsrAnswered) -> Script[None]:
    """Record which replicas are on failed directories; process new ones as lost."""
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
