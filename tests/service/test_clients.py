"""Orders of clients to a controller that has just taken over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kedge.brokers.wire import WireBrokers
from kedge.brokers.wire_forms import Address
from kedge.controller.settings import Settings
from kedge.model import BrokerId
from kedge.protocol.messages import CreateTopicsRequest, CreateTopicsResponse
from kedge.runtime import Loop, LoopThread, create_persistent_nodes
from kedge.service.clients import Clients
from kedge.service.node_cache import NodeMetadataCaches
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Create
from kedge.store.znodes import BrokerRegistration, broker_path, encode_broker
from tests.brokers.fake_broker import FakeBroker
from tests.endpoint.client import answer_in, frame_of
from tests.service.brokers import until

NODE = BrokerId(1000)
VERSION = 5


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    made = FakeBroker()
    made.hold.clear()
    yield made.listen()
    made.close()


@pytest.fixture
def clients(broker: FakeBroker) -> Iterator[Clients]:
    ensemble = MemoryEnsemble()
    store = MemoryStore(ensemble)
    create_persistent_nodes(store)
    shown = encode_broker(BrokerRegistration(broker.broker))
    store.batch([Create(broker_path(broker.broker.id), shown, ephemeral=True)])
    with ExitStack() as stack:
        wire = WireBrokers(node=NODE, at=Address("127.0.0.1", 9090))
        stack.callback(wire.close)
        caches = NodeMetadataCaches(wire, NODE)
        settings = Settings(auto_rebalance=False)
        loop = Loop(NODE, MemoryStore(ensemble), caches, now_ms=lambda: 0, settings=settings)
        stack.enter_context(LoopThread(loop))
        made = Clients(NODE, store, caches, loop)
        stack.callback(made.close)
        while not loop.view.active:
            loop.wait(0.01)
        yield made


def order_while_held(clients: Clients, broker: FakeBroker, *, factor: int) -> list[tuple[str, int]]:
    """Order a topic while a broker's answers are held, then let them go; names and error codes."""
    wanted = CreateTopicsRequest.CreatableTopic(
        name="early", num_partitions=2, replication_factor=factor, assignments=[], configs=[]
    )
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=False)
    payload = frame_of(request, VERSION, 1, "test")[4:]

    async def order() -> bytes:
        answering = asyncio.ensure_future(clients.answer(payload))
        await asyncio.sleep(0.2)
        assert not answering.done()
        broker.hold.set()
        return (await answering).frame

    answer = answer_in(asyncio.run(order())[4:], CreateTopicsResponse, VERSION, 1)
    return [(str(topic.name), topic.error_code) for topic in answer.topics]


def test_a_topic_ordered_while_brokers_know_nothing_yet_is_made_when_they_do(
    clients: Clients, broker: FakeBroker
) -> None:
    assert order_while_held(clients, broker, factor=1) == [("early", 0)]


def test_a_broker_that_another_has_not_heard_of_yet_is_waited_for(
    clients: Clients, broker: FakeBroker
) -> None:
    broker.hold.set()
    until(lambda: bool(clients._caches.cache(NODE).brokers))
    broker.hold.clear()
    second = FakeBroker(broker=2).listen()
    shown = encode_broker(BrokerRegistration(second.broker))
    store = clients.backend.store
    store.batch([Create(broker_path(second.broker.id), shown, ephemeral=True)])
    until(lambda: len(clients._loop.view.live) == 2)
    assert order_while_held(clients, broker, factor=2) == [("early", 0)]
    second.close()
