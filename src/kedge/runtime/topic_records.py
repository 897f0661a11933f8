"""Reads registrations of brokers, and reads and writes records of topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from kedge.controller.context import Registration
from kedge.controller.effects import (
    AssignTopicIds,
    DeleteTopic,
    ReadTopicRecords,
    StoreAssignment,
    TopicRecord,
)
from kedge.errors import Conflict, MalformedInput, NodeMissing, StaleVersion
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.runtime.fenced_store import FencedStore
from kedge.store.port import Children, Delete, GetChildren, Node, SetData
from kedge.store.znodes import (
    BROKER_IDS,
    CONTROLLER_ONLY,
    TopicAssignment,
    broker_id_of,
    broker_path,
    decode_broker,
    decode_topic,
    delete_topic_path,
    encode_topic,
    topic_config_path,
    topic_path,
)

# ---- brokers ---------------------------------------------------------------------------------


def read_brokers(store: FencedStore) -> dict[BrokerId, Registration]:
    """Return all registrations; malformed ones are left out."""
    names = store.children(BROKER_IDS, watch=True)
    ids = [b for b in (broker_id(store, name) for name in names) if b is not None]
    nodes = store.nodes([broker_path(b) for b in ids], watch=True)
    found = {b: registration(store, b, node) for b, node in zip(ids, nodes, strict=True)}
    return {b: known for b, known in found.items() if known is not None}


def broker_id(store: FencedStore, name: str) -> BrokerId | None:
    """Return the broker id of a node's name, or None."""
    try:
        return broker_id_of(name)
    except MalformedInput as error:
        store.warn(f"{error}; the node is skipped")
        return None


def read_broker(store: FencedStore, broker: BrokerId) -> Registration | None:
    """Return one registration."""
    return registration(store, broker, store.node(broker_path(broker), watch=True))


def registration(store: FencedStore, broker: BrokerId, node: Node | None) -> Registration | None:
    """Decode a registration; the broker epoch is the transaction that created the node.

    The registration of a controller, for old brokers to find it, is not a broker's.
    """
    if node is None:
        return None
    try:
        found = decode_broker(broker, node.data)
    except MalformedInput as error:
        store.warn(f"{error}; the broker counts as absent")
        return None
    if CONTROLLER_ONLY in found.features:
        return None
    features = tuple(sorted((name, low, high) for name, (low, high) in found.features.items()))
    return Registration(found.broker, node.stat.created, features)


# ---- topics ----------------------------------------------------------------------------------


def read_topic_records(store: FencedStore, effect: ReadTopicRecords) -> dict[str, TopicRecord]:
    """Return the topics that exist and can be decoded."""
    nodes = store.nodes([topic_path(t) for t in effect.topics], watch=True)
    return readable_records(store, effect.topics, nodes)


def readable_records(
    store: FencedStore, topics: Sequence[str], nodes: Sequence[Node | None]
) -> dict[str, TopicRecord]:
    """Return the records of nodes that can be decoded.

    A malformed one is skipped: treated as a topic without partitions, it would be overwritten by
    the assignment of an id.
    """
    found: dict[str, TopicRecord] = {}
    for topic, node in zip(topics, nodes, strict=True):
        if node is not None:
            try:
                found[topic] = topic_record(topic, node)
            except MalformedInput as error:
                store.warn(f"{error}; the topic is skipped")
    return found


def topic_record(topic: str, node: Node) -> TopicRecord:
    """Decode a topic, with a fast path for topics that are not being moved."""
    try:
        value: dict[str, Any] = orjson.loads(node.data or b"")
        if is_current_form(value):
            assignments = {
                TopicPartition(topic, int(number)): ReplicaAssignment(tuple(replicas))
                for number, replicas in sorted(value["partitions"].items(), key=by_number)
            }
            return TopicRecord(value["topic_id"], assignments)
    except (ValueError, TypeError, AttributeError):
        pass
    return decoded_topic_record(topic, node)


