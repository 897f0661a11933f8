"""Looking after a cluster whose controller is no broker.

Brokers make Kafka's internal topics by themselves when first asked for a coordinator, and choose
replicas among all nodes that they know, the controller's among them. So these topics are made here
before anybody asks, as large as the brokers are set to: a coordinator never loads a topic with
another number of partitions.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Protocol

from kedge.brokers.wire_forms import PLAINTEXT, Address, address_of
from kedge.controller.settings import Ibp
from kedge.endpoint import ClusterSettings, ControllerBackend
from kedge.errors import KedgeError, SessionExpired
from kedge.model import Broker, BrokerId, Endpoint
from kedge.runtime import LogEntry, Loop, Sink
from kedge.service.broker_settings import BrokerSettings, ask_broker
from kedge.service.clients import Clients
from kedge.service.options import Options
from kedge.service.role_log import RoleLog
from kedge.store.port import Children, Create, Delete, GetChildren, GetData, Node, Store
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

_FOUND_BY_METADATA = Ibp((3, 0), 0)  # brokers from here on look in their metadata
INTERNAL = (CONSUMER_OFFSETS, TRANSACTION_STATE)
_LOOK_S = 0.1


class Looked(Protocol):
    """What the steward looks after."""

    at: Address
    options: Options
    loop: Loop
    clients: Clients


class Steward:
    """A thread that learns the brokers' settings and sees to the internal topics."""

    def __init__(
        self, service: Looked, admin: Store, known: BrokerSettings | None, log: Sink
    ) -> None:
        self._service = service
        self._admin = admin
        self._known = known
        self._log = log
        self._shown = False
        self._role = RoleLog(service.loop, admin, log)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="steward", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            try:
                self._role.look()
                self._show()
                if self._service.loop.context.active and self._look():
                    self._stopping.wait(5 * _LOOK_S)
            except SessionExpired:
                self._shown = False
                with contextlib.suppress(KedgeError):
                    self._admin.renew_session()
            except KedgeError as trouble:
                self._log(LogEntry("steward", str(trouble), "warning"))
                self._stopping.wait(1.0)

    def _show(self) -> None:
        """Register the controller while it holds the role, for brokers of before 3.0: they look
        for it there when they want to leave."""
        service = self._service
        context, node = service.loop.context, service.options.id
        wanted = context.active and context.settings.ibp < _FOUND_BY_METADATA
        if wanted and not self._shown and context.registered:
            endpoints = [e for known in context.registered.values() for e in known.broker.endpoints]
            plain = sorted({e.listener for e in endpoints if e.protocol == PLAINTEXT})
            at = tuple(Endpoint(name, *service.at) for name in plain)
            shown = BrokerRegistration(
                Broker(node, endpoints=at), features={CONTROLLER_ONLY: (1, 1)}
            )
            self._admin.batch([Create(broker_path(node), encode_broker(shown), ephemeral=True)])
            self._shown = True
        elif self._shown and not wanted:
            self._admin.batch([Delete(broker_path(node))])
            self._shown = False

    def _look(self) -> bool:
        """Do what there is to do; whether all is done."""
        if self._known is None:
            self._known = self._learn()
            return False
        if not self._service.options.prepare_internal_topics:
            return True
        context = self._service.loop.context
        missing = [topic for topic in INTERNAL if topic not in context.topics]
        return all([self._create(topic) for topic in missing])

    def _learn(self) -> BrokerSettings | None:
        service = self._service
        known = ask_anybody(self._admin, service.options.listener, but=service.options.id)
        if known is not None:
            context = service.loop.context
            context.settings = known.for_controller(context.settings)
            service.clients.adopt(known.for_clients())
            self._log(LogEntry("steward", "learned the brokers' settings"))
            spoken = known.protocol
            if spoken is not None and spoken != context.settings.ibp:
                what = f"brokers speak {spoken}, this controller {context.settings.ibp}"
                self._log(LogEntry("steward", what, "warning"))
        return known

    def _create(self, topic: str) -> bool:
        """Have a topic made, if there are brokers enough; whether it is."""
        backend, live = self._service.clients.backend, len(self._service.loop.context.live)
        if live < _replicas(backend.settings, topic):
            return False
        refusals = asyncio.run(_auto_create(backend, self._service.options.id, topic))
        self._log(LogEntry("steward", f"prepared {topic}", details={"answer": refusals}))
        return True


def _replicas(settings: ClusterSettings, topic: str) -> int:
    made = settings.auto_create
    how = made.offsets if topic == CONSUMER_OFFSETS else made.transactions
    return how.replication_factor


async def _auto_create(backend: ControllerBackend, node: BrokerId, topic: str) -> str:
    found = await backend.auto_create(
        node, [topic], client_allows=True, for_coordinator=True, charge=lambda _: None
    )
    return "; ".join(map(str, found.values()))


def ask_anybody(store: Store, listener: str | None, *, but: BrokerId) -> BrokerSettings | None:
    """The settings of whichever broker answers first; None where none does."""
    for broker in registered(store):
        at = address_of(broker, listener)
        if broker.id != but and at is not None:
            try:
                return BrokerSettings(ask_broker(broker.id, at))
            except KedgeError:
                continue  # it may be starting, or gone already; another may know as well
    return None


def registered(store: Store) -> list[Broker]:
    """The brokers that have registered themselves."""
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
