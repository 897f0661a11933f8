"""Periodic work of a controller that is not a broker: settings, internal topics, registration.

Brokers create Kafka's internal topics by themselves when a client first looks for a coordinator,
and choose replicas among all nodes that they know, the controller's among them. So these topics are
created here before that, with the brokers' own numbers of partitions and replicas: a coordinator
never loads a topic with another number of partitions.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Protocol

from kedge.brokers.wire_forms import PLAINTEXT, Address, address_of
from kedge.controller.events import SettingsChanged
from kedge.controller.settings import Ibp
from kedge.endpoint import ClusterSettings, ControllerBackend
from kedge.errors import InvalidConfiguration, KedgeError, SessionExpired
from kedge.model import Broker, BrokerId, Endpoint
from kedge.runtime import LogEntry, Loop, Sink
from kedge.service.broker_settings import BrokerSettings, ask_broker
from kedge.service.clients import Clients
from kedge.service.options import Options, supported_protocol
from kedge.service.role_log import RoleLog
from kedge.store.port import (
    Children,
    Create,
    Delete,
    GetChildren,
    GetData,
    Node,
    Session,
    SessionChanged,
    Store,
    StoreEvent,
)
from kedge.store.znodes import (
    BROKER_IDS,
    CONTROLLER_ONLY,
    BrokerRegistration,
    broker_id_of,
    broker_path,
    decode_broker,
    encode_broker,
)
from kedge.topics.names import CONSUMER_OFFSETS, TRANSACTION_STATE

_FOUND_BY_METADATA = Ibp((3, 0), 0)  # brokers from here on find the controller in their metadata
INTERNAL_TOPICS = (CONSUMER_OFFSETS, TRANSACTION_STATE)
_INTERVAL_S = 0.1
_EVENT = "housekeeping"


class Service(Protocol):
    """The parts of a controller process that housekeeping uses."""

    at: Address
    options: Options
    loop: Loop
    clients: Clients


class Housekeeping:
    """A thread that learns the brokers' settings and creates the internal topics."""

    def __init__(
        self, service: Service, admin: Store, known: BrokerSettings | None, log: Sink
    ) -> None:
        self._service = service
        self._admin = admin
        self._known = known
        self._log = log
        self._is_registered = False
        self._has_expired = False
        admin.listen(self._on_store_event)
        self._role = RoleLog(service.loop, admin, log)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_INTERVAL_S):
            self._stopping.wait(self.run_once())

    def run_once(self) -> float:
        """Do what is due; how many seconds to wait beyond the interval."""
        try:
            if self._has_expired:
                self._renew_session()
            self._role.update()
            self._register()
            if self._service.loop.view.active and self._is_done():
                return 5 * _INTERVAL_S
        except SessionExpired:
            self._has_expired = True
        except KedgeError as error:
            self._log(LogEntry(_EVENT, str(error), "warning"))
            return 1.0
        return 0.0

    def _on_store_event(self, event: StoreEvent) -> None:
        if isinstance(event, SessionChanged) and event.state is Session.EXPIRED:
            self._has_expired = True

    def _renew_session(self) -> None:
        """Begin a new session; the registration has ended with the old one."""
        self._admin.renew_session()
        self._has_expired = self._is_registered = False

    def _register(self) -> None:
        """Register the active controller as a node: brokers before 3.0 look for it there when they
        shut down."""
        service = self._service
        view, node = service.loop.view, service.options.id
        wanted = view.active and view.settings.ibp < _FOUND_BY_METADATA
        if wanted and not self._is_registered and view.registered:
            endpoints = [e for known in view.registered.values() for e in known.broker.endpoints]
            plain = sorted({e.listener for e in endpoints if e.protocol == PLAINTEXT})
            at = tuple(Endpoint(name, *service.at) for name in plain)
            registration = BrokerRegistration(
                Broker(node, endpoints=at), features={CONTROLLER_ONLY: (1, 1)}
            )
            data = encode_broker(registration)
            self._admin.batch([Create(broker_path(node), data, ephemeral=True)])
            self._is_registered = True
        elif self._is_registered and not wanted:
            self._admin.batch([Delete(broker_path(node))])
            self._is_registered = False

    def _is_done(self) -> bool:
        """Learn settings, then create internal topics; whether nothing is left to do."""
        if self._known is None:
            self._known = self._learn()
            return False
        if not self._service.options.prepare_internal_topics:
            return True
        topics = self._service.loop.view.topics
        missing = [topic for topic in INTERNAL_TOPICS if topic not in topics]
        return all([self._create(topic) for topic in missing])

    def _learn(self) -> BrokerSettings | None:
        """The brokers' settings, passed on to the controller and to the clients' backend."""
        service = self._service
        known = ask_any_broker(self._admin, service.options.listener, excluding=service.options.id)
        if known is not None:
            settings = known.for_controller(service.loop.view.settings)
            service.loop.put(SettingsChanged(settings))
            service.clients.adopt(known.for_clients())
            self._log(LogEntry(_EVENT, "learned the brokers' settings"))
            self._compare_protocols(known.protocol, settings.ibp)
        return known

    def _compare_protocols(self, spoken: Ibp | None, ours: Ibp) -> None:
        """Log a protocol of the brokers that is not this controller's, or too old to be spoken."""
        if spoken is None or spoken == ours:
            return
        self._log(LogEntry(_EVENT, f"brokers speak {spoken}, this controller {ours}", "warning"))
        try:
            supported_protocol(spoken)
        except InvalidConfiguration as error:
            self._log(LogEntry(_EVENT, str(error), "error"))

    def _create(self, topic: str) -> bool:
        """Create a topic if enough brokers are live; whether the request was made."""
        backend, live = self._service.clients.backend, len(self._service.loop.view.live)
        if live < _replication_factor(backend.settings, topic):
            return False
        outcome = asyncio.run(_auto_create(backend, self._service.options.id, topic))
        self._log(LogEntry(_EVENT, f"prepared {topic}", details={"answer": outcome}))
        return True


def _replication_factor(settings: ClusterSettings, topic: str) -> int:
    created = settings.auto_create
    internal = created.offsets if topic == CONSUMER_OFFSETS else created.transactions
    return internal.replication_factor


async def _auto_create(backend: ControllerBackend, node: BrokerId, topic: str) -> str:
    found = await backend.topics.auto_create(
        node, [topic], client_allows=True, for_coordinator=True, charge=lambda _: None
    )
    return "; ".join(map(str, found.values()))


def ask_any_broker(
    store: Store, listener: str | None, *, excluding: BrokerId
) -> BrokerSettings | None:
    """The settings of the first broker that answers; None where none does."""
    for broker in registered_brokers(store):
        at = address_of(broker, listener)
        if broker.id != excluding and at is not None:
            try:
                return BrokerSettings(ask_broker(broker.id, at))
            except KedgeError:
                continue  # it may be starting or stopping; another may answer
    return None


def registered_brokers(store: Store) -> list[Broker]:
    """The brokers that are registered in the store."""
    (answer,) = store.batch([GetChildren(BROKER_IDS)])
    names = answer.names if isinstance(answer, Children) else ()
    ids = [broker_id_of(name) for name in names]
    nodes = store.batch([GetData(broker_path(broker)) for broker in ids])
    return [
        found.broker
        for broker, node in zip(ids, nodes, strict=True)
        if isinstance(node, Node)
        and CONTROLLER_ONLY not in (found := decode_broker(broker, node.data)).features
    ]
