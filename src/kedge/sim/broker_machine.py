"""A broker of a simulated cluster: its disks, process, store session and environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kedge.brokers.disks import Disks
from kedge.brokers.environment import FetchRequest, FetchResponse, IsrChange, IsrDecision
from kedge.brokers.simulated_broker import SimulatedBroker
from kedge.controller.events import IsrChangeRequested, RequestedIsr, ShutdownRequested
from kedge.controller.isr import IsrAnswer
from kedge.controller.shutdown import ShutdownAnswer
from kedge.errors import StaleVersion, Unavailable
from kedge.model import Broker, BrokerId, Leadership, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.sim.network import Call, Reply
from kedge.store.memory import MemoryStore
from kedge.store.port import (
    Create,
    Created,
    GetData,
    Node,
    Session,
    SessionChanged,
    SetData,
    StoreEvent,
    Written,
)
from kedge.store.znodes import (
    NEW_ISR_CHANGE,
    NEW_LOG_DIR_EVENT,
    BrokerRegistration,
    broker_path,
    encode_broker,
    encode_log_dir_event,
    encode_partitions,
    encode_state,
    state_path,
)

if TYPE_CHECKING:
    from kedge.sim.simulated_cluster import SimulatedCluster

REGISTER_RETRY_MS = 500
ISR_NOTIFICATION_MS = 2_500
SHUTDOWN_ATTEMPTS = 3


def broker_node(broker: BrokerId) -> str:
    """A broker's name on the network."""
    return f"broker {broker}"


class HasSession(Protocol):
    """A machine with a session of the store."""

    @property
    def cluster(self) -> SimulatedCluster: ...

    store: MemoryStore | None
    cut_off_until_ms: int


def reconnect(machine: HasSession) -> None:
    """Restore the connection to the store, unless a fault keeps the machine disconnected."""
    if machine.store is not None and machine.cluster.clock.now_ms >= machine.cut_off_until_ms:
        machine.store.reconnect()


