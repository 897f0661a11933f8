"""The controller process as a whole: real sockets and threads, a store in memory."""

from __future__ import annotations

import struct
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kedge.brokers.wire_forms import Address
from kedge.controller.settings import Ibp
from kedge.errors import InvalidConfiguration
from kedge.model import BrokerId
from kedge.runtime import LogEntry, create_persistent_nodes
from kedge.service import ControllerService, Options
from kedge.service.process import steady_wall_clock
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Children, GetChildren
from kedge.store.znodes import BROKER_IDS
from tests.endpoint.client import Client
from tests.endpoint.requests import counted, create_all
from tests.service.brokers import SMALL, DescribedBroker, until

ANYWHERE = Address("127.0.0.1", 0)
INTERNAL = {"__consumer_offsets", "__transaction_state"}


@pytest.fixture
def ensemble() -> MemoryEnsemble:
    made = MemoryEnsemble()
    create_persistent_nodes(MemoryStore(made))
    return made


@pytest.fixture
def broker() -> Iterator[DescribedBroker]:
    made = DescribedBroker(SMALL)
    yield made
    made.close()


def service_on(
    ensemble: MemoryEnsemble, options: Options | None = None, log: list[LogEntry] | None = None
) -> ControllerService:
    return ControllerService(
        options or Options("memory", ANYWHERE),
        log=(log if log is not None else []).append,
        open_store=lambda _: MemoryStore(ensemble),
    )


def test_a_broker_and_a_client_are_served(
    ensemble: MemoryEnsemble, broker: DescribedBroker
) -> None:
    broker.register(ensemble)
    with service_on(ensemble, Options("memory", ANYWHERE, metrics=ANYWHERE)) as service:
        until(lambda: service.active)
        until(lambda: service.loop.view.topics >= INTERNAL)
        live = [r.content.live_brokers for key, _, r in broker.heard if key == 6]
        assert {b.broker for b in live[-1]} == {1, 1000}
        with Client(service.at.port) as client:
            (topic,) = create_all(client, counted("t", -1, 1)).topics
            assert (topic.error_code, topic.num_partitions) == (0, 7)
            # a request that only a broker can answer
            client.socket.sendall(framed_request(key=10, version=0))
            assert client.receive() == struct.pack(">i", 9) + b"from the broker"
        assert service.traffic.requests["passed on"] == 1
        address = f"http://127.0.0.1:{service.metrics.port}/metrics"
        with urllib.request.urlopen(address, timeout=10) as answer:
            text = answer.read().decode()
        assert 'kedge_endpoint_requests_total{request="CreateTopics"} 1.0' in text
        assert 'kedge_broker_requests_outstanding{broker="1"} 0.0' in text
        assert "kedge_controller_topics 3.0" in text


def framed_request(*, key: int, version: int) -> bytes:
    payload = struct.pack(">hhih", key, version, 9, 1) + b"c"
    return struct.pack(">i", len(payload)) + payload


def test_settings_are_learned_from_the_first_broker_that_starts_later(
    ensemble: MemoryEnsemble, broker: DescribedBroker
) -> None:
    log: list[LogEntry] = []
    broker.settings = SMALL | {
        "delete.topic.enable": "false",
        "inter.broker.protocol.version": "2.5-IV0",
    }
    with service_on(ensemble, log=log) as service:
        until(lambda: service.active)
        assert service.loop.view.settings.delete_topics
        broker.register(ensemble)
        until(lambda: not service.loop.view.settings.delete_topics)
        until(lambda: not service.clients.backend.settings.deletion_enabled)
        until(lambda: service.loop.view.topics >= INTERNAL)
    said = [(entry.severity, entry.what) for entry in log if entry.event == "housekeeping"]
    assert ("info", "learned the brokers' settings") in said
    assert ("warning", "brokers speak 2.5-IV0, this controller 3.9") in said
    assert any(s == "error" and "2.5-IV0 is older than 2.6" in what for s, what in said)


def test_brokers_with_a_protocol_that_is_too_old_are_refused_at_the_start(
    ensemble: MemoryEnsemble, broker: DescribedBroker
) -> None:
    broker.settings = SMALL | {"inter.broker.protocol.version": "2.5-IV0"}
    broker.register(ensemble)
    before = threading.active_count()
    with pytest.raises(InvalidConfiguration, match=r"2\.5-IV0 is older than 2\.6"):
        service_on(ensemble).start()
    until(lambda: threading.active_count() <= before + 1)  # one of the broker's own


def test_an_active_controller_is_registered_for_brokers_before_3_0(
    ensemble: MemoryEnsemble, broker: DescribedBroker
) -> None:
    broker.settings = SMALL | {"inter.broker.protocol.version": "2.6-IV0"}
    broker.register(ensemble)
    admin = MemoryStore(ensemble)
    with service_on(ensemble) as service:
        assert service.loop.view.settings.ibp == Ibp((2, 6), 0)
        until(lambda: registered(admin) == {1, 1000})
        assert set(service.loop.view.registered) == {1}  # it is no broker to itself
        assert service.broker_addresses() == [("127.0.0.1", broker.port)]
    until(lambda: registered(admin) == {1})


def registered(store: MemoryStore) -> set[int]:
    (found,) = store.batch([GetChildren(BROKER_IDS)])
    return set(map(int, found.names)) if isinstance(found, Children) else set()


def test_internal_topics_wait_for_enough_brokers(
    ensemble: MemoryEnsemble, broker: DescribedBroker
) -> None:
    broker.settings = SMALL | {"offsets.topic.replication.factor": "2"}
    broker.register(ensemble)
    second = DescribedBroker(SMALL, broker=2)
    with service_on(ensemble) as service:
        until(lambda: "__transaction_state" in service.loop.view.topics)
        assert "__consumer_offsets" not in service.loop.view.topics
        second.register(ensemble)
        until(lambda: service.loop.view.topics >= INTERNAL)
    second.close()


def test_internal_topics_are_left_to_the_brokers_if_the_operator_wants_that(
    ensemble: MemoryEnsemble, broker: DescribedBroker
) -> None:
    broker.register(ensemble)
    options = Options("memory", ANYWHERE, prepare_internal_topics=False)
    with service_on(ensemble, options) as service, Client(service.at.port) as client:
        until(lambda: service.active)
        assert [t.error_code for t in create_all(client, counted("t", 1, 1)).topics] == [0]
        assert service.loop.view.topics == {"t"}


def test_a_request_to_stop_ends_the_wait(ensemble: MemoryEnsemble) -> None:
    service = service_on(ensemble)
    with service:
        assert not service.wait(0)
        service.request_stop()
        assert service.wait(10)


def test_a_second_process_takes_over_when_the_first_one_stops(
    ensemble: MemoryEnsemble, broker: DescribedBroker
) -> None:
    broker.register(ensemble)
    options = Options("memory", ANYWHERE)
    with service_on(ensemble, replace(options, id=BrokerId(1001))) as second:
        until(lambda: second.active)
        with service_on(ensemble, options) as first:
            until(lambda: first.loop.view.active_controller == 1001)
            assert not first.active
            second.stop()
            until(lambda: first.active)
            assert first.loop.view.epoch == 2


def test_the_clock_does_not_go_back() -> None:
    clock = steady_wall_clock()
    assert clock() <= clock()