def by_number(partition: tuple[str, object]) -> int:
    """Sort key: partitions by number, not by digits."""
    return int(partition[0])


def is_current_form(value: dict[str, Any]) -> bool:
    """Return whether a record has the current version and no adding or removing replicas."""
    if value.get("version") != 3 or type(value.get("topic_id")) is not str:
        return False
    if value.get("adding_replicas") or value.get("removing_replicas"):
        return False
    lists: Iterable[list[Any]] = value["partitions"].values()
    return {type(b) for replicas in lists for b in replicas} <= {int}


def decoded_topic_record(topic: str, node: Node) -> TopicRecord:
    """Decode a topic record of any version."""
    found = decode_topic(topic, node.data)
    assignments = {TopicPartition(topic, p): a for p, a in found.partitions.items()}
    return TopicRecord(found.topic_id, assignments)


def assign_topic_ids(
    store: FencedStore, effect: AssignTopicIds, new_topic_id: Callable[[], str]
) -> dict[str, str]:
    """Write a new id with each assignment, conditionally, with retries."""
    assigned: dict[str, str] = {}
    remaining: list[str] = list(effect.topics)
    while remaining:
        nodes = store.nodes([topic_path(t) for t in remaining])
        versions = {t: n.stat.version for t, n in zip(remaining, nodes, strict=True) if n}
        found = readable_records(store, remaining, nodes)
        wanted = {t: (record.topic_id or new_topic_id()) for t, record in found.items()}
        changes = [
            SetData(topic_path(t), encode_record(record.assignments, wanted[t]), versions[t])
            for t, record in found.items()
        ]
        answers = store.write(changes)
        refused = {t for t, a in zip(found, answers, strict=True) if isinstance(a, Conflict)}
        assigned |= {t: wanted[t] for t in found if t not in refused}
        remaining = sorted(refused)
    return assigned


def encode_record(
    assignments: Mapping[TopicPartition, ReplicaAssignment], topic_id: str | None
) -> bytes:
    """Encode a topic's node."""
    partitions = {tp.partition: assignment for tp, assignment in assignments.items()}
    return encode_topic(TopicAssignment(partitions, topic_id))


def store_assignment(store: FencedStore, effect: StoreAssignment) -> bool:
    """Rewrite a topic; False if it does not exist."""
    path = topic_path(effect.topic)
    while True:
        node = store.node(path)
        if node is None:
            return False
        assignments = dict(effect.assignments)
        if effect.keep_unknown:
            stored = readable_records(store, [effect.topic], [node]).get(effect.topic)
            assignments = {**(stored.assignments if stored else {}), **assignments}
        data = encode_record(assignments, effect.topic_id)
        answer = store.write_one(SetData(path, data, node.stat.version))
        if not isinstance(answer, StaleVersion):
            return not isinstance(answer, NodeMissing)


def delete_topic(store: FencedStore, effect: DeleteTopic) -> None:
    """Delete everything below the topic; then the topic, its config and its deletion request.

    The last three are one transaction, so that no crash leaves one of them without the others.
    """
    root, *others = (
        topic_path(effect.topic),
        topic_config_path(effect.topic),
        delete_topic_path(effect.topic),
    )
    while True:
        levels = [[root]]
        while levels[-1]:
            levels.append(list(children_of(store, levels[-1])))
        store.write([Delete(path) for level in reversed(levels[1:]) for path in level])
        present = [
            path
            for path, node in zip((root, *others), store.nodes([root, *others]), strict=True)
            if node is not None
        ]
        if not present:
            return
        (answer,) = store.write_together([tuple(Delete(path) for path in present)])
        if not isinstance(answer, Conflict):
            return


def children_of(store: FencedStore, parents: list[str]) -> Iterable[str]:
    """Yield the paths of all children of these nodes."""
    answers = store.read([GetChildren(path) for path in parents])
    for path, answer in zip(parents, answers, strict=True):
        if isinstance(answer, Children):
            yield from (f"{path}/{name}" for name in answer.names)
