"""A broker of a simulated cluster: its disks, process and store session, across restarts."""

from __future__ import annotations

from typing import Protocol

from kedge.brokers.disks import Disks
from kedge.brokers.simulated_broker import SimulatedBroker
from kedge.controller.events import ShutdownRequested
from kedge.controller.shutdown import ShutdownAnswer
from kedge.errors import Unavailable
from kedge.model import Broker, BrokerId
from kedge.sim.broker_environment import BrokerCluster, BrokerEnvironment
from kedge.store.memory import MemoryStore
from kedge.store.port import Create, Created, Session, SessionChanged, StoreEvent
from kedge.store.znodes import BrokerRegistration, broker_path, encode_broker

REGISTER_RETRY_MS = 500
SHUTDOWN_ATTEMPTS = 3


def broker_node(broker: BrokerId) -> str:
    """A broker's name on the network."""
    return f"broker {broker}"


class HasSession(Protocol):
    """A machine with a session of the store."""

    store: MemoryStore | None
    cut_off_until_ms: int


def reconnect(machine: HasSession, now_ms: int) -> None:
    """Restore the connection to the store, unless a fault keeps the machine disconnected."""
    if machine.store is not None and now_ms >= machine.cut_off_until_ms:
        machine.store.reconnect()


class BrokerMachine:
    """One broker, across restarts of its process."""

    def __init__(self, cluster: BrokerCluster, broker: Broker, disks: Disks) -> None:
        self.cluster = cluster
        self.broker = broker
        self.id = broker.id
        self.node = broker_node(broker.id)
        self.disks = disks
        self.process: SimulatedBroker | None = None
        self.store: MemoryStore | None = None
        self.skew_ms = 0  # error of its clock
        self.cut_off_until_ms = 0
        self.is_leaving = False  # a controlled shutdown is in progress

    # ---- life ----

    @property
    def is_up(self) -> bool:
        """Whether the process runs."""
        return self.process is not None

    def start(self) -> None:
        """Start a new process on the same disks."""
        if self.process is not None:
            return
        environment = BrokerEnvironment(self.cluster, self)
        process = SimulatedBroker(self.broker, self.disks, environment, self.cluster.timings)
        self.process = process
        self.is_leaving = False
        self.store = self.cluster.new_session()
        self.store.listen(lambda notice: self._on_notice(process, notice))
        self._register(process)
        self._tick_later(process)

    def crash(self, *, session_ends_ms: int = 0) -> None:
        """End the process at once; its session with the store ends after a delay."""
        process, store = self.process, self.store
        if process is None or store is None:
            return
        process.halt()
        self.process = self.store = None
        self.cluster.network.down(self.node)
        store.listen(lambda _: None)
        if session_ends_ms:
            self.cluster.clock.after(session_ends_ms, store.close)
        else:
            store.close()

    def shut_down(self, *, attempts: int = SHUTDOWN_ATTEMPTS) -> None:
        """Request a controlled shutdown from the controller, then stop."""
        process = self.process
        if process is None:
            return
        if attempts == 0:
            self.crash()
            return
        self.is_leaving = True

        def answered(answer: ShutdownAnswer | None) -> None:
            done = answer is not None and not answer.error and not answer.remaining
            if self.process is process:
                self.shut_down(attempts=0 if done else attempts - 1)

        self.cluster.call_controller(
            self.node,
            process.controller,
            ShutdownRequested(self.id, process.epoch),
            answered,
            lambda: answered(None),
        )

    def _register(self, process: SimulatedBroker) -> None:
        """Create the registration; retried while the node of an earlier session exists."""
        store = self.store
        if process is not self.process or store is None:
            return
        data = encode_broker(BrokerRegistration(self.broker, self.cluster.clock.now_ms))
        try:
            answer = self.cluster.batch(
                self.node, store, [Create(broker_path(self.id), data, ephemeral=True)]
            )[0]
        except Unavailable:
            answer = None
        if isinstance(answer, Created):
            process.epoch = answer.stat.created
            self.cluster.network.up(self.node)
        else:
            self.cluster.clock.after(REGISTER_RETRY_MS, lambda: self._register(process))

    def _on_notice(self, process: SimulatedBroker, notice: StoreEvent) -> None:
        if notice == SessionChanged(Session.EXPIRED) and self.process is process:
            self.cluster.clock.after(REGISTER_RETRY_MS, lambda: self._renew(process))

    def _renew(self, process: SimulatedBroker) -> None:
        if self.process is not process or self.store is None:
            return
        try:
            self.store.renew_session()
        except Unavailable:
            self.cluster.clock.after(REGISTER_RETRY_MS, lambda: self._renew(process))
        else:
            self._register(process)

    def _tick_later(self, process: SimulatedBroker) -> None:
        def tick() -> None:
            if self.process is process:
                reconnect(self, self.cluster.clock.now_ms)
                process.tick()
                self._tick_later(process)

        self.cluster.clock.after(self.cluster.timings.lag_ms // 2, tick)
