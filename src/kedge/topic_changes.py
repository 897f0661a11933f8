"""Validates changes of topics against the cluster and writes them to the metadata store.

Kafka's brokers do the same in ZooKeeper mode: they check a request, write the topic's configs, then
the topic itself or a marker for its deletion; the controller does the rest. The endpoint, the
ZooKeeper commands and the simulator's operator all write topics here. Each call is a few pipelined
rounds with the store, however many topics it is about.

    changes = TopicChanges(store.batch, lambda partitions: view, draw=randrange, new_id=new_id)
    answers = changes.create([CreateRequest("orders", 12, 3)])     # WrittenTopic, or a KedgeError

In a batch, a refusal stands beside the successes. A write that meets a version other than the one
that was read is validated and tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kedge.errors import (
    Conflict,
    KedgeError,
    NodeExists,
    NodeMissing,
    StaleVersion,
    TopicExists,
    UnknownTopicOrPartition,
)
from kedge.model import ReplicaAssignment
from kedge.store.port import Answer, Create, GetData, Node, Request, SetData
from kedge.store.znodes import (
    NEW_CONFIG_CHANGE,
    TopicAssignment,
    config_path,
    decode_topic,
    delete_topic_path,
    encode_config,
    encode_config_change,
    encode_topic,
    topic_path,
)
from kedge.topics import (
    ClusterView,
    CreateBatch,
    CreateProposal,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    Marked,
    NewPartitions,
    NewTopic,
    Policy,
    allow,
    at_rest,
    is_valid_name,
    validate_deletes,
    validate_expands,
)

ATTEMPTS = 5  # of a write that meets a newer version each time

Batch = Callable[[Sequence[Request]], list[Answer]]
Partitions = Mapping[int, ReplicaAssignment]
View = Callable[[Mapping[str, Partitions]], ClusterView]
Configs = Mapping[str, str]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WrittenTopic:
    """A topic that was written, or only validated (then without an id)."""

    topic: NewTopic
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class Creation:
    """A request for topics that is written in pieces, all validated against one view."""

    batch: CreateBatch
    view: ClusterView
    validate_only: bool


def free(_count: int) -> None:
    """A charge for partitions that never refuses."""


def free_of(_topic: str) -> None:
    """A charge for the deletion of a topic that never refuses."""


class TopicChanges:
    """Creates, expands and deletes topics. For one thread at a time.

    `batch` is the store's. `view` returns the cluster, with the partitions that it is given for the
    topics that a request is about: they are those whose versions the writes depend on. `new_id`
    returns None where the controller is to give the topic an id.
    """

    def __init__(
        self,
        batch: Batch,
        view: View,
        *,
        draw: Callable[[int], int],
        new_id: Callable[[], str | None],
        policy: Policy[CreateProposal] = allow,
    ) -> None:
        self._batch = batch
        self._view = view
        self._draw = draw
        self._new_id = new_id
        self._policy = policy

    # ---- create -------------------------------------------------------------------------------

    def create(
        self,
        requests: Sequence[CreateRequest],
        *,
        validate_only: bool = False,
        charge: Callable[[int], None] = free,
    ) -> list[WrittenTopic | KedgeError]:
        """Write new topics; one answer for each request."""
        creation = self.begin_creation(requests, validate_only=validate_only)
        return self.create_some(creation, requests, charge=charge)

    def begin_creation(
        self, requests: Sequence[CreateRequest], *, validate_only: bool = False
    ) -> Creation:
        """Read the cluster once for a request that is then written in pieces."""
        view = self._view({})
        batch = CreateBatch(
            requests, view, draw=self._draw, policy=self._policy, validate_only=validate_only
        )
        return Creation(batch, view, validate_only)

    def create_some(
        self,
        creation: Creation,
        requests: Sequence[CreateRequest],
        *,
        charge: Callable[[int], None] = free,
    ) -> list[WrittenTopic | KedgeError]:
        """Write some of the topics of a request."""
        validated = creation.batch.validate(requests)
        if creation.validate_only:
            return [WrittenTopic(j, None) if isinstance(j, NewTopic) else j for j in validated]
        charged = [
            _unless_refused(j, lambda j=j: charge(j.partitions)) if isinstance(j, NewTopic) else j
            for j in validated
        ]
        written = self._write([j for j in charged if isinstance(j, NewTopic)])
        return [written[j.name] if isinstance(j, NewTopic) else j for j in charged]

    def _write(self, topics: Sequence[NewTopic]) -> dict[str, WrittenTopic | KedgeError]:
        """Configs first, even if there are none: those of an older topic must not remain, and the
        controller reads them as soon as the topic is there."""
        write_configs(self._batch, {f"topics/{t.name}": t.configs for t in topics})
        made = {t.name: WrittenTopic(t, self._new_id()) for t in topics}
        answers = self._batch([_creation(written) for written in made.values()])
        return {
            name: _created(written, answer)
            for (name, written), answer in zip(made.items(), answers, strict=True)
        }

    # ---- expand -------------------------------------------------------------------------------

    def expand(
        self,
        requests: Sequence[ExpandRequest],
        *,
        validate_only: bool = False,
        charge: Callable[[int], None] = free,
    ) -> list[TopicAssignment | KedgeError]:
        """Write topics with more partitions; all partitions of each topic afterwards."""
        answers: dict[int, TopicAssignment | KedgeError] = {}
        left = dict(enumerate(requests))
        for attempt in range(ATTEMPTS):
            nodes = self._read_topics(request.topic for request in left.values())
            validated = validate_expands(list(left.values()), self._view(_partitions(nodes)))
            for index, each in zip(left, validated, strict=True):
                if isinstance(each, NewPartitions) and not validate_only and attempt == 0:
                    each = _unless_refused(each, lambda each=each: charge(len(each.added)))
                answers[index] = (
                    each if isinstance(each, KedgeError) else _expanded(each, nodes[each.topic])
                )
            if validate_only:
                break
            left = self._write_expanded(left, answers, nodes)
            if not left:
                break
        return [answers[index] for index in range(len(requests))]

    def _write_expanded(
        self,
        requests: Mapping[int, ExpandRequest],
        answers: dict[int, TopicAssignment | KedgeError],
        nodes: Mapping[str, Node],
    ) -> dict[int, ExpandRequest]:
        """Write what was accepted; the requests whose topics have another version by now."""
        accepted = {i: a for i in requests if isinstance(a := answers[i], TopicAssignment)}
        topics = {i: requests[i].topic for i in accepted}
        writes = [
            SetData(topic_path(topics[i]), encode_topic(after), nodes[topics[i]].stat.version)
            for i, after in accepted.items()
        ]
        stale: dict[int, ExpandRequest] = {}
        for index, answer in zip(accepted, self._batch(writes) if writes else [], strict=True):
            topic = topics[index]
            if isinstance(answer, StaleVersion):
                stale[index] = requests[index]
                answers[index] = StaleVersion(f"topic {topic} changes too fast", hint="try again")
            elif isinstance(answer, Conflict):
                answers[index] = UnknownTopicOrPartition(f"Topic {topic!r} not found")
        return stale

    def _read_topics(self, topics: Iterable[str]) -> dict[str, Node]:
        names = [name for name in dict.fromkeys(topics) if is_valid_name(name)]
        answers = self._batch([GetData(topic_path(name)) for name in names])
        return {n: a for n, a in zip(names, answers, strict=True) if isinstance(a, Node)}

    # ---- delete -------------------------------------------------------------------------------

    def delete(
        self, requests: Sequence[DeleteRequest], *, charge: Callable[[str], None] = free_of
    ) -> list[Marked | KedgeError]:
        """Mark topics for deletion. A topic that is marked already counts as marked, and one that
        is named twice is deleted once."""
        different = list(dict.fromkeys(requests))
        answers = self._delete(different, charge)
        found = dict(zip(different, answers, strict=True))
        return [found[request] for request in requests]

    def _delete(
        self, requests: Sequence[DeleteRequest], charge: Callable[[str], None]
    ) -> list[Marked | KedgeError]:
        validated = validate_deletes(requests, self._view({}))
        charged = [
            _unless_refused(j, lambda j=j: charge(j.name)) if isinstance(j, Marked) else j
            for j in validated
        ]
        marked = [j.name for j in charged if isinstance(j, Marked)]
        answers = self._batch([Create(delete_topic_path(name)) for name in marked])
        failed = {
            name: answer
            for name, answer in zip(marked, answers, strict=True)
            if isinstance(answer, Conflict) and not isinstance(answer, NodeExists)
        }
        return [failed.get(j.name, j) if isinstance(j, Marked) else j for j in charged]


# ---- configs -------------------------------------------------------------------------------------


def write_configs(batch: Batch, configs: Mapping[str, Configs]) -> None:
    """Write the configs of entities such as `topics/orders`, whether they had any before or not."""
    data = {config_path(entity): encode_config(texts) for entity, texts in configs.items()}
    answers = batch([SetData(path, each) for path, each in data.items()])
    missing = [p for p, a in zip(data, answers, strict=True) if isinstance(a, NodeMissing)]
    if missing:
        batch([Create(path, data[path]) for path in missing])


def change_configs(batch: Batch, configs: Mapping[str, Configs]) -> None:
    """Write the configs of entities, then the notifications that make brokers read them."""
    write_configs(batch, configs)
    notifications = map(encode_config_change, configs)
    batch([Create(NEW_CONFIG_CHANGE, data, sequential=True) for data in notifications])


# ---- helpers -------------------------------------------------------------------------------------


def _unless_refused(value: T, charge: Callable[[], None]) -> T | KedgeError:
    try:
        charge()
    except KedgeError as refusal:
        return refusal
    return value


def _creation(written: WrittenTopic) -> Create:
    partitions = at_rest(written.topic.assignment)
    data = encode_topic(TopicAssignment(partitions, written.topic_id))
    return Create(topic_path(written.topic.name), data)


def _created(written: WrittenTopic, answer: Answer) -> WrittenTopic | KedgeError:
    if isinstance(answer, NodeExists):
        return TopicExists(f"Topic {written.topic.name!r} already exists")
    return answer if isinstance(answer, Conflict) else written


def _partitions(nodes: Mapping[str, Node]) -> dict[str, Partitions]:
    return {name: decode_topic(name, node.data).partitions for name, node in nodes.items()}


def _expanded(validated: NewPartitions, node: Node) -> TopicAssignment:
    before = decode_topic(validated.topic, node.data)
    return TopicAssignment({**before.partitions, **at_rest(validated.added)}, before.topic_id)
