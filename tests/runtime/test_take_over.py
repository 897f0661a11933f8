"""Taking the role from a broker that holds it, and leaving it to whoever is no broker."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.brokers.recording import RecordingBrokers
from kedge.controller.events import Started
from kedge.controller.settings import Settings
from kedge.model import Broker, BrokerId, Endpoint, ReplicaAssignment
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.runtime.loop import Loop
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Create, GetData, Node
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    CONTROLLER_ONLY,
    BrokerRegistration,
    ControllerClaim,
    TopicAssignment,
    broker_path,
    decode_controller,
    decode_topic,
    encode_broker,
    encode_controller,
    encode_controller_epoch,
    encode_topic,
    topic_path,
)

ME = BrokerId(1000)


class Cluster:
    """Registered nodes, a holder of the role in epoch 7, and a controller of ours."""

    def __init__(
        self, holder: int, brokers: Sequence[int], *, controllers: Sequence[int] = ()
    ) -> None:
        self.ensemble = MemoryEnsemble()
        self.admin = MemoryStore(self.ensemble)
        create_persistent_nodes(self.admin)
        for node in (*brokers, *controllers):
            features = {CONTROLLER_ONLY: (1, 1)} if node in controllers else {}
            at = (Endpoint("PLAINTEXT", "127.0.0.1", 9092),)
            made = BrokerRegistration(Broker(BrokerId(node), endpoints=at), features=features)
            path = broker_path(BrokerId(node))
            self.admin.batch([Create(path, encode_broker(made), ephemeral=True)])
        claim = encode_controller(ControllerClaim(BrokerId(holder), 1))
        self.admin.batch([Create(CONTROLLER_EPOCH, encode_controller_epoch(7))])
        self.admin.batch([Create(CONTROLLER, claim, ephemeral=True)])

    def controller(self, *, take_over: bool, me: BrokerId = ME) -> Loop:
        store = MemoryStore(self.ensemble)
        settings = Settings(take_over=take_over, auto_rebalance=False)
        loop = Loop(me, store, RecordingBrokers(), now_ms=lambda: 0, settings=settings)
        loop.put(Started())
        loop.run_until_idle()
        return loop

    def holder(self) -> int:
        (node,) = self.admin.batch([GetData(CONTROLLER)])
        assert isinstance(node, Node)
        return decode_controller(node.data).broker

    def epoch(self) -> bytes | None:
        (node,) = self.admin.batch([GetData(CONTROLLER_EPOCH)])
        assert isinstance(node, Node)
        return node.data


def test_the_role_is_taken_from_a_broker_and_the_epoch_raised_once() -> None:
    cluster = Cluster(holder=2, brokers=[1, 2])
    loop = cluster.controller(take_over=True)
    assert loop.context.active
    assert (cluster.holder(), cluster.epoch(), loop.context.epoch) == (ME, b"8", 8)


def test_without_being_told_so_nobody_is_deposed() -> None:
    cluster = Cluster(holder=2, brokers=[1, 2])
    loop = cluster.controller(take_over=False)
    assert not loop.context.active
    assert (cluster.holder(), cluster.epoch()) == (2, b"7")


def test_a_controller_that_is_no_broker_is_left_alone() -> None:
    for cluster in (
        Cluster(holder=1001, brokers=[1, 2]),
        Cluster(holder=1001, brokers=[1, 2], controllers=[1001]),
    ):
        loop = cluster.controller(take_over=True)
        assert not loop.context.active
        assert (cluster.holder(), cluster.epoch()) == (1001, b"7")


def test_of_two_that_may_take_over_one_does_and_the_other_waits() -> None:
    cluster = Cluster(holder=2, brokers=[1, 2])
    first = cluster.controller(take_over=True)
    second = cluster.controller(take_over=True, me=BrokerId(1001))
    first.run_until_idle()
    assert (first.context.active, second.context.active) == (True, False)
    assert cluster.epoch() == b"8"
    first.close()
    second.run_until_idle()
    assert second.context.active
    assert cluster.epoch() == b"9"


def test_a_broker_that_was_faster_is_deposed_when_it_is_seen() -> None:
    cluster = Cluster(holder=1001, brokers=[1, 2])
    loop = cluster.controller(take_over=True)
    cluster.admin.close()  # the holder is gone, and the brokers with it; they come back at once
    again = Cluster.__new__(Cluster)
    again.ensemble, again.admin = cluster.ensemble, MemoryStore(cluster.ensemble)
    at = (Endpoint("PLAINTEXT", "127.0.0.1", 9092),)
    made = encode_broker(BrokerRegistration(Broker(BrokerId(2), endpoints=at)))
    claim = encode_controller(ControllerClaim(BrokerId(2), 1))
    again.admin.batch([Create(broker_path(BrokerId(2)), made, ephemeral=True)])
    again.admin.batch([Create(CONTROLLER, claim, ephemeral=True)])
    loop.run_until_idle()
    assert loop.context.active
    assert again.holder() == ME


def test_replicas_on_the_controllers_node_are_put_on_brokers_before_anybody_leads_them() -> None:
    cluster = Cluster(holder=2, brokers=[1, 2, 3])
    loop = cluster.controller(take_over=True)
    ids = {0: (1000, 1), 1: (2, 1000), 2: (3, 1)}
    record = TopicAssignment(
        {p: ReplicaAssignment(tuple(map(BrokerId, each))) for p, each in ids.items()}
    )
    cluster.admin.batch([Create(topic_path("t"), encode_topic(record))])
    loop.run_until_idle()
    (node,) = cluster.admin.batch([GetData(topic_path("t"))])
    assert isinstance(node, Node)
    stored = decode_topic("t", node.data)
    found = {p: each.replicas for p, each in stored.partitions.items()}
    assert found == {0: (2, 1), 1: (2, 3), 2: (3, 1)}
    assert {tp.partition: now.isr for tp, now in loop.context.leaderships.items()} == found
