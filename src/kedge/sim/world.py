"""A whole cluster in one process: brokers, controllers, the store, the network and a clock.

Everything happens at some instant of virtual time, by the clock's one heap. Nothing in here knows
what is going to happen next: that is the business of `run`, which draws work and faults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kedge.brokers.around import Fetch, Fetched
from kedge.brokers.hosting import Timings
from kedge.brokers.log import Touched
from kedge.controller.events import Event
from kedge.controller.settings import Ibp, Settings
from kedge.model import Broker, BrokerId, Endpoint, TopicPartition
from kedge.model.broker_requests import BrokerRequest
from kedge.plan.throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kedge.sim.arrivals import Arrivals
from kedge.sim.candidates import ControllerMachine, ObservedReply, controller_node
from kedge.sim.checkers import Checkers
from kedge.sim.clock import Clock
from kedge.sim.coverage import Coverage
from kedge.sim.desk import OPERATOR
from kedge.sim.machines import BrokerMachine
from kedge.sim.network import CONTROLLER_TIMEOUT_MS, Conditions, Network, Reply
from kedge.sim.seeds import Luck
from kedge.sim.transfers import Resource, Transfers
from kedge.sim.truth import FileLedger, Ledger, Truth
from kedge.sim.workload import Operator
from kedge.store.memory import Delivery, MemoryEnsemble, MemoryStore
from kedge.store.port import Answer, Create, Delete, Request
from kedge.store.znodes import BROKER_IDS, CONTROLLER, persistent_paths

DISK_BYTES_PER_SECOND = 200e6
LINK_BYTES_PER_SECOND = 125e6
UNLIMITED = 1e15
SMALL_BYTES = 1 << 20  # what is smaller is not worth sharing a link for
NOTICE_DELAY_MS_MAX = 15
NO_CONTROLLER_MS = 500


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a world is, and which protocol it speaks."""

    brokers: int = 4
    controllers: int = 2
    topics_min: int = 2
    topics_max: int = 5
    partitions_max: int = 3
    ibp: str = "3.9"
    broken: str = ""  # a rule that is broken on purpose, to see whether it is noticed

    @staticmethod
    def drawn(luck: Luck, broken: str = "") -> Shape:
        """A shape by luck; protocols old and new, with and without topic ids."""
        return Shape(
            brokers=luck.between(3, 6),
            controllers=luck.between(2, 3),
            topics_max=luck.between(3, 6),
            ibp=luck.pick(("3.9", "3.9", "2.8", "2.6", "2.6")),
            broken=broken,
        )


