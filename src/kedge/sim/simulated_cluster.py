"""The simulated cluster of simulator and lab: brokers, network, store and bandwidth.

The simulator adds checkers (`checked_cluster`), controllers and a workload (`cluster_under_test`),
the lab adds the wall clock and a directory (`kedge.lab.lab_cluster`). Each decides when
notifications of the store are delivered and which copies take time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kedge.brokers.disks import Disks
from kedge.brokers.environment import FetchRequest, FetchResponse
from kedge.brokers.log import ChangedPartitions
from kedge.brokers.partition_host import Timings
from kedge.controller.events import Event
from kedge.controller.settings import Settings
from kedge.model import Broker, BrokerId
from kedge.model.broker_requests import BrokerRequest
from kedge.sim.bandwidth import BandwidthModel, Hardware
from kedge.sim.broker_machine import BrokerMachine
from kedge.sim.clock import Clock
from kedge.sim.cluster_metadata import (
    ClusterMetadata,
    FileJournal,
    MetadataObserver,
    VolatileJournal,
)
from kedge.sim.network import CONTROLLER_TIMEOUT_MS, Conditions, Network, Reply
from kedge.sim.rng import SeededRng
from kedge.store.memory import Delivery, MemoryEnsemble, MemoryStore
from kedge.store.port import Answer, Request
from kedge.store.tree import Transaction

PutEvent = Callable[[Event, Reply], None]

NO_CONTROLLER_MS = 500


class ControllerAddress(NamedTuple):
    """Where a controller receives requests."""

    node: str
    put: PutEvent


class ObservedReply:
    """A reply, with a callback for when a controller begins to process the request."""

    def __init__(self, reply: Reply, begun: Callable[[], None]) -> None:
        self.reply = reply
        self.begun = begun

    def __call__(self, answer: Any) -> None:
        self.reply(answer)


class SimulatedCluster(ABC):
    """Brokers, network, store and bandwidth on one virtual clock."""

    def __init__(
        self,
        seed: int,
        journal: VolatileJournal | FileJournal,
        *,
        settings: Settings,
        timings: Timings,
        conditions: Conditions,
        hardware: Hardware,
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings
        self.timings = timings
        self.clock = Clock() if clock is None else clock
        self.network = Network(self.clock, SeededRng(seed, "network"), conditions)
        self.changed: ChangedPartitions = {}
        self.machines: dict[BrokerId, BrokerMachine] = {}
        self.metadata = ClusterMetadata(self.observer())
        self.metadata.load(journal.tree)
        self.bandwidth = BandwidthModel(self.clock, self.metadata, hardware)
        self.journal = journal
        journal.committed = self.on_commit
        self.ensemble = MemoryEnsemble(journal=journal, deliver=self.deliver)

    def add_broker(self, broker: Broker, directories: tuple[str, ...]) -> BrokerMachine:
        """Add a broker that is not running yet."""
        machine = BrokerMachine(self, broker, Disks(directories, self.changed))
        self.machines[broker.id] = machine
        self.bandwidth.add_broker(broker.id, directories)
        return machine

    def machine_of(self, node: str) -> BrokerMachine | None:
        """The broker with that name on the network; None if it is no broker."""
        return next((m for m in self.machines.values() if m.node == node), None)

    # ---- differences between the simulator and the lab ----

    def observer(self) -> MetadataObserver:
        """The observer of all committed changes."""
        return MetadataObserver()

    @abstractmethod
    def deliver(self, delivery: Delivery) -> None:
        """Deliver a notification of the store to its session."""

    @abstractmethod
    def controller_address(self, controller: BrokerId) -> ControllerAddress | None:
        """The address of a controller; None if there is no such controller."""

    @abstractmethod
    def arrives_at_once(self, response: FetchResponse, *, was_waiting: bool) -> bool:
        """Whether fetched records arrive without a copy that takes time."""

    def request_sent(self, controller: BrokerId, request: BrokerRequest) -> None:  # noqa: B027
        """Called when a controller sends a request to a broker."""

    def holds_back(self, fetch: FetchRequest) -> bool:
        """Whether a fetch is refused for now; the follower fetches again after its backoff."""
        return False

    # ---- store ----

    def new_session(self) -> MemoryStore:
        """A new session with the store."""
        return MemoryStore(self.ensemble)

    def batch(self, node: str, store: MemoryStore, requests: Sequence[Request]) -> list[Answer]:
        """Send requests to the store; `node` is the sender."""
        before, self.metadata.writer = self.metadata.writer, node
        try:
            return store.batch(requests)
        finally:
            self.metadata.writer = before

    def on_commit(self, transactions: Sequence[Transaction]) -> None:
        """Apply committed transactions to the metadata and the throttles."""
        self.metadata.apply(transactions)
        if any(a.path.startswith("/config/brokers/") for t in transactions for a in t.applied):
            self.bandwidth.set_throttles()

    # ---- network ----

    def call_controller(
        self,
        source: str,
        controller: BrokerId | None,
        event: Event,
        answered: Reply,
        failed: Callable[[], None],
        *,
        begun: Callable[[], None] | None = None,
    ) -> None:
        """Send a request to the node that the sender takes for the controller.

        A request without a response fails after a timeout. `begun` is called when an active
        controller begins to process the request.
        """
        address = None if controller is None else self.controller_address(controller)
        if address is None:
            self.clock.after(NO_CONTROLLER_MS, failed)
            return

        def serve(reply: Reply) -> None:
            address.put(event, reply if begun is None else ObservedReply(reply, begun))

        self.network.call(
            source, address.node, serve, answered, failed, timeout_ms=CONTROLLER_TIMEOUT_MS
        )

    def copy_records(
        self,
        fetch: FetchRequest,
        leader: BrokerId,
        response: FetchResponse,
        arrived: Callable[[], None],
        *,
        was_waiting: bool,
    ) -> Callable[[], object] | None:
        """Start to copy fetched records to the follower; `was_waiting` if its fetch was parked.

        Returns the function that stops the copy, or None if the records arrive at once.
        """
        if self.arrives_at_once(response, was_waiting=was_waiting):
            return None
        return self.bandwidth.copy_to_follower(fetch, leader, response, arrived)
