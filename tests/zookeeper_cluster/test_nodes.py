"""The nodes that the adapter writes, and the rounds that it needs, on a store in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kedge.cluster.port import (
    BROKER_DEFAULTS,
    ConfigChange,
    ConfigOp,
    Election,
    TopicCreation,
    TopicExpansion,
    topic_resource,
)
from kedge.errors import (
    InvalidConfiguration,
    KedgeError,
    ReassignmentInProgress,
    TopicExists,
    UnknownTopicOrPartition,
    UnsupportedByCluster,
)
from kedge.model import Broker, BrokerId, Endpoint, TopicPartition
from kedge.store import MemoryStore, znodes
from kedge.store.port import (
    Answer,
    Children,
    Create,
    GetChildren,
    GetData,
    Node,
    Request,
    SetData,
)
from kedge.zookeeper_cluster import ZooKeeperCluster

B1, B2, B3 = map(BrokerId, (1, 2, 3))
T0 = TopicPartition("t", 0)
SEGMENT = ConfigChange("segment.ms", value="9")

Call = Callable[[ZooKeeperCluster, list[str]], object]


@pytest.fixture
def store() -> MemoryStore:
    """A store with three brokers and no controller."""
    made = MemoryStore()
    made.batch([Create(path) for path in znodes.persistent_paths()])
    for broker in (B1, B2, B3):
        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9090 + broker)
        registration = znodes.BrokerRegistration(Broker(broker, endpoints=(endpoint,)))
        made.batch([Create(znodes.broker_path(broker), znodes.encode_broker(registration))])
    return made


@pytest.fixture
def cluster(store: MemoryStore) -> ZooKeeperCluster:
    made = ZooKeeperCluster(store)
    order = TopicCreation("t", assignment={0: (B1, B2)}, configs={"retention.ms": "5"})
    assert made.create_topics([order]) == {"t": None}
    return made


def data(store: MemoryStore, path: str) -> bytes | None:
    (answer,) = store.batch([GetData(path)])
    return answer.data if isinstance(answer, Node) else None


def test_a_topic_is_two_nodes(store: MemoryStore, cluster: ZooKeeperCluster) -> None:
    assert data(store, "/config/topics/t") == b'{"version":1,"config":{"retention.ms":"5"}}'
    written = znodes.decode_topic("t", data(store, "/brokers/topics/t"))
    assert {p: each.replicas for p, each in written.partitions.items()} == {0: (B1, B2)}
    assert cluster.topic_names() == {"t": False}
    assert cluster.describe().alive == {1, 2, 3}


def test_a_topic_grows_and_keeps_what_it_has(store: MemoryStore, cluster: ZooKeeperCluster) -> None:
    assert cluster.expand_topics([TopicExpansion("t", 2, [(B3, B1)])]) == {"t": None}
    written = znodes.decode_topic("t", data(store, "/brokers/topics/t"))
    assert {p: each.replicas for p, each in written.partitions.items()} == {
        0: (B1, B2),
        1: (B3, B1),
    }


def test_a_deletion_is_a_mark(store: MemoryStore, cluster: ZooKeeperCluster) -> None:
    answers = cluster.delete_topics(["t", "nothing"])
    assert answers["t"] is None
    assert isinstance(answers["nothing"], UnknownTopicOrPartition)
    (marked,) = store.batch([GetChildren("/admin/delete_topics")])
    assert marked == Children(("t",))


def test_validating_writes_nothing(store: MemoryStore, cluster: ZooKeeperCluster) -> None:
    assert cluster.create_topics([TopicCreation("u", 1, 1)], validate_only=True) == {"u": None}
    assert cluster.expand_topics([TopicExpansion("t", 5)], validate_only=True) == {"t": None}
    assert data(store, "/brokers/topics/u") is None
    assert len(znodes.decode_topic("t", data(store, "/brokers/topics/t")).partitions) == 1


def test_what_the_judges_refuse_is_not_written(
    store: MemoryStore, cluster: ZooKeeperCluster
) -> None:
    answers = cluster.create_topics(
        [TopicCreation("t"), TopicCreation("v", configs={"nonsense": "1"})]
    )
    kinds = [type(answer) for answer in answers.values()]
    assert kinds == [TopicExists, InvalidConfiguration]
    assert data(store, "/config/topics/v") is None


def test_changed_configs_are_written_and_announced(
    store: MemoryStore, cluster: ZooKeeperCluster
) -> None:
    steps = [ConfigChange("retention.ms", ConfigOp.DELETE), ConfigChange("segment.ms", value="9")]
    topic = topic_resource("t")
    rate = [ConfigChange("leader.replication.throttled.rate", value="7")]
    answers = cluster.alter_configs({topic: steps, BROKER_DEFAULTS: rate})
    assert answers == {topic: None, BROKER_DEFAULTS: None}
    assert data(store, "/config/topics/t") == b'{"version":1,"config":{"segment.ms":"9"}}'
    (changes,) = store.batch([GetChildren("/config/changes")])
    assert isinstance(changes, Children)
    told = [data(store, f"/config/changes/{name}") for name in changes.names]
    assert told == [
        b'{"version":2,"entity_path":"topics/t"}',
        b'{"version":2,"entity_path":"brokers/<default>"}',
    ]
    entries = cluster.describe_configs([BROKER_DEFAULTS])[BROKER_DEFAULTS]
    assert not isinstance(entries, KedgeError)
    assert [entry.value for entry in entries] == ["7"]


def test_one_order_to_move_at_a_time(store: MemoryStore, cluster: ZooKeeperCluster) -> None:
    assert cluster.alter_reassignments({T0: (B2, B3)}) == {T0: None}
    assert data(store, "/admin/reassign_partitions") == (
        b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,3]}]}'
    )
    assert cluster.reassignments()[T0].adding == (B3,)
    refusal = cluster.alter_reassignments({T0: (B1,)})[T0]
    assert isinstance(refusal, ReassignmentInProgress)


def test_calls_that_zookeeper_never_had_are_refused(cluster: ZooKeeperCluster) -> None:
    cluster.alter_reassignments({T0: (B2, B3)})
    for ask in (
        lambda: cluster.alter_reassignments({T0: None}),
        lambda: cluster.elect_leaders(Election.UNCLEAN),
        lambda: cluster.log_dirs([B1]),
    ):
        with pytest.raises(UnsupportedByCluster, match="through ZooKeeper"):
            ask()


class CountedStore(MemoryStore):
    """A session that counts its batches."""

    rounds = 0

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        self.rounds += 1
        return super().batch(requests)


@pytest.mark.parametrize(
    ("call", "rounds"),
    [
        (lambda c, names: c.describe_topics(names), 2),
        (lambda c, names: c.describe_configs([topic_resource(n) for n in names]), 2),
        (lambda c, names: c.expand_topics([TopicExpansion(n, 2) for n in names]), 4),
        (lambda c, names: c.delete_topics(names), 3),
        (lambda c, names: c.alter_configs({topic_resource(n): [SEGMENT] for n in names}), 5),
        (lambda c, names: c.reassignments(), 3),
        (lambda c, names: c.create_topics([TopicCreation(f"new-{n}", 1, 1) for n in names]), 5),
    ],
    ids=["describe", "configs", "expand", "delete", "alter", "reassignments", "create"],
)
@pytest.mark.parametrize("count", [1, 40])
def test_the_rounds_of_a_call_do_not_grow_with_its_topics(
    store: MemoryStore, call: Call, rounds: int, count: int
) -> None:
    names = [f"topic-{i}" for i in range(count)]
    ZooKeeperCluster(store).create_topics([TopicCreation(name, 1, 2) for name in names])
    counted = CountedStore(store.ensemble)
    call(ZooKeeperCluster(counted), names)
    assert counted.rounds == rounds


def test_moves_that_cannot_be_are_refused_beside_those_that_start(
    store: MemoryStore, cluster: ZooKeeperCluster
) -> None:
    wanted: dict[int, tuple[BrokerId, ...] | None] = {0: (B2,), 7: (B2,)}
    answers = cluster.alter_reassignments({TopicPartition("t", p): t for p, t in wanted.items()})
    assert answers[T0] is None
    assert isinstance(answers[TopicPartition("t", 7)], UnknownTopicOrPartition)
    assert b'"partition":7' not in (data(store, "/admin/reassign_partitions") or b"")


def test_an_expansion_is_validated_and_tried_again_when_another_client_has_written(
    store: MemoryStore, cluster: ZooKeeperCluster
) -> None:
    path, batch, contested = znodes.topic_path("t"), store.batch, [True]

    def written_before(requests: Sequence[Request]) -> list[Answer]:
        if contested and any(isinstance(each, SetData) for each in requests):
            contested.pop()
            batch([SetData(path, data(store, path))])
        return batch(requests)

    store.batch = written_before  # type: ignore[method-assign]
    assert ZooKeeperCluster(store).expand_topics([TopicExpansion("t", 2)]) == {"t": None}
    assert not contested
    node = data(store, path)
    assert list(znodes.decode_topic("t", node).partitions) == [0, 1]