class BrokerMachine:
    """One broker, across restarts of its process."""

    def __init__(self, cluster: SimulatedCluster, broker: Broker, disks: Disks) -> None:
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
        environment = BrokerEnvironment(self)
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
                reconnect(self)
                process.tick()
                self._tick_later(process)

        self.cluster.clock.after(self.cluster.timings.lag_ms // 2, tick)


class BrokerEnvironment:
    """The environment of one broker process."""

    def __init__(self, machine: BrokerMachine) -> None:
        self.machine = machine
        self.cluster = machine.cluster
        self._to_notify: dict[TopicPartition, None] = {}

    @property
    def now_ms(self) -> int:
        return self.cluster.clock.now_ms + self.machine.skew_ms

    def after(self, delay_ms: int, action: Callable[[], None]) -> object:
        return self.cluster.clock.after(delay_ms, action)

    def min_isr(self, topic: str) -> int:
        return int(self.cluster.metadata.topic_config(topic).get("min.insync.replicas", "1"))

    # ---- fetching ----

    def fetch(
        self,
        leader: BrokerId,
        fetch: FetchRequest,
        answered: Callable[[FetchResponse], None],
        failed: Callable[[], None],
    ) -> None:
        there = self.cluster.machines[leader]
        call: Call | None = None
        is_serving = False  # a response during `serve` has records that existed before the fetch

        def serve(reply: Reply) -> None:
            nonlocal is_serving
            if there.process is not None:
                is_serving = True
                there.process.serve_fetch(fetch, lambda response: copy(response, reply))
                is_serving = False

        def copy(response: FetchResponse, reply: Reply) -> None:
            if call is None or not call.is_open:
                return
            stop = self.cluster.copy_records(
                fetch, leader, response, lambda: reply(response), was_waiting=not is_serving
            )
            if stop is None:
                reply(response)
            else:
                call.on_end = stop

        node = broker_node(leader)
        call = self.cluster.network.call(self.machine.node, node, serve, answered, failed)

    # ---- the in-sync replicas ----

    def propose_isr(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        if self.cluster.settings.uses_alter_partition:
            self._send_alter_partition(change, answered, failed)
        else:
            self._write_state(change, answered, failed)

    def _send_alter_partition(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        process = self.machine.process
        if process is None:
            return
        by_id = self.cluster.settings.uses_topic_ids
        wanted = RequestedIsr(
            change.isr, change.leader_epoch, change.partition_epoch, change.recovery
        )
        key = change.topic_id if by_id else change.tp.topic
        event = IsrChangeRequested(
            self.machine.id, process.epoch, {key: {change.tp.partition: wanted}}, 3 if by_id else 1
        )

        def on_answer(answer: IsrAnswer | None) -> None:
            answered(decision_of(change, answer))

        self.cluster.call_controller(
            self.machine.node, process.controller, event, on_answer, failed
        )

    def _write_state(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        """Write the state node, as leaders do with an IBP below 2.7-IV2."""
        try:
            decision = self._try_write(change)
        except Unavailable:
            self.after(self.cluster.network.conditions.timeout_ms, failed)
            return
        self.after(1, lambda: answered(decision))
        if decision.error is ErrorCode.NONE:
            self._notify_later(change.tp)

    def _try_write(self, change: IsrChange) -> IsrDecision:
        store = self.machine.store
        assert store is not None
        state = Leadership(
            change.leader,
            change.isr,
            change.leader_epoch,
            controller_epoch=change.controller_epoch,
            recovery=change.recovery,
        )
        path, data = state_path(change.tp), encode_state(state)
        write = SetData(path, data, version=change.partition_epoch)
        answer = self.cluster.batch(self.machine.node, store, [write])[0]
        if isinstance(answer, StaleVersion):
            answer = self.cluster.batch(self.machine.node, store, [GetData(path)])[0]
        return write_decision(change, data, answer)

    def _notify_later(self, tp: TopicPartition) -> None:
        if not self._to_notify:
            self.after(ISR_NOTIFICATION_MS, self._notify)
        self._to_notify[tp] = None

    def _notify(self) -> None:
        store = self.machine.store
        if store is None or self._to_notify == {}:
            return
        data = encode_partitions(self._to_notify)
        if self._try_create(Create(NEW_ISR_CHANGE, data, sequential=True)):
            self._to_notify.clear()
        else:
            self.after(ISR_NOTIFICATION_MS, self._notify)

    # ---- directories ----

    def announce_failed_directory(self) -> None:
        data = encode_log_dir_event(self.machine.id)
        if not self._try_create(Create(NEW_LOG_DIR_EVENT, data, sequential=True)):
            self.after(REGISTER_RETRY_MS, self.announce_failed_directory)

    def _try_create(self, create: Create) -> bool:
        store, process = self.machine.store, self.machine.process
        if store is None or process is None or process.environment is not self:
            return True  # the process of this environment has ended
        try:
            return isinstance(self.cluster.batch(self.machine.node, store, [create])[0], Created)
        except Unavailable:
            return False


def decision_of(change: IsrChange, answer: IsrAnswer | None) -> IsrDecision:
    """The decision on one change in the controller's response."""
    if answer is None:
        return IsrDecision(ErrorCode.NOT_CONTROLLER)
    if answer.error is not ErrorCode.NONE:
        return IsrDecision(answer.error)
    stored = answer.stored.get(change.tp)
    if stored is not None:
        return IsrDecision(ErrorCode.NONE, stored.isr, stored.leader_epoch, stored.partition_epoch)
    by_id = TopicPartition(change.topic_id, change.tp.partition)
    error = answer.errors.get(change.tp) or answer.errors.get(by_id)
    return IsrDecision(error or ErrorCode.UNKNOWN_SERVER_ERROR)


def write_decision(change: IsrChange, data: bytes, answer: object) -> IsrDecision:
    """The outcome of a leader's own write; after a lost response, the stored content tells it."""
    if isinstance(answer, Node):
        is_ours = (answer.data, answer.stat.version) == (data, change.partition_epoch + 1)
    else:
        is_ours = isinstance(answer, Written)
    if not is_ours:
        return IsrDecision(ErrorCode.INVALID_UPDATE_VERSION)
    return IsrDecision(ErrorCode.NONE, change.isr, change.leader_epoch, change.partition_epoch + 1)
