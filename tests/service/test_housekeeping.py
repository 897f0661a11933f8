"""Housekeeping of a controller process, run step by step: no thread, no clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from kedge.brokers.wire_forms import Address
from kedge.controller.settings import Ibp, Settings
from kedge.endpoint import ClusterSettings
from kedge.errors import BrokerFailed
from kedge.model import BrokerId
from kedge.runtime import LogEntry, Loop
from kedge.service.broker_settings import BrokerSettings, ask_broker
from kedge.service.housekeeping import Housekeeping, ask_any_broker, registered_brokers
from kedge.service.options import Options
from kedge.store.memory import MemoryStore
from kedge.store.port import Create, Delete, GetData, Node
from kedge.store.znodes import CONTROLLER, broker_path, decode_broker
from tests.runtime.lab import Lab
from tests.service.brokers import SMALL, DescribedBroker

AT = Address("127.0.0.1", 9090)
NODE = BrokerId(100)


class NoClients:
    """The clients' part of a service; remembers the settings that it was given."""

    def __init__(self) -> None:
        self.adopted: list[ClusterSettings] = []

    def adopt(self, settings: ClusterSettings) -> None:
        self.adopted.append(settings)


@dataclass
class Service:
    """The parts of a controller process that housekeeping uses."""

    loop: Loop
    at: Address = AT
    options: Options = field(
        default_factory=lambda: Options("memory", AT, id=NODE, prepare_internal_topics=False)
    )
    clients: NoClients = field(default_factory=NoClients)


@dataclass
class Stage:
    """A controller of three brokers, and its housekeeping."""

    lab: Lab
    known: BrokerSettings | None = field(default_factory=lambda: BrokerSettings(SMALL))

    def __post_init__(self) -> None:
        self.log: list[LogEntry] = []
        self.admin = MemoryStore(self.lab.ensemble)
        self.service = Service(self.lab.loop)
        self.housekeeping = Housekeeping(self.service, self.admin, self.known, self.log.append)  # type: ignore[arg-type]

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(e.severity, e.what) for e in self.log if e.event == "housekeeping"]

    def registration(self) -> Node | None:
        (found,) = MemoryStore(self.lab.ensemble).batch([GetData(broker_path(NODE))])
        return found if isinstance(found, Node) else None


@pytest.fixture
def broker() -> Iterator[DescribedBroker]:
    made = DescribedBroker(SMALL, broker=9)
    yield made
    made.close()


def test_a_controller_that_has_all_it_needs_waits_longer() -> None:
    stage = Stage(Lab(3))
    assert stage.housekeeping.run_once() > 0
    assert stage.registration() is None
    assert stage.said == []


def test_the_controller_is_registered_once_while_it_is_active_and_brokers_are_old() -> None:
    stage = Stage(Lab(3, Settings(ibp=Ibp((2, 8)))))
    for _ in range(2):
        stage.housekeeping.run_once()
    node = stage.registration()
    assert node is not None
    shown = decode_broker(NODE, node.data).broker
    assert [(e.listener, e.host, e.port) for e in shown.endpoints] == [("PLAINTEXT", *AT)]
    assert [b.id for b in registered_brokers(stage.admin)] == [1, 2, 3]
    stage.lab.admin.batch([Delete(CONTROLLER)])
    stage.lab.admin.batch([Create(CONTROLLER, b'{"version":2,"brokerid":7,"timestamp":"1"}')])
    stage.lab.settle()
    stage.housekeeping.run_once()
    assert stage.registration() is None


def test_a_registration_that_was_lost_with_its_session_is_made_again() -> None:
    stage = Stage(Lab(3, Settings(ibp=Ibp((2, 8)))))
    stage.housekeeping.run_once()
    stage.admin.expire()
    assert stage.registration() is None
    stage.housekeeping.run_once()
    assert stage.registration() is not None


def test_trouble_with_the_store_is_logged_and_tried_again_later() -> None:
    stage = Stage(Lab(3, Settings(ibp=Ibp((2, 8)))))
    stage.admin.disconnect()
    assert stage.housekeeping.run_once() == 1.0
    ((severity, _),) = stage.said
    assert severity == "warning"
    stage.admin.reconnect()
    stage.housekeeping.run_once()
    assert stage.registration() is not None


def test_a_standby_does_nothing_but_log_its_role() -> None:
    lab = Lab(3, Settings(ibp=Ibp((2, 8))))
    lab.elect(101)
    stage = Stage(lab, known=None)
    assert stage.housekeeping.run_once() == 0
    assert [entry.what for entry in stage.log] == ["standby: controller is node 100, epoch 1"]
    assert stage.service.clients.adopted == []


def test_settings_are_learned_once_and_enter_through_the_queue(broker: DescribedBroker) -> None:
    lab = Lab(0)
    broker.settings = SMALL | {"delete.topic.enable": "false"}
    broker.register(lab.ensemble)
    lab.settle()
    stage = Stage(lab, known=None)
    stage.housekeeping.run_once()
    assert stage.said == [("info", "learned the brokers' settings")]
    assert [settings.deletion_enabled for settings in stage.service.clients.adopted] == [False]
    assert lab.loop.context.settings.delete_topics  # until the loop takes the event
    lab.settle()
    assert not lab.loop.view.settings.delete_topics
    assert stage.housekeeping.run_once() > 0
    assert len(stage.said) == 1


def test_nothing_is_learned_while_no_broker_answers() -> None:
    stage = Stage(Lab(1), known=None)  # registered, and nothing listens there
    assert stage.housekeeping.run_once() == 0
    assert stage.said == []
    assert stage.service.clients.adopted == []


def test_settings_are_those_of_the_first_broker_that_answers(broker: DescribedBroker) -> None:
    lab = Lab(2)
    broker.register(lab.ensemble)
    store = MemoryStore(lab.ensemble)
    found = ask_any_broker(store, None, excluding=NODE)
    assert found == BrokerSettings(SMALL)
    assert ask_any_broker(store, None, excluding=broker.broker.id) is None
    assert ask_any_broker(store, "SECURE", excluding=NODE) is None


def test_a_broker_that_refuses_to_describe_itself_is_reported() -> None:
    refusing = DescribedBroker(SMALL, error=31).listen()
    try:
        with pytest.raises(BrokerFailed, match="broker 1 did not return its settings: refused"):
            ask_broker(BrokerId(1), Address("127.0.0.1", refusing.port))
    finally:
        refusing.close()


def test_a_broker_that_closes_the_connection_is_reported() -> None:
    closing = DescribedBroker(SMALL, closes=True).listen()
    try:
        with pytest.raises(BrokerFailed, match="does not answer"):
            ask_broker(BrokerId(1), Address("127.0.0.1", closing.port))
    finally:
        closing.close()
