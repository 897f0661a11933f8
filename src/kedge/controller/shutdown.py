"""Handles controlled shutdown: moves leadership off a broker before it stops (KIP-380)."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.controller.context import Context
from kedge.controller.effects import Script
from kedge.controller.events import ShutdownRequested
from kedge.controller.leader_election import Strategy
from kedge.controller.partitions import ElectionRule, bring_online
from kedge.controller.replicas import move_replicas
from kedge.controller.requests import RequestBatch
from kedge.controller.states import ReplicaState
from kedge.model import BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode

_EPOCH_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class ShutdownAnswer:
    """The partitions that the broker still leads; it repeats the request until there are none."""

    error: ErrorCode = ErrorCode.NONE
    remaining: tuple[TopicPartition, ...] = ()


def on_shutdown_requested(context: Context, event: ShutdownRequested) -> Script[ShutdownAnswer]:
    """Move the broker's leaderships, and stop its followers.

    Partitions with a single replica have no other leader: they are neither moved nor reported.
    """
    error = shutdown_error(context, event)
    if error is not ErrorCode.NONE:
        return ShutdownAnswer(error)
    broker = event.broker
    context.begin_shutdown(broker)
    led, followed = led_and_followed(context, broker)
    yield from bring_online(context, led, ElectionRule(Strategy.CONTROLLED_SHUTDOWN))
    batch = RequestBatch(context)
    for tp in followed:
        batch.add_stop_replica(broker, tp, delete=False)
    yield from batch.send()
    yield from move_replicas(context, {broker: followed}, ReplicaState.OFFLINE)
    return ShutdownAnswer(remaining=tuple(still_led(context, broker)))


def shutdown_error(context: Context, event: ShutdownRequested) -> ErrorCode:
    """Return the error for an unknown broker or a stale registration."""
    known = context.registered.get(event.broker)
    if event.broker_epoch == _EPOCH_UNKNOWN:
        return ErrorCode.BROKER_NOT_AVAILABLE if known is None else ErrorCode.NONE
    if known is None:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    stale = event.broker_epoch < known.epoch
    return ErrorCode.STALE_BROKER_EPOCH if stale else ErrorCode.NONE


def led_and_followed(
    context: Context, broker: BrokerId
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """Return the replicated partitions that a broker leads, and those that it follows."""
    led: list[TopicPartition] = []
    followed: list[TopicPartition] = []
    for tp in sorted(context.by_broker.get(broker, ())):
        now = context.leaderships.get(tp)
        if now is not None and is_replicated(context, tp):
            (led if now.leader == broker else followed).append(tp)
    return led, followed


def still_led(context: Context, broker: BrokerId) -> list[TopicPartition]:
    """Return the partitions that a broker leads and others could lead too."""
    return [tp for tp in sorted(context.by_leader.get(broker, ())) if is_replicated(context, tp)]


def is_replicated(context: Context, tp: TopicPartition) -> bool:
    """Return whether a partition has several replicas, and its topic is not to be deleted."""
    return len(context.replicas(tp)) > 1 and tp.topic not in context.topics_to_be_deleted
