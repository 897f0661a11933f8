"""Reads and writes the state nodes of partitions, in large batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from kedge.controller.effects import (
    CreateLeaderships,
    ReadLeaderships,
    WriteLeaderships,
    WriteOutcome,
)
from kedge.errors import Conflict, MalformedInput, NodeExists, StaleVersion
from kedge.model import Leadership, Recovery, TopicPartition
from kedge.runtime.fenced_store import FencedStore
from kedge.store.port import Create, Node, SetData, Written
from kedge.store.znodes import (
    decode_state,
    encode_state,
    partition_path,
    partitions_path,
    state_path,
)

Leaderships = dict[TopicPartition, Leadership]


def read_leaderships(store: FencedStore, effect: ReadLeaderships) -> Leaderships:
    """Return the stored leaderships; a malformed one counts as absent."""
    paths = [state_path(tp) for tp in effect.partitions]
    found: Leaderships = {}
    for tp, node in zip(effect.partitions, store.nodes(paths, watch=effect.watch), strict=True):
        if node is not None:
            try:
                found[tp] = decode(tp, node)
            except MalformedInput as error:
                store.warn(f"{error}; the partition counts as new")
    return found


def decode(tp: TopicPartition, node: Node) -> Leadership:
    """Decode a leadership, with a fast path for the usual form."""
    try:
        value: dict[str, Any] = orjson.loads(node.data or b"")
        if len(value) == 5:
            leader, isr, epoch = value["leader"], tuple(value["isr"]), value["leader_epoch"]
            controller = value["controller_epoch"]
            if type(leader) is type(epoch) is type(controller) is int:
                return Leadership(
                    leader, isr, epoch, node.stat.version, controller, Recovery.RECOVERED
                )
    except (ValueError, KeyError, TypeError):
        pass
    return decode_state(tp, node.data, node.stat.version)


def write_leaderships(store: FencedStore, effect: WriteLeaderships) -> WriteOutcome:
    """Write leaderships conditionally, each on its own."""
    wanted = with_controller_epoch(effect.wanted, effect.controller_epoch)
    changes = [
        SetData(state_path(tp), encode_state(leadership), leadership.partition_epoch)
        for tp, leadership in wanted.items()
    ]
    outcome = WriteOutcome()
    for (tp, leadership), answer in zip(wanted.items(), store.write(changes), strict=True):
        if isinstance(answer, Written):
            outcome.stored[tp] = with_partition_epoch(leadership, answer.stat.version)
        elif isinstance(answer, StaleVersion):
            outcome.stale.append(tp)
        else:
            outcome.failed[tp] = str(answer)
    return outcome


def create_leaderships(store: FencedStore, effect: CreateLeaderships) -> WriteOutcome:
    """Create a partition's node and its state in one transaction, so that a crash leaves both or
    neither.
    """
    wanted = with_controller_epoch(effect.wanted, effect.controller_epoch)
    topics = sorted({tp.topic for tp in wanted})
    store.write([Create(partitions_path(topic)) for topic in topics])
    states = {tp: Create(state_path(tp), encode_state(wanted[tp])) for tp in wanted}
    answers = store.write_together([(Create(partition_path(tp)), states[tp]) for tp in states])
    outcome = WriteOutcome()
    again: list[TopicPartition] = []
    for tp, answer in zip(wanted, answers, strict=True):
        if not isinstance(answer, Conflict):
            outcome.stored[tp] = wanted[tp]
        elif isinstance(answer, NodeExists):
            again.append(tp)
        else:
            outcome.failed[tp] = str(answer)
    create_states(store, again, states, wanted, outcome)
    return outcome


def create_states(
    store: FencedStore,
    partitions: Sequence[TopicPartition],
    states: Mapping[TopicPartition, Create],
    wanted: Leaderships,
    outcome: WriteOutcome,
) -> None:
    """Create only the states, for partitions whose own node exists."""
    if not partitions:
        return
    answers = store.write([states[tp] for tp in partitions])
    for tp, answer in zip(partitions, answers, strict=True):
        if isinstance(answer, Conflict):
            outcome.failed[tp] = str(answer)
        else:
            outcome.stored[tp] = wanted[tp]


def with_controller_epoch(
    leaderships: Mapping[TopicPartition, Leadership], epoch: int
) -> Leaderships:
    """Return the same leaderships with this controller's epoch."""
    return {
        tp: Leadership(
            now.leader, now.isr, now.leader_epoch, now.partition_epoch, epoch, now.recovery
        )
        for tp, now in leaderships.items()
    }


def with_partition_epoch(now: Leadership, version: int) -> Leadership:
    """Return the same leadership with the version of its node."""
    return Leadership(
        now.leader, now.isr, now.leader_epoch, version, now.controller_epoch, now.recovery
    )


def stored_partitions(store: FencedStore, topic: str) -> set[int]:
    """Return the partitions that have their own node."""
    return {int(name) for name in store.children(partitions_path(topic)) if name.isdigit()}
