"""Brokers, topics and what is configured for them, in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from kedge.controller.context import Registration
from kedge.controller.effects import (
    DeleteTopic,
    GiveTopicIds,
    ReadTopicRecords,
    ReadUncleanAllowed,
    StoreAssignment,
    TopicRecord,
)
from kedge.errors import Conflict, MalformedInput, NodeMissing, StaleVersion
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.runtime.fenced import FencedStore
from kedge.store.port import Children, Delete, GetChildren, Node, SetData
from kedge.store.znodes import (
    BROKER_IDS,
    TopicAssignment,
    broker_id_of,
    broker_path,
    decode_broker,
    decode_config,
    decode_topic,
    delete_topic_path,
    encode_topic,
    topic_config_path,
    topic_path,
)

_UNCLEAN = "unclean.leader.election.enable"
_BOOLEANS = {"true": True, "false": False}


# ---- brokers ---------------------------------------------------------------------------------


def read_brokers(store: FencedStore) -> dict[BrokerId, Registration]:
    """All registrations; those that cannot be read are left out."""
    ids = [broker_id_of(name) for name in store.children(BROKER_IDS, watch=True)]
    nodes = store.nodes([broker_path(b) for b in ids], watch=True)
    found = {b: registration(b, node) for b, node in zip(ids, nodes, strict=True)}
    return {b: known for b, known in found.items() if known is not None}


def read_broker(store: FencedStore, broker: BrokerId) -> Registration | None:
    """One registration."""
    return registration(broker, store.node(broker_path(broker), watch=True))


def registration(broker: BrokerId, node: Node | None) -> Registration | None:
    """A registration; the transaction that created it is the broker's epoch."""
    if node is None:
        return None
    try:
        found = decode_broker(broker, node.data)
    except MalformedInput:
        return None
    features = tuple(sorted((name, low, high) for name, (low, high) in found.features.items()))
    return Registration(found.broker, node.stat.created, features)


# ---- topics ----------------------------------------------------------------------------------


def read_topic_records(store: FencedStore, effect: ReadTopicRecords) -> dict[str, TopicRecord]:
    """Topics that are there; one that cannot be read has no partitions."""
    nodes = store.nodes([topic_path(t) for t in effect.topics], watch=True)
    return {
        topic: topic_record(topic, node)
        for topic, node in zip(effect.topics, nodes, strict=True)
        if node is not None
    }


def topic_record(topic: str, node: Node) -> TopicRecord:
    """A topic as the controller knows it; the way without detours where nothing is moving."""
    try:
        value: dict[str, Any] = orjson.loads(node.data or b"")
        if is_usual(value):
            assignments = {
                TopicPartition(topic, int(number)): ReplicaAssignment(tuple(replicas))
                for number, replicas in sorted(value["partitions"].items(), key=by_number)
            }
            return TopicRecord(value["topic_id"], assignments)
    except (ValueError, TypeError, AttributeError):
        pass
    return careful_topic_record(topic, node)


def by_number(partition: tuple[str, object]) -> int:
    """Partitions sort by number, not by its digits."""
    return int(partition[0])


def is_usual(value: dict[str, Any]) -> bool:
    """Whether a topic's record is of today's form and lists nothing but plain replicas."""
    if value.get("version") != 3 or type(value.get("topic_id")) is not str:
        return False
    if value.get("adding_replicas") or value.get("removing_replicas"):
        return False
    lists: Iterable[list[Any]] = value["partitions"].values()
    return {type(b) for replicas in lists for b in replicas} <= {int}


def careful_topic_record(topic: str, node: Node) -> TopicRecord:
    """A topic in any form that was ever written."""
    try:
        found = decode_topic(topic, node.data)
    except MalformedInput:
        return TopicRecord(None, {})
    assignments = {TopicPartition(topic, p): a for p, a in found.partitions.items()}
    return TopicRecord(found.topic_id, assignments)


def give_topic_ids(
    store: FencedStore, effect: GiveTopicIds, new_topic_id: Callable[[], str]
) -> dict[str, str]:
    """Write a new id beside each assignment, conditionally, until nobody wrote in between."""
    given: dict[str, str] = {}
    remaining: list[str] = list(effect.topics)
    while remaining:
        nodes = store.nodes([topic_path(t) for t in remaining])
        found = {t: n for t, n in zip(remaining, nodes, strict=True) if n is not None}
        wanted = {t: (topic_record(t, n).topic_id or new_topic_id()) for t, n in found.items()}
        changes = [with_id(t, n, wanted[t]) for t, n in found.items()]
        answers = store.write(changes)
        refused = {t for t, a in zip(found, answers, strict=True) if isinstance(a, Conflict)}
        given |= {t: wanted[t] for t in found if t not in refused}
        remaining = sorted(refused)
    return given


def with_id(topic: str, node: Node, topic_id: str) -> SetData:
    """The change that adds an id to what is stored."""
    record = topic_record(topic, node)
    data = encode_record(record.assignments, topic_id)
    return SetData(topic_path(topic), data, node.stat.version)


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
            assignments = {**topic_record(effect.topic, node).assignments, **assignments}
        data = encode_record(assignments, effect.topic_id)
        answer = store.write_one(SetData(path, data, node.stat.version))
        if not isinstance(answer, StaleVersion):
            return not isinstance(answer, NodeMissing)


def delete_topic(store: FencedStore, effect: DeleteTopic) -> None:
    """Remove everything below the topic; then, in one step, the topic, its configuration and the
    order to delete it, so that no crash leaves one of these without the others."""
    root, *others = (
        topic_path(effect.topic),
        topic_config_path(effect.topic),
        delete_topic_path(effect.topic),
    )
    while True:
        levels = [[root]]
        while levels[-1]:
            levels.append(list(below(store, levels[-1])))
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


def below(store: FencedStore, parents: list[str]) -> Iterable[str]:
    """The paths of all children of these nodes."""
    answers = store.read([GetChildren(path) for path in parents])
    for path, answer in zip(parents, answers, strict=True):
        if isinstance(answer, Children):
            yield from (f"{path}/{name}" for name in answer.names)


# ---- configuration ---------------------------------------------------------------------------


def read_unclean_allowed(store: FencedStore, effect: ReadUncleanAllowed) -> dict[str, bool | None]:
    """Topics' own settings, the default where they say nothing, None where they make no sense."""
    paths = [topic_config_path(topic) for topic in effect.topics]
    nodes = store.nodes(paths)
    return {
        topic: unclean_allowed(path, node, effect.default)
        for topic, path, node in zip(effect.topics, paths, nodes, strict=True)
    }


def unclean_allowed(path: str, node: Node | None, default: bool) -> bool | None:
    """What one topic's configuration says."""
    if node is None:
        return default
    try:
        text = decode_config(node.data, path).get(_UNCLEAN)
    except MalformedInput:
        return None
    return default if text is None else _BOOLEANS.get(text.strip().lower())
