"""Changes of topics, validated and written to the store while others write to it too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kedge.errors import (
    InvalidPartitions,
    QuotaExceeded,
    StaleVersion,
    TopicExists,
    UnknownTopicOrPartition,
)
from kedge.model import Broker, BrokerId, ReplicaAssignment
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.store.memory import MemoryStore
from kedge.store.port import Answer, Children, Create, Delete, GetChildren, GetData, Node, SetData
from kedge.store.port import Request as StoreRequest
from kedge.store.znodes import (
    CONFIG_CHANGES,
    DELETE_TOPICS,
    TopicAssignment,
    decode_config,
    decode_topic,
    encode_topic,
    topic_config_path,
    topic_path,
)
from kedge.topic_changes import ATTEMPTS, TopicChanges, WrittenTopic, change_configs
from kedge.topics import (
    ClusterView,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    Marked,
    at_rest,
)

ONE = BrokerId(1)
ID = "A" * 22


class ContestedStore(MemoryStore):
    """A store in which another client acts just before some of our writes."""

    def __init__(self, act: Callable[[MemoryStore], None], times: int, before: type = SetData):
        super().__init__()
        self._act = act
        self._times = times
        self._before = before

    def batch(self, requests: Sequence[StoreRequest]) -> list[Answer]:
        if self._times and any(isinstance(each, self._before) for each in requests):
            self._times -= 1
            self._act(self)
        return super().batch(requests)


def write_topic(store: MemoryStore, partitions: int, name: str = "t") -> None:
    lists = {number: (ONE,) for number in range(partitions)}
    data = encode_topic(TopicAssignment(at_rest(lists), ID))
    store.ensemble.batch(store.session, [Create(topic_path(name), data)])
    store.ensemble.batch(store.session, [SetData(topic_path(name), data)])


def changes_in(store: MemoryStore) -> TopicChanges:
    """Changes by a client that sees broker 1 and the topics that it is about."""

    def view(partitions: Mapping[str, Mapping[int, ReplicaAssignment]]) -> ClusterView:
        (found,) = store.ensemble.batch(store.session, [GetChildren("/brokers/topics")])
        names = found.names if isinstance(found, Children) else ()
        topics = {name: partitions.get(name, {}) for name in names}
        return ClusterView(brokers=(Broker(ONE),), topics=topics)

    return TopicChanges(store.batch, view, draw=lambda _: 0, new_id=lambda: ID)


def expand_in(store: MemoryStore, *totals: tuple[str, int]) -> list[object]:
    requests = [ExpandRequest(name, total) for name, total in totals]
    return list(changes_in(store).expand(requests))


def numbers(store: MemoryStore, name: str = "t") -> list[int]:
    (node,) = store.batch([GetData(topic_path(name))])
    assert isinstance(node, Node)
    return list(decode_topic(name, node.data).partitions)


def contested(
    act: Callable[[MemoryStore], None], times: int, before: type = SetData
) -> MemoryStore:
    store = ContestedStore(act, times, before)
    create_persistent_nodes(store)
    write_topic(store, 1)
    return store


# ---- expand --------------------------------------------------------------------------------------


def test_an_expansion_is_validated_again_when_another_has_written() -> None:
    store = contested(lambda s: write_topic(s, 3), times=1)
    (answer,) = expand_in(store, ("t", 5))
    assert isinstance(answer, TopicAssignment)
    assert numbers(store) == [0, 1, 2, 3, 4]


def test_only_topics_with_a_stale_version_are_written_again() -> None:
    store = contested(lambda s: write_topic(s, 2), times=1)
    write_topic(store, 1, "u")
    store_writes = 0
    batch = store.batch

    def counted(requests: Sequence[StoreRequest]) -> list[Answer]:
        nonlocal store_writes
        store_writes += sum(isinstance(each, SetData) for each in requests)
        return batch(requests)

    store.batch = counted  # type: ignore[method-assign]
    t, u = expand_in(store, ("t", 3), ("u", 2))
    assert isinstance(t, TopicAssignment)
    assert isinstance(u, TopicAssignment)
    assert (numbers(store), numbers(store, "u"), store_writes) == ([0, 1, 2], [0, 1], 3)


def test_an_expansion_that_another_has_made_is_refused() -> None:
    store = contested(lambda s: write_topic(s, 5), times=1)
    (answer,) = expand_in(store, ("t", 5))
    assert isinstance(answer, InvalidPartitions)


def test_an_expansion_of_a_topic_that_changes_each_time_is_refused_in_the_end() -> None:
    store = contested(lambda s: write_topic(s, 1), times=100)
    (answer,) = expand_in(store, ("t", 2))
    assert isinstance(answer, StaleVersion)
    assert numbers(store) == [0]


def test_as_many_attempts_are_made_as_promised() -> None:
    store = contested(lambda s: write_topic(s, 1), times=ATTEMPTS - 1)
    (answer,) = expand_in(store, ("t", 2))
    assert isinstance(answer, TopicAssignment)


def test_a_topic_that_is_deleted_before_the_write_is_unknown() -> None:
    def delete(store: MemoryStore) -> None:
        store.batch([Delete(topic_path("t"))])

    store = contested(delete, times=1)
    (answer,) = expand_in(store, ("t", 2))
    assert isinstance(answer, UnknownTopicOrPartition)


def test_partitions_are_charged_once_however_often_they_are_written() -> None:
    store = contested(lambda s: write_topic(s, 1), times=2)
    charged: list[int] = []
    changes_in(store).expand([ExpandRequest("t", 3)], charge=charged.append)
    assert charged == [2]


def test_an_expansion_beyond_the_quota_is_refused_and_spares_the_others() -> None:
    store = contested(lambda _: None, times=0)
    write_topic(store, 1, "u")

    def charge(count: int) -> None:
        if count > 1:
            raise QuotaExceeded("too many")

    requests = [ExpandRequest("t", 3), ExpandRequest("u", 2)]
    t, u = changes_in(store).expand(requests, charge=charge)
    assert isinstance(t, QuotaExceeded)
    assert isinstance(u, TopicAssignment)
    assert (numbers(store), numbers(store, "u")) == ([0], [0, 1])


def test_validating_an_expansion_writes_nothing() -> None:
    store = contested(lambda _: None, times=0)
    (answer,) = changes_in(store).expand([ExpandRequest("t", 3)], validate_only=True)
    assert isinstance(answer, TopicAssignment)
    assert list(answer.partitions) == [0, 1, 2]
    assert numbers(store) == [0]


# ---- create --------------------------------------------------------------------------------------


def test_a_created_topic_has_its_configs_its_replicas_and_its_id() -> None:
    store = contested(lambda _: None, times=0)
    # what an older topic of this name left behind
    store.batch([Create(topic_config_path("new"), b'{"version":1,"config":{"retention.ms":"1"}}')])
    request = CreateRequest("new", 2, 1, configs={"segment.ms": "7"})
    (written,) = changes_in(store).create([request])
    assert isinstance(written, WrittenTopic)
    assert written.topic_id == ID
    node, config = store.batch([GetData(topic_path("new")), GetData(topic_config_path("new"))])
    assert isinstance(node, Node)
    assert isinstance(config, Node)
    assert decode_topic("new", node.data) == TopicAssignment(at_rest({0: (ONE,), 1: (ONE,)}), ID)
    assert decode_config(config.data, "new") == {"segment.ms": "7"}


def test_a_topic_that_another_creates_first_exists() -> None:
    store = contested(lambda s: write_topic(s, 1, "new"), times=1)
    (answer,) = changes_in(store).create([CreateRequest("new", 2, 1)])
    assert isinstance(answer, TopicExists)
    assert numbers(store, "new") == [0]


def test_validating_a_creation_writes_nothing() -> None:
    store = contested(lambda _: None, times=0)
    (answer,) = changes_in(store).create([CreateRequest("new", 2, 1)], validate_only=True)
    assert isinstance(answer, WrittenTopic)
    assert answer.topic_id is None
    assert not isinstance(store.batch([GetData(topic_path("new"))])[0], Node)


# ---- delete and configs --------------------------------------------------------------------------


def test_a_topic_that_is_marked_already_counts_as_marked() -> None:
    store = contested(lambda _: None, times=0)
    request = DeleteRequest("t")
    for _ in range(2):
        assert changes_in(store).delete([request, request]) == [Marked("t"), Marked("t")]
    assert names_of(store) == {"t"}


def names_of(store: MemoryStore) -> set[str]:
    (found,) = store.batch([GetChildren(DELETE_TOPICS)])
    return set(found.names) if isinstance(found, Children) else set()


def test_a_deletion_that_is_refused_by_its_charge_is_not_marked() -> None:
    store = contested(lambda _: None, times=0)

    def charge(topic: str) -> None:
        raise QuotaExceeded(topic)

    (answer,) = changes_in(store).delete([DeleteRequest("t")], charge=charge)
    assert isinstance(answer, QuotaExceeded)
    assert names_of(store) == set()


def test_changed_configs_are_written_before_their_notification() -> None:
    store = contested(lambda _: None, times=0)
    for value in ("1", "2"):  # the node is created, then written
        change_configs(store.batch, {"topics/t": {"retention.ms": value}})
        (config,) = store.batch([GetData(topic_config_path("t"))])
        assert isinstance(config, Node)
        assert decode_config(config.data, "t") == {"retention.ms": value}
    (notes,) = store.batch([GetChildren(CONFIG_CHANGES)])
    assert isinstance(notes, Children)
    assert len(notes.names) == 2
