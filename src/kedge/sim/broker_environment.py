"""The environment of a simulated broker process: time, fetches, ISR changes, notifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kedge.brokers.environment import FetchRequest, FetchResponse, IsrChange, IsrDecision
from kedge.brokers.partition_host import Timings
from kedge.brokers.simulated_broker import SimulatedBroker
from kedge.controller.events import Event, IsrChangeRequested, RequestedIsr
from kedge.controller.isr import IsrAnswer
from kedge.controller.settings import Settings
from kedge.errors import StaleVersion, Unavailable
from kedge.model import BrokerId, Leadership, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.sim.clock import Clock
from kedge.sim.cluster_metadata import ClusterMetadata
from kedge.sim.network import Call, Network, Reply
from kedge.store.memory import MemoryStore
from kedge.store.port import Answer, Create, Created, GetData, Node, Request, SetData, Written
from kedge.store.znodes import (
    NEW_ISR_CHANGE,
    NEW_LOG_DIR_EVENT,
    encode_log_dir_event,
    encode_partitions,
    encode_state,
    state_path,
)

ISR_NOTIFICATION_MS = 2_500
LOG_DIR_EVENT_RETRY_MS = 500


class BrokerHost(Protocol):
    """The machine on which a broker process runs."""

    id: BrokerId
    node: str
    process: SimulatedBroker | None
    store: MemoryStore | None
    skew_ms: int


class BrokerCluster(Protocol):
    """What a broker uses of its cluster: time, network, store, and the other brokers."""

    settings: Settings
    timings: Timings
    clock: Clock
    network: Network
    metadata: ClusterMetadata

    @property
    def machines(self) -> Mapping[BrokerId, BrokerHost]: ...

    def new_session(self) -> MemoryStore: ...

    def batch(self, node: str, store: MemoryStore, requests: Sequence[Request]) -> list[Answer]: ...

    def call_controller(
        self,
        source: str,
        controller: BrokerId | None,
        event: Event,
        answered: Reply,
        failed: Callable[[], None],
    ) -> None: ...

    def holds_back(self, fetch: FetchRequest) -> bool: ...

    def copy_records(
        self,
        fetch: FetchRequest,
        leader: BrokerId,
        response: FetchResponse,
        arrived: Callable[[], None],
        *,
        was_waiting: bool,
    ) -> Callable[[], object] | None: ...


class BrokerEnvironment:
    """The environment of one broker process."""

    def __init__(self, cluster: BrokerCluster, machine: BrokerHost) -> None:
        self.cluster = cluster
        self.machine = machine
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
            if self.cluster.holds_back(fetch):
                reply(FetchResponse(refused=True))
            elif there.process is not None:
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

        call = self.cluster.network.call(self.machine.node, there.node, serve, answered, failed)

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
            self.after(LOG_DIR_EVENT_RETRY_MS, self.announce_failed_directory)

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
