"""A broker's machine: the disks, the process on them, its session with the store, its network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kedge.brokers.around import Fetch, Fetched, IsrChange, IsrDecision
from kedge.brokers.disks import Disks
from kedge.brokers.simulated import SimulatedBroker
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
    from kedge.sim.ground import Ground

REGISTER_AGAIN_MS = 500
ISR_NOTE_MS = 2_500
SHUTDOWN_TRIES = 3


def broker_node(broker: BrokerId) -> str:
    """A broker's name on the network."""
    return f"broker {broker}"


class Connected(Protocol):
    """A machine that has a session with the store."""

    @property
    def world(self) -> Ground: ...

    store: MemoryStore | None
    cut_off_until_ms: int


def reconnect(machine: Connected) -> None:
    """Mend a broken connection to the store, unless the machine is cut off from it."""
    if machine.store is not None and machine.world.clock.now_ms >= machine.cut_off_until_ms:
        machine.store.reconnect()


class BrokerMachine:
    """One broker, through all its restarts."""

    def __init__(self, world: Ground, broker: Broker, disks: Disks | None = None) -> None:
        self.world = world
        self.broker = broker
        self.id = broker.id
        self.node = broker_node(broker.id)
        self.disks = Disks(touched=world.touched) if disks is None else disks
        self.process: SimulatedBroker | None = None
        self.store: MemoryStore | None = None
        self.skew_ms = 0  # how far its clock is off
        self.cut_off_until_ms = 0
        self.is_leaving = False  # it has asked for a controlled shutdown

    # ---- life ----

    @property
    def is_up(self) -> bool:
        """Whether the process runs."""
        return self.process is not None

    def start(self) -> None:
        """Run a new process on the old disks."""
        if self.process is not None:
            return
        process = SimulatedBroker(self.broker, self.disks, Surroundings(self), self.world.timings)
        self.process = process
        self.is_leaving = False
        self.store = self.world.new_session(self.node)
        self.store.listen(lambda notice: self._on_notice(process, notice))
        self._register(process)
        self._tick_later(process)

    def crash(self, *, session_ends_ms: int = 0) -> None:
        """The process is gone at once; the store notices when the session ends."""
        process, store = self.process, self.store
        if process is None or store is None:
            return
        process.halt()
        self.process = self.store = None
        self.world.network.down(self.node)
        store.listen(lambda _: None)
        if session_ends_ms:
            self.world.clock.after(session_ends_ms, store.close)
        else:
            store.close()

    def shut_down(self, *, tries: int = SHUTDOWN_TRIES) -> None:
        """Ask the controller to take the leaderships away, then stop."""
        process = self.process
        if process is None:
            return
        if tries == 0:
            self.crash()
            return
        self.is_leaving = True

        def answered(answer: ShutdownAnswer | None) -> None:
            done = answer is not None and not answer.error and not answer.remaining
            if self.process is process:
                self.shut_down(tries=0 if done else tries - 1)

        self.world.ask_controller(
            self.node,
            process.controller,
            ShutdownRequested(self.id, process.epoch),
            answered,
            lambda: answered(None),
        )

    def _register(self, process: SimulatedBroker) -> None:
        """Write the registration; a node of an earlier session is in the way until that ends."""
        store = self.store
        if process is not self.process or store is None:
            return
        data = encode_broker(BrokerRegistration(self.broker, self.world.clock.now_ms))
        try:
            answer = self.world.batch(
                self.node, store, [Create(broker_path(self.id), data, ephemeral=True)]
            )[0]
        except Unavailable:
            answer = None
        if isinstance(answer, Created):
            process.epoch = answer.stat.created
            self.world.network.up(self.node)
        else:
            self.world.clock.after(REGISTER_AGAIN_MS, lambda: self._register(process))

    def _on_notice(self, process: SimulatedBroker, notice: StoreEvent) -> None:
        if notice == SessionChanged(Session.EXPIRED) and self.process is process:
            self.world.clock.after(REGISTER_AGAIN_MS, lambda: self._renew(process))

    def _renew(self, process: SimulatedBroker) -> None:
        if self.process is not process or self.store is None:
            return
        try:
            self.store.renew_session()
        except Unavailable:
            self.world.clock.after(REGISTER_AGAIN_MS, lambda: self._renew(process))
        else:
            self._register(process)

    def _tick_later(self, process: SimulatedBroker) -> None:
        def tick() -> None:
            if self.process is process:
                reconnect(self)
                process.tick()
                self._tick_later(process)

        self.world.clock.after(self.world.timings.lag_ms // 2, tick)


class Surroundings:
    """What one run of a broker sees of the world."""

    def __init__(self, machine: BrokerMachine) -> None:
        self.machine = machine
        self.world = machine.world
        self._noted: dict[TopicPartition, None] = {}

    @property
    def now_ms(self) -> int:
        return self.world.clock.now_ms + self.machine.skew_ms

    def after(self, delay_ms: int, action: Callable[[], None]) -> object:
        return self.world.clock.after(delay_ms, action)

    def min_isr(self, topic: str) -> int:
        return int(self.world.truth.topic_config(topic).get("min.insync.replicas", "1"))

    # ---- fetching ----

    def fetch(
        self,
        leader: BrokerId,
        fetch: Fetch,
        answered: Callable[[Fetched], None],
        failed: Callable[[], None],
    ) -> None:
        there = self.world.machines[leader]
        call: Call | None = None
        is_serving = False  # what the leader answers in here, it had already

        def serve(reply: Reply) -> None:
            nonlocal is_serving
            if there.process is not None:
                is_serving = True
                there.process.serve_fetch(fetch, lambda fetched: carry(fetched, reply))
                is_serving = False

        def carry(fetched: Fetched, reply: Reply) -> None:
            if call is None or not call.is_open:
                return
            stop = self.world.carry(
                fetch, leader, fetched, lambda: reply(fetched), was_waiting=not is_serving
            )
            if stop is None:
                reply(fetched)
            else:
                call.on_end = stop

        node = broker_node(leader)
        call = self.world.network.call(self.machine.node, node, serve, answered, failed)

    # ---- the in-sync replicas ----

    def propose_isr(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        if self.world.settings.uses_alter_partition:
            self._ask_for(change, answered, failed)
        else:
            self._write(change, answered, failed)

    def _ask_for(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        process = self.machine.process
        if process is None:
            return
        by_id = self.world.settings.uses_topic_ids
        wish = RequestedIsr(
            change.isr, change.leader_epoch, change.partition_epoch, change.recovery
        )
        key = change.topic_id if by_id else change.tp.topic
        event = IsrChangeRequested(
            self.machine.id, process.epoch, {key: {change.tp.partition: wish}}, 3 if by_id else 1
        )

        def on_answer(answer: IsrAnswer | None) -> None:
            answered(decision_of(change, answer))

        self.world.ask_controller(self.machine.node, process.controller, event, on_answer, failed)

    def _write(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        """Write the state node as leaders did before they asked (IBP below 2.7-IV2)."""
        try:
            decision = self._written(change)
        except Unavailable:
            self.after(self.world.network.conditions.timeout_ms, failed)
            return
        self.after(1, lambda: answered(decision))
        if decision.error is ErrorCode.NONE:
            self._note(change.tp)

    def _written(self, change: IsrChange) -> IsrDecision:
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
        answer = self.world.batch(self.machine.node, store, [write])[0]
        if isinstance(answer, StaleVersion):
            answer = self.world.batch(self.machine.node, store, [GetData(path)])[0]
        return settled(change, data, answer)

    def _note(self, tp: TopicPartition) -> None:
        if not self._noted:
            self.after(ISR_NOTE_MS, self._leave_note)
        self._noted[tp] = None

    def _leave_note(self) -> None:
        store = self.machine.store
        if store is None or self._noted == {}:
            return
        data = encode_partitions(self._noted)
        if self._try_create(Create(NEW_ISR_CHANGE, data, sequential=True)):
            self._noted.clear()
        else:
            self.after(ISR_NOTE_MS, self._leave_note)

    # ---- directories ----

    def announce_failed_directory(self) -> None:
        data = encode_log_dir_event(self.machine.id)
        if not self._try_create(Create(NEW_LOG_DIR_EVENT, data, sequential=True)):
            self.after(REGISTER_AGAIN_MS, self.announce_failed_directory)

    def _try_create(self, create: Create) -> bool:
        store, process = self.machine.store, self.machine.process
        if store is None or process is None or process.around is not self:
            return True  # nobody is left to announce anything
        try:
            return isinstance(self.world.batch(self.machine.node, store, [create])[0], Created)
        except Unavailable:
            return False


def decision_of(change: IsrChange, answer: IsrAnswer | None) -> IsrDecision:
    """The part of the controller's answer that is about one change."""
    if answer is None:
        return IsrDecision(ErrorCode.NOT_CONTROLLER)
    if answer.error is not ErrorCode.NONE:
        return IsrDecision(answer.error)
    stored = answer.stored.get(change.tp)
    if stored is not None:
        return IsrDecision(ErrorCode.NONE, stored.isr, stored.leader_epoch, stored.partition_epoch)
    unnamed = TopicPartition(change.topic_id, change.tp.partition)
    error = answer.errors.get(change.tp) or answer.errors.get(unnamed)
    return IsrDecision(error or ErrorCode.UNKNOWN_SERVER_ERROR)


def settled(change: IsrChange, data: bytes, answer: object) -> IsrDecision:
    """What a leader's own write came to; one whose answer was lost is known by its content."""
    if isinstance(answer, Node):
        is_ours = (answer.data, answer.stat.version) == (data, change.partition_epoch + 1)
    else:
        is_ours = isinstance(answer, Written)
    if not is_ours:
        return IsrDecision(ErrorCode.INVALID_UPDATE_VERSION)
    return IsrDecision(ErrorCode.NONE, change.isr, change.leader_epoch, change.partition_epoch + 1)
