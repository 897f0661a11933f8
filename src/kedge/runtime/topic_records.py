"""Brokers and topics in the store."""

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
    """All registrations; those that cannot be read are left out."""
    names = store.children(BROKER_IDS, watch=True)
    ids = [b for b in (broker_id(store, name) for name in names) if b is not None]
    nodes = store.nodes([broker_path(b) for b in ids], watch=True)
    found = {b: registration(store, b, node) for b, node in zip(ids, nodes, strict=True)}
    return {b: known for b, known in found.items() if known is not None}


def broker_id(store: FencedStore, name: str) -> BrokerId | None:
    """The broker that a node is named after, if it is one."""
    try:
        return broker_id_of(name)
    except MalformedInput as error:
        store.warn(f"{error}; the node is passed over")
        return None


def read_broker(store: FencedStore, broker: BrokerId) -> Registration | None:
    """One registration."""
    return registration(store, broker, store.node(broker_path(broker), watch=True))


def registration(store: FencedStore, broker: BrokerId, node: Node | None) -> Registration | None:
    """A registration; the transaction that created it is the broker's epoch. A controller that is
    registered for old brokers to find it is no broker."""
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
    """Topics that are there and can be read."""
    nodes = store.nodes([topic_path(t) for t in effect.topics], watch=True)
    return readable_records(store, effect.topics, nodes)


def readable_records(
    store: FencedStore, topics: Sequence[str], nodes: Sequence[Node | None]
) -> dict[str, TopicRecord]:
    """The records among nodes. One that cannot be read is left as it is: were it taken for a topic
    without partitions, the id that it is assigned would overwrite it."""
    found: dict[str, TopicRecord] = {}
    for topic, node in zip(topics, nodes, strict=True):
        if node is not None:
            try:
                found[topic] = topic_record(topic, node)
            except MalformedInput as error:
                store.warn(f"{error}; the topic is passed over")
    return found


def topic_record(topic: str, node: Node) -> TopicRecord:
    """A topic as the controller knows it; the way without detours where nothing is moving."""
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
    """Partitions sort by number, not by its digits."""
    return int(partition[0])


def is_current_form(value: dict[str, Any]) -> bool:
    """Whether a topic's record is of today's form and lists nothing but plain replicas."""
    if value.get("version") != 3 or type(value.get("topic_id")) is not str:
        return False
    if value.get("adding_replicas") or value.get("removing_replicas"):
        return False
    lists: Iterable[list[Any]] = value["partitions"].values()
    return {type(b) for replicas in lists for b in replicas} <= {int}


def decoded_topic_record(topic: str, node: Node) -> TopicRecord:
    """A topic in any form that was ever written."""
    found = decode_topic(topic, node.data)
    assignments = {TopicPartition(topic, p): a for p, a in found.partitions.items()}
    return TopicRecord(found.topic_id, assignments)


def assign_topic_ids(
    store: FencedStore, effect: AssignTopicIds, new_topic_id: Callable[[], str]
) -> dict[str, str]:
    """Write a new id beside each assignment, conditionally, until nobody wrote in between."""
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
    """A topic's node."""
    partitions = {tp.partition: assignment for tp, assignment in assignments.items()}
    return encode_topic(TopicAssignment(partitions, topic_id))


def store_assignment(store: FencedStore, effect: StoreAssignment) -> bool:
    """Rewrite a topic; False if it is gone."""
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
    """Remove everything children_of the topic; then, in one step, the topic, its configuration and the
    order to delete it, so that no crash leaves one of these without the others."""
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
    """The paths of all children of these nodes."""
    answers = store.read([GetChildren(path) for path in parents])
    for path, answer in zip(parents, answers, strict=True):
        if isinstance(answer, Children):
            yield from (f"{path}/{name}" for name in answer.names)
