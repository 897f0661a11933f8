"""Handles brokers that register, leave, restart, or lose replicas."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.controller.context import Context, Registration
from kedge.controller.deletion import fail_deletion, resume_for
from kedge.controller.effects import (
    CloseLinks,
    OpenLinks,
    ReadBroker,
    ReadBrokers,
    RecordMessage,
    Script,
)
from kedge.controller.partitions import mark_partitions, try_online
from kedge.controller.reassignment import resume_moves
from kedge.controller.replicas import move_replicas
from kedge.controller.requests import send_metadata
from kedge.controller.states import PartitionState, ReplicaState
from kedge.model import BrokerId, TopicPartition

Registrations = dict[BrokerId, Registration]


def on_brokers_changed(context: Context) -> Script[None]:
    """Process new, then restarted, then failed brokers.

    A restarted broker left and registered again between two reads; its epoch is larger. It is
    processed as failed first, so that leadership moves before the broker, which has lost its state,
    gets LeaderAndIsr again.
    """
    now: Registrations = yield ReadBrokers()
    known = context.registered
    new = sorted(now.keys() - known.keys())
    dead = sorted(known.keys() - now.keys())
    bounced = [b for b in sorted(known.keys() & now.keys()) if now[b].epoch > known[b].epoch]
    if dead or bounced:
        yield CloseLinks([*dead, *bounced])
    if new or bounced:
        yield OpenLinks([now[b] for b in (*new, *bounced)])
    if new:
        context.add_brokers(now[b] for b in new)
        yield from on_brokers_started(context, new)
    if bounced:
        context.remove_brokers(bounced)
        yield from on_brokers_failed(context, bounced)
        context.add_brokers(now[b] for b in bounced)
        yield from on_brokers_started(context, bounced)
    if dead:
        context.remove_brokers(dead)
        yield from on_brokers_failed(context, dead)


def on_broker_modified(context: Context, broker: BrokerId) -> Script[None]:
    """Send changed endpoints or features of a broker to all brokers.

    A changed rack alone is ignored until the broker registers again.
    """
    now: Registration | None = yield ReadBroker(broker)
    known = context.registered.get(broker)
    if now is None or known is None:
        return
    if (now.broker.endpoints, now.features) != (known.broker.endpoints, known.features):
        context.add_brokers([Registration(now.broker, known.epoch, now.features)])
        yield from send_metadata(context, context.registered, ())


def on_brokers_started(context: Context, started: list[BrokerId]) -> Script[None]:
    """Send metadata to all, everything to the new brokers, then retry what waited for them."""
    yield RecordMessage(f"brokers started: {started}")
    for broker in started:
        context.offline_dirs.pop(broker, None)
    others = [b for b in context.registered if b not in started]
    yield from send_metadata(context, others, ())
    queued = context.topics_to_be_deleted
    led = [tp for tp in context.leaderships if tp.topic not in queued]
    yield from send_metadata(context, started, led)
    hosted = context.partitions_on(started)
    # one request with all replicas of a broker: a partial first one would lose high watermarks
    yield from move_replicas(context, hosted, ReplicaState.ONLINE)
    yield from try_online(context)
    targets = set(started)
    yield from resume_moves(context, lambda _, move: not targets.isdisjoint(move.target))
    waiting = {tp.topic for tps in hosted.values() for tp in tps if tp.topic in queued}
    if waiting:
        yield from resume_for(context, waiting)


def on_brokers_failed(context: Context, dead: list[BrokerId]) -> Script[None]:
    """Process the loss of brokers and all their replicas."""
    yield RecordMessage(f"brokers gone: {dead}")
    for broker in dead:
        context.offline_dirs.pop(broker, None)
    context.end_shutdown(dead)
    yield from on_replicas_lost(context, context.partitions_on(dead))


def on_replicas_lost(
    context: Context, lost: Mapping[BrokerId, list[TopicPartition]]
) -> Script[None]:
    """Process replicas that cannot serve: leadership first, then the replicas themselves."""
    queued = context.topics_to_be_deleted
    staying = {b: [tp for tp in tps if tp.topic not in queued] for b, tps in lost.items()}
    leaderless = context.partitions_with_offline_leader()
    yield from mark_partitions(context, leaderless, PartitionState.OFFLINE)
    results = yield from try_online(context)
    yield from move_replicas(context, staying, ReplicaState.OFFLINE)
    deleting = {b: [tp for tp in tps if tp.topic in queued] for b, tps in lost.items()}
    yield from fail_deletion(context, deleting)
    if not any(staying.values()) and not results.elected:
        # no other request tells brokers that one has failed
        yield from send_metadata(context, context.registered, ())
