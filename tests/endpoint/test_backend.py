"""When what lies behind the endpoint fails or changes: the store, the session, the controller."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from kedge.brokers.recording import RecordingBrokers
from kedge.controller.events import Event, ReassignmentsListed
from kedge.controller.settings import Settings
from kedge.endpoint import (
    BackendDeps,
    ControllerBackend,
    Endpoint,
    EndpointThread,
    FakeLogDirs,
    MetadataCaches,
)
from kedge.endpoint.threads import ChangeNotifier, ask_controller
from kedge.errors import RequestTimedOut
from kedge.model import Broker, BrokerId
from kedge.model import Endpoint as Address
from kedge.model.error_codes import ErrorCode
from kedge.runtime import ControllerView
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.runtime.loop import Loop
from kedge.runtime.thread import LoopThread
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Create, Delete, Multi, SetData
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    BrokerRegistration,
    ControllerClaim,
    broker_path,
    encode_broker,
    encode_controller,
    encode_controller_epoch,
)
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


def test_an_expired_session_is_renewed() -> None:
    with endpoint_cluster(brokers=1) as cluster, Client(cluster.ports[ONE]) as client:
        create(client, "t", [[1]])
        cluster.store.expire()
        create(client, "u", [[1]])
        assert delete(client, "t") == [0]


def test_an_unavailable_store_is_a_server_error_until_it_is_back() -> None:
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
    create_persistent_nodes(admin)
    images = MetadataCaches(RecordingBrokers())

    def candidate(me: BrokerId) -> LoopThread:
        store = MemoryStore(ensemble)
        return LoopThread(Loop(me, store, images, now_ms=lambda: int(time.monotonic() * 1000)))

    first, second = candidate(ONE), candidate(TWO)
    controllers = {ONE: first.loop, TWO: second.loop}
    deps = BackendDeps(MemoryStore(ensemble), images, controllers, FakeLogDirs(images), "id")
    backend = ControllerBackend(deps)
    with EndpointThread(lambda: Endpoint(backend)) as endpoint:
        ports = {node: endpoint.open(node, HOST) for node in (ONE, TWO)}
        for node, port in ports.items():
            me = Broker(node, endpoints=(Address("PLAINTEXT", HOST, port),))
            data = encode_broker(BrokerRegistration(me))
            admin.batch([Create(broker_path(node), data, ephemeral=True)])
        first.start()
        wait_for(lambda: len(images.cache(ONE).brokers) == 2)
        second.start()
        with Client(ports[ONE]) as one, Client(ports[TWO]) as two:
            create(one, "t", [[1, 2]])
            assert metadata_of(two, "t").controller_id == 1
            reassign(one, {("t", 0): [1]})
            first.stop()
            wait_for(lambda: images.cache(TWO).controller == TWO)
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
        asyncio.run(ask_controller(Silent(), ReassignmentsListed(), 20))


# ---- changes of metadata -------------------------------------------------------------------------


def test_a_waiting_request_is_woken_from_another_thread() -> None:
    changes, done = ChangeNotifier(), threading.Event()

    def bring_about() -> None:
        done.set()
        for _ in range(3):
            changes.notify()

    async def wait() -> bool:
        asyncio.get_running_loop().call_later(
            0.01, lambda: threading.Thread(target=bring_about).start()
        )
        return await changes.wait_until(done.is_set, 10_000)

    assert asyncio.run(wait())


def test_a_wait_ends_when_its_time_is_up() -> None:
    changes = ChangeNotifier()
    changes.notify()  # without any waiter
    assert not asyncio.run(changes.wait_until(lambda: False, 10))
    assert not asyncio.run(changes.wait_until(lambda: False, -5))
    assert asyncio.run(changes.wait_until(lambda: True, 0))
