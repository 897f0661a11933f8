"""When what lies behind the endpoint fails or changes: the store, the session, the controller."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kedge.brokers.recording import RecordingBrokers
from kedge.controller.events import Event, ReassignmentsListed
from kedge.controller.settings import Settings
from kedge.endpoint import (
    ClusterSettings,
    ControllerBackend,
    Endpoint,
    EndpointThread,
    Images,
    KeptLogDirs,
    Surroundings,
)
from kedge.endpoint.asking import ask
from kedge.endpoint.images import CachedTopic, Image
from kedge.endpoint.stored_topics import Luck, StoredTopics
from kedge.endpoint.views import Views
from kedge.endpoint.waiting import Waiting
from kedge.errors import InvalidPartitions, RequestTimedOut, StaleVersion, UnknownTopicOrPartition
from kedge.model import Broker, BrokerId
from kedge.model import Endpoint as Address
from kedge.model.error_codes import ErrorCode
from kedge.runtime import ControllerView
from kedge.runtime.layout import prepare
from kedge.runtime.loop import Loop
from kedge.runtime.thread import LoopThread
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Answer, Create, Delete, GetData, Multi, Node, Request, SetData
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    BrokerRegistration,
    ControllerClaim,
    TopicAssignment,
    broker_path,
    decode_topic,
    encode_broker,
    encode_controller,
    encode_controller_epoch,
    encode_topic,
    topic_path,
)
from kedge.topics import ExpandRequest, at_rest
from tests.endpoint.client import Client
from tests.endpoint.endpoint_cluster import HOST, endpoint_cluster
from tests.endpoint.requests import (
    TOPIC,
    counted,
    create,
    create_all,
    delete,
    describe,
    elect,
    listed,
    metadata_of,
    reassign,
)

ONE, TWO = BrokerId(1), BrokerId(2)


# ---- the store -----------------------------------------------------------------------------------


def test_a_session_that_ended_is_begun_anew() -> None:
    with endpoint_cluster(brokers=1) as cluster, Client(cluster.ports[ONE]) as client:
        create(client, "t", [[1]])
        cluster.store.expire()
        create(client, "u", [[1]])
        assert delete(client, "t") == [0]


def test_a_store_that_is_away_is_the_servers_fault_and_passes() -> None:
    with endpoint_cluster(brokers=1) as cluster, Client(cluster.ports[ONE]) as client:
        create(client, "t", [[1]])
        cluster.store.disconnect()
        failed = ErrorCode.UNKNOWN_SERVER_ERROR
        assert [t.error_code for t in create_all(client, counted("u", 1, 1)).topics] == [failed]
        assert delete(client, "t") == [failed]
        assert describe(client, TOPIC, "t") == (failed, {})
        assert metadata_of(client, "t").topics[0].error_code == 0
        cluster.store.reconnect()
        create(client, "u", [[1]])


# ---- the controller ------------------------------------------------------------------------------


def test_a_controller_that_was_replaced_refuses_everything() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[ONE]) as client:
        create(client, "t", [[1, 2]])
        claim = encode_controller(ControllerClaim(BrokerId(7), 0))
        taken = Create(CONTROLLER, claim, ephemeral=True)
        raised = SetData(CONTROLLER_EPOCH, encode_controller_epoch(9))
        cluster.admin.batch([Multi((Delete(CONTROLLER), taken, raised))])
        cluster.until(lambda: not cluster.loop.view.active)
        refused = ErrorCode.NOT_CONTROLLER
        assert [t.error_code for t in create_all(client, counted("u", 1, 1)).topics] == [refused]
        assert reassign(client, {("t", 0): [1, 3]}) == (refused, {})
        assert elect(client, ("t", 0)) == (0, {("t", 0): refused})


def test_clients_find_the_controller_that_takes_over() -> None:
    ensemble = MemoryEnsemble()
    admin = MemoryStore(ensemble)
    prepare(admin)
    images = Images(RecordingBrokers())

    def candidate(me: BrokerId) -> LoopThread:
        store = MemoryStore(ensemble)
        return LoopThread(Loop(me, store, images, now_ms=lambda: int(time.monotonic() * 1000)))

    first, second = candidate(ONE), candidate(TWO)
    controllers = {ONE: first.loop, TWO: second.loop}
    around = Surroundings(MemoryStore(ensemble), images, controllers, KeptLogDirs(images), "id")
    backend = ControllerBackend(around)
    with EndpointThread(lambda: Endpoint(backend)) as endpoint:
        ports = {node: endpoint.open(node, HOST) for node in (ONE, TWO)}
        for node, port in ports.items():
            me = Broker(node, endpoints=(Address("PLAINTEXT", HOST, port),))
            data = encode_broker(BrokerRegistration(me))
            admin.batch([Create(broker_path(node), data, ephemeral=True)])
        first.start()
        wait_for(lambda: len(images.image(ONE).brokers) == 2)
        second.start()
        with Client(ports[ONE]) as one, Client(ports[TWO]) as two:
            create(one, "t", [[1, 2]])
            assert metadata_of(two, "t").controller_id == 1
            reassign(one, {("t", 0): [1]})
            first.stop()
            wait_for(lambda: images.image(TWO).controller == TWO)
            assert metadata_of(one, "t").controller_id == 2
            create(two, "u", [[1, 2]])
            assert listed(two) == {}
            topics = create_all(one, counted("v", 1, 1)).topics
            assert [t.error_code for t in topics] == [ErrorCode.NOT_CONTROLLER]
        second.stop()
    backend.close()


def wait_for(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not done():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.002)


class Silent:
    """A controller that never answers."""

    view = ControllerView(Settings())

    def put(self, event: Event, replied: Callable[[Any], None] | None = None) -> None:
        pass


def test_a_controller_that_does_not_answer_is_waited_for_only_so_long() -> None:
    with pytest.raises(RequestTimedOut, match="20 ms"):
        asyncio.run(ask(Silent(), ReassignmentsListed(), 20))


# ---- waiting -------------------------------------------------------------------------------------


def test_whoever_waits_is_woken_from_another_thread() -> None:
    waiting, done = Waiting(), threading.Event()

    def bring_about() -> None:
        done.set()
        for _ in range(3):
            waiting.wake()

    async def wait() -> bool:
        asyncio.get_running_loop().call_later(
            0.01, lambda: threading.Thread(target=bring_about).start()
        )
        return await waiting.until(done.is_set, 10_000)

    assert asyncio.run(wait())


def test_whoever_waits_in_vain_is_told_so() -> None:
    waiting = Waiting()
    waiting.wake()  # nobody waits: nobody is woken
    assert not asyncio.run(waiting.until(lambda: False, 10))
    assert not asyncio.run(waiting.until(lambda: False, -5))
    assert asyncio.run(waiting.until(lambda: True, 0))


# ---- others who write at the same time -----------------------------------------------------------


class Meddled(MemoryStore):
    """A store in which somebody else writes just before we do, so many times."""

    def __init__(self, meddle: Callable[[MemoryStore], None], times: int) -> None:
        super().__init__()
        self._meddle = meddle
        self._times = times

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        if self._times and any(isinstance(each, SetData) for each in requests):
            self._times -= 1
            self._meddle(self)
        return super().batch(requests)


def write_topic(store: MemoryStore, partitions: int) -> None:
    lists = {number: (ONE,) for number in range(partitions)}
    data = encode_topic(TopicAssignment(at_rest(lists), "A" * 22))
    store.ensemble.batch(store.session, [Create(topic_path("t"), data)])
    store.ensemble.batch(store.session, [SetData(topic_path("t"), data)])


def expand_in(store: MemoryStore, total: int) -> object:
    settings = ClusterSettings()
    luck = Luck(lambda _: 0, lambda size: bytes(range(1, size + 1)))
    topics = StoredTopics(store, Views(store, lambda: settings), lambda: settings, luck)
    image = Image(ONE, {ONE: Broker(ONE)}, {"t": CachedTopic("t", None, {})})
    request = ExpandRequest("t", total)
    (answer,) = topics.expand([request], image, validate_only=False, charge=lambda _: None)
    return answer


def test_an_expansion_judges_again_what_another_has_written() -> None:
    store = Meddled(lambda s: write_topic(s, 3), times=1)
    prepare(store)
    write_topic(store, 1)
    assert isinstance(expand_in(store, 5), TopicAssignment)
    (node,) = store.batch([GetData(topic_path("t"))])
    assert isinstance(node, Node)
    assert list(decode_topic("t", node.data).partitions) == [0, 1, 2, 3, 4]


def test_an_expansion_that_another_has_made_is_refused() -> None:
    store = Meddled(lambda s: write_topic(s, 5), times=1)
    prepare(store)
    write_topic(store, 1)
    assert isinstance(expand_in(store, 5), InvalidPartitions)


def test_an_expansion_gives_up_on_a_topic_that_never_rests() -> None:
    store = Meddled(lambda s: write_topic(s, 1), times=100)
    prepare(store)
    write_topic(store, 1)
    assert isinstance(expand_in(store, 2), StaleVersion)


def test_a_topic_that_vanishes_meanwhile_is_unknown() -> None:
    def delete_topic(store: MemoryStore) -> None:
        store.batch([Delete(topic_path("t"))])

    store = Meddled(delete_topic, times=1)
    prepare(store)
    write_topic(store, 1)
    assert isinstance(expand_in(store, 2), UnknownTopicOrPartition)
