"""Topics as an administrator writes them: in the store, where the controller finds them.

Kafka's brokers do the same in ZooKeeper mode: they judge, they write the topic's configs, then the
topic itself, or a marker for its deletion; what follows is the controller's work. Each function is
a few pipelined rounds with the store, however many topics it is about. For one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kedge.endpoint.backend import Charging, DeletedTopic
from kedge.endpoint.images import Image
from kedge.endpoint.settings import ClusterSettings
from kedge.endpoint.views import Views
from kedge.errors import (
    Conflict,
    KedgeError,
    NodeExists,
    NodeMissing,
    PolicyViolation,
    StaleVersion,
    TopicExists,
    UnknownTopicOrPartition,
)
from kedge.model import ReplicaAssignment
from kedge.store.port import (
    Answer,
    Create,
    GetData,
    Node,
    SetData,
    Store,
)
from kedge.store.znodes import (
    TopicAssignment,
    decode_topic,
    delete_topic_path,
    encode_config,
    encode_topic,
    topic_config_path,
    topic_path,
)
from kedge.topics import (
    ClusterView,
    CreateBatch,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    Marked,
    NewPartitions,
    NewTopic,
    at_rest,
    is_valid_name,
    judge_deletes,
    judge_expands,
    new_topic_id,
)

_TRIES = 5  # of a write that others get in the way of


@dataclass(frozen=True, slots=True)
class Luck:
    """Where chance comes from: a number below another, and bytes."""

    draw: Callable[[int], int]
    draw_bytes: Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class WrittenTopic:
    """A topic that was written (or judged good, and then without an id)."""

    topic: NewTopic
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class Creation:
    """A request for topics, on its way to the store."""

    batch: CreateBatch
    view: ClusterView
    validate_only: bool


class StoredTopics:
    """Judges requests against the store and a node's image, and writes what they come to."""

    def __init__(
        self, store: Store, views: Views, settings: Callable[[], ClusterSettings], luck: Luck
    ) -> None:
        self._store = store
        self._views = views
        self._settings = settings
        self._luck = luck

    # ---- create -------------------------------------------------------------------------------

    def create(
        self,
        requests: Sequence[CreateRequest],
        image: Image,
        *,
        validate_only: bool,
        charge: Charging,
    ) -> list[WrittenTopic | KedgeError]:
        """Write new topics, each for itself."""
        creation = self.begin_creation(requests, image, validate_only=validate_only)
        return self.create_some(creation, requests, charge=charge)

    def begin_creation(
        self, requests: Sequence[CreateRequest], image: Image, *, validate_only: bool
    ) -> Creation:
        """Look at the cluster once for a request that is then worked off in pieces."""
        self._refuse_too_many(map(_size, requests))
        view = self._views.of_topics(image)
        batch = CreateBatch(
            requests,
            view,
            draw=self._luck.draw,
            policy=self._settings().create_policy,
            validate_only=validate_only,
        )
        return Creation(batch, view, validate_only)

    def create_some(
        self, creation: Creation, requests: Sequence[CreateRequest], *, charge: Charging
    ) -> list[WrittenTopic | KedgeError]:
        """Write some of the topics of a request."""
        judged = creation.batch.judge(requests)
        if creation.validate_only:
            return [WrittenTopic(j, None) if isinstance(j, NewTopic) else j for j in judged]
        charged = [
            _charged(j, j.partitions, charge) if isinstance(j, NewTopic) else j for j in judged
        ]
        written = self._write([j for j in charged if isinstance(j, NewTopic)])
        return [written[j.name] if isinstance(j, NewTopic) else j for j in charged]

    def _write(self, topics: Sequence[NewTopic]) -> dict[str, WrittenTopic | KedgeError]:
        """The configs first, be they none: an older topic's must not live on. Then the topics."""
        self._write_configs({t.name: t.configs for t in topics})
        made = {t.name: WrittenTopic(t, new_topic_id(self._luck.draw_bytes)) for t in topics}
        answers = self._store.batch([_creation(written) for written in made.values()])
        return {
            name: _judged_creation(written, answer)
            for (name, written), answer in zip(made.items(), answers, strict=True)
        }

    def _write_configs(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        data = {topic_config_path(topic): encode_config(texts) for topic, texts in configs.items()}
        answers = self._store.batch([SetData(path, each) for path, each in data.items()])
        missing = [p for p, a in zip(data, answers, strict=True) if isinstance(a, NodeMissing)]
        if missing:
            self._store.batch([Create(path, data[path]) for path in missing])

    # ---- expand -------------------------------------------------------------------------------

    def expand(
        self,
        requests: Sequence[ExpandRequest],
        image: Image,
        *,
        validate_only: bool,
        charge: Charging,
    ) -> list[TopicAssignment | KedgeError]:
        """Write topics with more partitions; what each has then."""
        self._refuse_too_many(request.total for request in requests)
        nodes = self._read_topics(request.topic for request in requests)
        judged = judge_expands(requests, self._views.of_topics(image, _partitions(nodes)))
        answers: list[TopicAssignment | KedgeError] = []
        for request, each in zip(requests, judged, strict=True):
            if isinstance(each, NewPartitions):
                answers.append(self._expand_one(request, each, image, nodes, charge, validate_only))
            else:
                answers.append(each)
        return answers

    def _expand_one(
        self,
        request: ExpandRequest,
        judged: NewPartitions,
        image: Image,
        nodes: Mapping[str, Node],
        charge: Charging,
        validate_only: bool,
    ) -> TopicAssignment | KedgeError:
        topic, node = judged.topic, nodes[judged.topic]
        refusal = None if validate_only else _refusal_of(lambda: charge(len(judged.added)))
        if refusal is not None:
            return refusal
        for _ in range(_TRIES):
            after = _expanded(topic, node, judged)
            if validate_only:
                return after
            (answer,) = self._store.batch(
                [SetData(topic_path(topic), encode_topic(after), node.stat.version)]
            )
            if not isinstance(answer, StaleVersion):
                gone = UnknownTopicOrPartition(f"no topic {topic!r}")
                return gone if isinstance(answer, Conflict) else after
            # somebody rewrote the topic in between: judge again what is there now
            nodes = self._read_topics([topic])
            (again,) = judge_expands([request], self._views.of_topics(image, _partitions(nodes)))
            if isinstance(again, KedgeError):
                return again
            judged, node = again, nodes[topic]
        return StaleVersion(f"topic {topic} changes too fast", hint="ask again")

    def _read_topics(self, topics: Iterable[str]) -> dict[str, Node]:
        names = [name for name in dict.fromkeys(topics) if is_valid_name(name)]
        answers = self._store.batch([GetData(topic_path(name)) for name in names])
        return {n: a for n, a in zip(names, answers, strict=True) if isinstance(a, Node)}

    def _refuse_too_many(self, counts: Iterable[int]) -> None:
        """Refuse the whole request, before anything is placed."""
        total, most = sum(max(0, count) for count in counts), self._settings().partitions_max
        if total > most:
            raise PolicyViolation(f"{total} partitions in one request", hint=f"at most {most}")

    # ---- delete -------------------------------------------------------------------------------

    def delete(
        self, requests: Sequence[DeleteRequest], image: Image, *, charge: Charging
    ) -> list[DeletedTopic | KedgeError]:
        """Mark topics for deletion; one that is marked already counts as marked by us, and one
        that is named twice is deleted once."""
        different = list(dict.fromkeys(requests))
        answers = self._delete(different, image, charge)
        found = dict(zip(different, answers, strict=True))
        return [found[request] for request in requests]

    def _delete(
        self, requests: Sequence[DeleteRequest], image: Image, charge: Charging
    ) -> list[DeletedTopic | KedgeError]:
        judged = judge_deletes(requests, self._views.of_topics(image))
        charged = [
            _charged(j, len(image.topics[j.name].partitions), charge)
            if isinstance(j, Marked)
            else j
            for j in judged
        ]
        marked = [j.name for j in charged if isinstance(j, Marked)]
        answers = self._store.batch([Create(delete_topic_path(name)) for name in marked])
        failed = {
            name: answer
            for name, answer in zip(marked, answers, strict=True)
            if isinstance(answer, Conflict) and not isinstance(answer, NodeExists)
        }
        return [
            failed.get(j.name, DeletedTopic(j.name, image.topics[j.name].topic_id))
            if isinstance(j, Marked)
            else j
            for j in charged
        ]


J = TypeVar("J", NewTopic, Marked)


def _size(request: CreateRequest) -> int:
    return len(request.assignments) or request.partitions


def _charged(judged: J, permits: int, charge: Charging) -> J | KedgeError:
    return _refusal_of(lambda: charge(permits)) or judged


def _refusal_of(action: Callable[[], None]) -> KedgeError | None:
    try:
        action()
    except KedgeError as refusal:
        return refusal
    return None


def _creation(written: WrittenTopic) -> Create:
    partitions = at_rest(written.topic.assignment)
    data = encode_topic(TopicAssignment(partitions, written.topic_id))
    return Create(topic_path(written.topic.name), data)


def _judged_creation(written: WrittenTopic, answer: Answer) -> WrittenTopic | KedgeError:
    if isinstance(answer, NodeExists):
        return TopicExists(f"topic {written.topic.name!r} exists already")
    return answer if isinstance(answer, Conflict) else written


def _partitions(nodes: Mapping[str, Node]) -> dict[str, Mapping[int, ReplicaAssignment]]:
    return {name: decode_topic(name, node.data).partitions for name, node in nodes.items()}


def _expanded(topic: str, node: Node, judged: NewPartitions) -> TopicAssignment:
    before = decode_topic(topic, node.data)
    return TopicAssignment({**before.partitions, **at_rest(judged.added)}, before.topic_id)
