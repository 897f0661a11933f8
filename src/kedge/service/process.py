"""The controller process: its parts are connected, started and stopped in the right order."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence

from kedge.brokers.wire import WireBrokers
from kedge.brokers.wire_forms import Address, address_of
from kedge.controller.settings import Settings
from kedge.endpoint import Endpoint, EndpointThread
from kedge.endpoint.dispatch import Dispatcher, Node
from kedge.endpoint.server import Traffic
from kedge.model import BrokerId
from kedge.runtime import LogEntry, Loop, LoopThread, Sink, create_persistent_nodes
from kedge.service.broker_settings import BrokerSettings
from kedge.service.clients import Clients
from kedge.service.controller_node import ControllerNode
from kedge.service.housekeeping import Housekeeping, ask_any_broker
from kedge.service.metrics import MetricsServer
from kedge.service.node_cache import NodeMetadataCaches
from kedge.service.options import Options, supported_protocol
from kedge.service.relay import Relay
from kedge.service.requests_from_brokers import BrokerRequests
from kedge.store.port import Store
from kedge.store.zookeeper import ZooKeeperStore

Clock = Callable[[], int]
OpenStore = Callable[[Options], Store]


def nowhere(_entry: LogEntry) -> None:
    """A log that drops all entries."""


def zookeeper_session(options: Options) -> Store:
    """A new session with ZooKeeper."""
    return ZooKeeperStore(
        options.zookeeper, session_timeout_ms=options.session_timeout_ms, create_chroot=True
    )


class ControllerService:
    """A controller of real brokers, from `start` to `stop`.

    with ControllerService(Options("127.0.0.1:2181", Address("127.0.0.1", 9090))) as service:
        service.wait()
    """

    def __init__(
        self,
        options: Options,
        *,
        log: Sink = nowhere,
        open_store: OpenStore = zookeeper_session,
    ) -> None:
        self.options = options
        self._log = log
        self._open_store = open_store
        self._stopping = threading.Event()
        self._stack = contextlib.ExitStack()

    # ---- start and stop -------------------------------------------------------------------------

    def __enter__(self) -> ControllerService:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, then become a candidate for the controller role."""
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise

    def stop(self) -> None:
        """Give the role up and stop all parts, the last one first."""
        self._stopping.set()
        self._stack.close()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the process is to stop; whether it is to."""
        return self._stopping.wait(timeout_s)

    def request_stop(self) -> None:
        """Let `wait` return. From any thread or signal handler."""
        self._stopping.set()

    @property
    def active(self) -> bool:
        """Whether this process is the active controller."""
        return self.loop.view.active

    @property
    def traffic(self) -> Traffic:
        """Counts of the port's connections and requests."""
        return self._endpoint.endpoint.traffic

    # ---- the parts ------------------------------------------------------------------------------

    def _start(self) -> None:
        options = self.options
        admin = self._session()
        create_persistent_nodes(admin)
        known = ask_any_broker(admin, options.listener, excluding=options.id)
        self.wire = WireBrokers(node=options.id, listener=options.listener)
        self._stack.callback(self.wire.close)
        self.caches = NodeMetadataCaches(self.wire, options.id)
        self.loop = self._make_loop(known)
        self.clients = Clients(options.id, self._session(), self.caches, self.loop)
        self._stack.callback(self.clients.close)
        if known is not None:
            self.clients.adopt(known.for_clients())
        self.at = self._listen()
        self.wire.translator.at = self.at
        if options.metrics is not None:
            self.metrics = MetricsServer(self, options.metrics)
            self._stack.callback(self.metrics.stop)
        controller = LoopThread(self.loop)
        controller.start()
        self._stack.callback(controller.stop)
        housekeeping = Housekeeping(self, admin, known, self._log)
        housekeeping.start()
        self._stack.callback(housekeeping.stop)

    def _session(self) -> Store:
        store = self._open_store(self.options)
        self._stack.callback(store.close)
        return store

    def _make_loop(self, known: BrokerSettings | None) -> Loop:
        options = self.options
        settings = initial_settings(options, known)
        return Loop(
            options.id,
            self._session(),
            self.caches,
            now_ms=steady_wall_clock(),
            settings=settings,
            log=self._log,
        )

    def _listen(self) -> Address:
        """Open the port; the address that was bound."""
        options = self.options
        self._endpoint = EndpointThread(lambda: Endpoint(self.clients.backend, wrap=self._wrap))
        self._endpoint.start()
        self._stack.callback(self._endpoint.stop)
        self._stack.callback(lambda: self._endpoint.run(self._node.close()))
        port = self._endpoint.open(options.id, options.listen.host, options.listen.port)
        return Address(options.listen.host, port)

    def _wrap(self, node: BrokerId, _own: Dispatcher) -> Node:
        def count(name: str) -> None:
            self.traffic.requests[name] += 1

        brokers = BrokerRequests(self.loop)
        relay = Relay(self.broker_addresses)
        self._node = ControllerNode(
            node, self.clients, brokers, relay, worker=self.clients.worker, count=count
        )
        return self._node

    def broker_addresses(self) -> Sequence[Address]:
        """The addresses of the registered brokers."""
        known = self.loop.view.registered.values()
        found = (address_of(each.broker, self.options.listener) for each in known)
        return [at for at in found if at is not None]


def initial_settings(options: Options, known: BrokerSettings | None) -> Settings:
    """The settings that a controller starts with: the operator's protocol, or the brokers', or the
    newest. Raises InvalidConfiguration for a protocol that is too old to be spoken."""
    protocol = options.protocol or (known.protocol if known else None) or Settings().ibp
    settings = Settings(ibp=supported_protocol(protocol), take_over=options.take_over)
    return known.for_controller(settings) if known else settings


def steady_wall_clock() -> Clock:
    """Milliseconds since 1970 that never decrease, even if the machine's clock is set back."""
    offset_ms = int(time.time() * 1000) - int(time.monotonic() * 1000)
    return lambda: int(time.monotonic() * 1000) + offset_ms