class World:
    """The simulated cluster."""

    def __init__(self, seed: int, shape: Shape, ledger: Ledger | FileLedger | None = None) -> None:
        self.seed = seed
        self.shape = shape
        self.settings = Settings(ibp=Ibp.parse(shape.ibp))
        self.timings = Timings()
        self.clock = Clock()
        self.coverage = Coverage()
        self.touched: Touched = {}
        self.trace: Callable[[str], None] | None = None
        self.network = Network(self.clock, Luck(seed, "network"), Conditions())
        self.transfers = Transfers(self.clock)
        self.arrivals = Arrivals(self.transfers)
        self.checkers = Checkers(self)
        self.truth = Truth(self.checkers)
        self._notices = Luck(seed, "notices")
        self._delivered_ms: dict[object, int] = {}  # by session
        self.controller_ids: dict[str, BrokerId] = {}
        ledger = Ledger() if ledger is None else ledger
        self.truth.load(ledger.tree)
        ledger.committed = self.truth.follow
        self.ensemble = MemoryEnsemble(journal=ledger, deliver=self._deliver)
        self.machines: dict[BrokerId, BrokerMachine] = {}
        self.candidates: dict[BrokerId, ControllerMachine] = {}
        self._build(shape)
        self.operator = Operator(self, Luck(seed, "operator"))
        self.network.up(OPERATOR)

    def _build(self, shape: Shape) -> None:
        admin = self.new_session("setup")
        self.batch("setup", admin, [Create(path) for path in persistent_paths()])
        for number in range(1, shape.brokers + 1):
            broker = BrokerId(number)
            rack = f"r{number % 2}" if shape.brokers > 3 else None
            endpoint = Endpoint("PLAINTEXT", f"host{number}", 9092)
            self.machines[broker] = BrokerMachine(self, Broker(broker, rack, endpoints=(endpoint,)))
            self._give_resources(self.machines[broker])
        for number in range(shape.controllers):
            controller = BrokerId(1001 + number)
            machine = ControllerMachine(self, controller)
            self.candidates[controller] = machine
            self.controller_ids[machine.node] = controller

    def _give_resources(self, machine: BrokerMachine) -> None:
        broker, capacity = machine.id, self.transfers.set_capacity
        for directory in machine.disks.logs:
            capacity(("disk", broker, directory), DISK_BYTES_PER_SECOND)
        capacity(("out", broker), LINK_BYTES_PER_SECOND)
        capacity(("in", broker), LINK_BYTES_PER_SECOND)
        capacity((LEADER_RATE, broker), UNLIMITED)
        capacity((FOLLOWER_RATE, broker), UNLIMITED)

    def start(self) -> None:
        """Start every machine."""
        for broker in sorted(self.machines):
            self.machines[broker].start()
        for controller in sorted(self.candidates):
            self.candidates[controller].start()

    # ---- telling what happens ----

    def say(self, words: str) -> None:
        """Write a line into the trace, if somebody reads it."""
        if self.trace is not None:
            self.trace(f"{self.clock.now_ms / 1000:9.3f}  {words}")

    def count(self, kind: str) -> None:
        """Count something."""
        self.coverage.counts[kind] += 1

    def count_acked(self, tp: TopicPartition, offset: int, identity: int) -> None:
        """A producer was told that its record is safe."""
        self.count("records acknowledged")
        self.checkers.record_acked(tp, offset, identity)

    # ---- the store ----

    def new_session(self, node: str) -> MemoryStore:
        """A session with the store."""
        del node
        return MemoryStore(self.ensemble)

    def batch(self, node: str, store: MemoryStore, requests: Sequence[Request]) -> list[Answer]:
        """Requests to the store, with the name of who made them."""
        before, self.truth.writer = self.truth.writer, node
        try:
            return store.batch(requests)
        finally:
            self.truth.writer = before

    def drop_claim(self) -> None:
        """Somebody deletes the controller's claim by hand, for another to take the role."""
        self.batch("somebody", self.operator.desk.store, [Delete(CONTROLLER)])

    def _deliver(self, delivery: Delivery) -> None:
        """Hand a notice over a little later; those of one session stay in order."""
        store = delivery.store
        due_ms = self.clock.now_ms + self._notices.draw(NOTICE_DELAY_MS_MAX)
        due_ms = max(due_ms, self._delivered_ms.get(store, 0))
        self._delivered_ms[store] = due_ms
        self.clock.at(due_ms, delivery)

    def exists(self, path: str) -> bool:
        """Whether a node is there."""
        return path in self.ensemble.tree.nodes

    def registered(self) -> list[BrokerId]:
        """The brokers that the store knows."""
        names = self.ensemble.tree.nodes[BROKER_IDS].children or ()
        return sorted(BrokerId(int(name)) for name in names)

    # ---- the network ----

    def ask_controller(
        self,
        source: str,
        controller: BrokerId | None,
        event: Event,
        answered: Reply,
        failed: Callable[[], None],
        *,
        begun: Callable[[], None] | None = None,
    ) -> None:
        """Send a request to the broker that is believed to be the controller; the belief may be
        wrong. A controller whose session ends drops some requests without an answer, as in Kafka:
        those fail after a timeout.

        `begun` is called when a controller that holds the role begins to process the request."""
        machine = None if controller is None else self.candidates.get(controller)
        if machine is None:
            self.clock.after(NO_CONTROLLER_MS, failed)
            return

        def serve(reply: Reply) -> None:
            machine.put(event, reply if begun is None else ObservedReply(reply, begun))

        node = controller_node(machine.id)
        self.network.call(source, node, serve, answered, failed, timeout_ms=CONTROLLER_TIMEOUT_MS)

    def request_sent(self, controller: BrokerId, request: BrokerRequest) -> None:
        """A controller speaks to a broker."""
        self.checkers.request_sent(controller, request)

    def carry(
        self,
        fetch: Fetch,
        leader: BrokerId,
        fetched: Fetched,
        arrived: Callable[[], None],
        *,
        was_waiting: bool,
    ) -> Callable[[], object] | None:
        """Take records from a leader to a follower; how to stop that."""
        del was_waiting
        if fetched.size_bytes < SMALL_BYTES:
            return None
        path = self.path_of(fetch, leader, fetched.directory)
        return self.arrivals.begin((fetch.follower, fetch.tp), fetched.size_bytes, path, arrived)

    def path_of(self, fetch: Fetch, leader: BrokerId, directory: str) -> list[Resource]:
        """What a transfer from a leader to a follower has to pass."""
        follower, tp = fetch.follower, fetch.tp
        path: list[Resource] = [
            ("disk", leader, directory),
            ("out", leader),
            ("in", follower),
            ("disk", follower, fetch.directory),
        ]
        settings = self.truth.topic_config(tp.topic)
        for names, rate, broker in (
            (LEADER_REPLICAS, LEADER_RATE, leader),
            (FOLLOWER_REPLICAS, FOLLOWER_RATE, follower),
        ):
            listed = settings.get(names, "").split(",")
            text = self.truth.broker_config(broker).get(rate)
            if text is not None and ("*" in listed or f"{tp.partition}:{broker}" in listed):
                self.transfers.set_capacity((rate, broker), float(text))
                path.append((rate, broker))
        return path

    # ---- looking from outside ----

    def machine_of(self, node: str) -> BrokerMachine | None:
        """The broker of that name on the network, if it is one."""
        return next((m for m in self.machines.values() if m.node == node), None)

    def log_bytes(self, tp: TopicPartition) -> int:
        """How large the largest log of a partition is."""
        logs = [machine.disks.remnant(tp) for machine in self.machines.values()]
        return max((log.size_bytes for log in logs if log is not None), default=0)

    def clear_strays(self, topic: str) -> None:
        """Remove what brokers have left of a topic that is gone, as an operator would before he
        gives its name to another."""
        for machine in self.machines.values():
            for held in machine.disks.logs.values():
                for tp in [tp for tp in held if tp.topic == topic]:
                    del held[tp]
                    if machine.process is not None:
                        hosted = machine.process.hosted.pop(tp, None)
                        if hosted is not None:
                            hosted.drop()

    def step(self) -> bool:
        """Let the next thing happen, and judge what it has done."""
        happened = self.clock.step()
        if self.touched:
            self.checkers.check_touched()
        if self.checkers.violation is not None:
            raise self.checkers.violation
        return happened

    def run_until(self, end_ms: int) -> None:
        """Let everything happen up to an instant."""
        due_ms = self.clock.next_due_ms()
        while due_ms is not None and due_ms <= end_ms:
            self.step()
            due_ms = self.clock.next_due_ms()
        self.clock.now_ms = max(self.clock.now_ms, end_ms)

    def active(self) -> ControllerMachine | None:
        """The controller that the store names, if its process runs."""
        holder = self.truth.controller
        machine = None if holder is None else self.candidates.get(holder)
        return machine if machine is not None and machine.is_up else None
