"""Reads and removes requests and notifications that operators and brokers write to the store."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.controller.effects import NotificationKind, Notifications, StoreReassignmentPlan
from kedge.errors import MalformedInput, NodeMissing
from kedge.model import BrokerId, TopicPartition
from kedge.runtime.fenced_store import FencedStore
from kedge.store.port import Create, Delete, SetData
from kedge.store.znodes import (
    CONFIG_CHANGES,
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PREFERRED_ELECTION,
    REASSIGN_PARTITIONS,
    decode_log_dir_event,
    decode_partitions,
    decode_preferred_election,
    decode_reassignments,
    delete_topic_path,
    encode_reassignments,
)

_PARENTS = {
    NotificationKind.ISR_CHANGES: ISR_CHANGES,
    NotificationKind.LOG_DIR_FAILURES: LOG_DIR_EVENTS,
    NotificationKind.CONFIG_CHANGES: CONFIG_CHANGES,
}

Targets = dict[TopicPartition, tuple[BrokerId, ...]]


def read_deletion_requests(store: FencedStore) -> set[str]:
    """Return the topics to be deleted."""
    return set(store.children(DELETE_TOPICS, watch=True))


def remove_deletion_requests(store: FencedStore, topics: Sequence[str]) -> None:
    """Remove topics from that list."""
    store.write([Delete(delete_topic_path(topic)) for topic in topics])


def read_reassignment_plan(store: FencedStore, *, watch: bool) -> Targets | None:
    """Return the plan; a malformed one is empty."""
    node = store.watched(REASSIGN_PARTITIONS) if watch else store.node(REASSIGN_PARTITIONS)
    if node is None:
        return None
    try:
        return decode_reassignments(node.data)
    except MalformedInput as error:
        store.warn(f"{error}; the plan counts as empty")
        return {}


def store_reassignment_plan(store: FencedStore, effect: StoreReassignmentPlan) -> None:
    """Replace the plan, create it if it is absent, delete it if it is empty."""
    if not effect.targets:
        store.write_one(Delete(REASSIGN_PARTITIONS))
        return
    data = encode_reassignments(effect.targets)
    if isinstance(store.write_one(SetData(REASSIGN_PARTITIONS, data)), NodeMissing):
        store.write_one(Create(REASSIGN_PARTITIONS, data))


def read_preferred_election(store: FencedStore) -> set[TopicPartition] | None:
    """Return the list; a malformed one is empty."""
    node = store.watched(PREFERRED_ELECTION)
    if node is None:
        return None
    try:
        return set(decode_preferred_election(node.data))
    except MalformedInput as error:
        store.warn(f"{error}; the list counts as empty")
        return set()


def delete_preferred_election(store: FencedStore) -> None:
    """Delete the list."""
    store.write_one(Delete(PREFERRED_ELECTION))


def read_notifications(store: FencedStore, kind: NotificationKind) -> Notifications:
    """Return all notifications of a kind; malformed ones are skipped."""
    parent = _PARENTS[kind]
    names = store.children(parent, watch=True)
    paths = [f"{parent}/{name}" for name in names]
    partitions: set[TopicPartition] = set()
    brokers: set[BrokerId] = set()
    for path, node in zip(paths, store.nodes(paths), strict=True):
        try:
            if node is None:
                continue
            if kind is NotificationKind.ISR_CHANGES:
                partitions.update(decode_partitions(node.data, path))
            else:
                brokers.add(decode_log_dir_event(node.data, path))
        except MalformedInput as error:
            store.warn(f"{error}; the notification is skipped")
    return Notifications(names, frozenset(partitions), frozenset(brokers))


def delete_notifications(store: FencedStore, kind: NotificationKind, names: Sequence[str]) -> None:
    """Delete notifications."""
    store.write([Delete(f"{_PARENTS[kind]}/{name}") for name in names])
