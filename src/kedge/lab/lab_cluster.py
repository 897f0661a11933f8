"""The simulated cluster of a lab: brokers, network, store and bandwidth on the lab's thread.

Brokers, links and bandwidth are those of the simulator, without its checkers and its random
faults. The endpoint also writes to the store, from other threads; notifications and committed
transactions are therefore passed to the lab's thread before any component reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kedge.brokers.around import Fetch, Fetched
from kedge.brokers.disks import Disks
from kedge.brokers.hosting import Timings
from kedge.brokers.log import Touched
from kedge.controller.events import Event
from kedge.controller.settings import Settings
from kedge.lab.clock_thread import ClockThread
from kedge.lab.settings import LabSettings
from kedge.model import Broker, BrokerId
from kedge.model.broker_requests import BrokerRequest
from kedge.sim.bandwidth import BandwidthModel, Hardware
from kedge.sim.clock import Clock
from kedge.sim.machines import BrokerMachine, broker_node
from kedge.sim.network import CONTROLLER_TIMEOUT_MS, Conditions, Network, Reply
from kedge.sim.seeds import Luck
from kedge.sim.truth import FileLedger, Observer, Truth
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Answer, Request
from kedge.store.tree import Transaction

PutEvent = Callable[[Event, Reply], None]

NO_CONTROLLER_MS = 500
CHECK_COPIES_MS = 1_000
LAG_MS = 30_000  # replica.lag.time.max.ms
FETCH_BYTES_MAX = 64 << 20
DIRECTORY = "/data/d{}"


class LabCluster:
    """All simulated components. Only the lab's thread may access them."""

    def __init__(self, settings: LabSettings, journal: Path, *, now_ms: int = 0) -> None:
        self.lab = settings
        self.clock = Clock()
        self.clock.now_ms = now_ms
        self.thread = ClockThread(self.clock, settings.speed)
        self.settings = Settings()
        self.timings = Timings(lag_ms=LAG_MS, fetch_bytes_max=FETCH_BYTES_MAX)
        self.touched: Touched = {}
        conditions = Conditions(delay_ms_min=1, delay_ms_max=1)
        self.network = Network(self.clock, Luck(settings.seed, "network"), conditions)
        self.truth = Truth(Observer())
        self.ledger = FileLedger(journal)
        self.truth.load(self.ledger.tree)
        self.ledger.committed = self._on_commit
        self.ensemble = MemoryEnsemble(journal=self.ledger, deliver=self.thread.post)
        self.machines: dict[BrokerId, BrokerMachine] = {}
        self.candidate_inbox: dict[BrokerId, PutEvent] = {}
        self._is_checking_copies = False
        hardware = Hardware(settings.disk_rate, settings.link_rate)
        self.bandwidth = BandwidthModel(self.clock, self.truth, hardware)

    def add(self, broker: Broker) -> BrokerMachine:
        """Add a broker that is not running yet."""
        names = tuple(DIRECTORY.format(number) for number in range(self.lab.log_dirs))
        machine = BrokerMachine(self, broker, Disks(names, self.touched))
        self.machines[broker.id] = machine
        self.bandwidth.add_broker(broker.id, names)
        return machine

    def _on_commit(self, transactions: Sequence[Transaction]) -> None:
        taken = list(transactions)
        self.thread.post(lambda: self._apply(taken))

    def _apply(self, transactions: Sequence[Transaction]) -> None:
        self.truth.follow(transactions)
        if any(a.path.startswith("/config/brokers/") for t in transactions for a in t.applied):
            self.bandwidth.set_throttles()

    # ---- used by machines and links ----

    def new_session(self, node: str) -> MemoryStore:
        """A session with the store."""
        del node
        return MemoryStore(self.ensemble)

    def batch(self, node: str, store: MemoryStore, requests: Sequence[Request]) -> list[Answer]:
        """Send requests to the store."""
        del node
        return store.batch(requests)

    def request_sent(self, controller: BrokerId, request: BrokerRequest) -> None:
        """A controller sends a request to a broker; the lab does not check it."""

    def ask_controller(
        self,
        source: str,
        controller: BrokerId | None,
        event: Event,
        answered: Reply,
        failed: Callable[[], None],
    ) -> None:
        """Send a request to the broker that the sender takes for the controller."""
        put = None if controller is None else self.candidate_inbox.get(controller)
        if put is None or controller is None:
            self.clock.after(NO_CONTROLLER_MS, failed)
            return
        self.network.call(
            source,
            broker_node(controller),
            lambda reply: put(event, reply),
            answered,
            failed,
            timeout_ms=CONTROLLER_TIMEOUT_MS,
        )

    def carry(
        self,
        fetch: Fetch,
        leader: BrokerId,
        fetched: Fetched,
        arrived: Callable[[], None],
        *,
        was_waiting: bool,
    ) -> Callable[[], object] | None:
        """Start to copy records to a follower. A follower that waited for them is caught up: its
        bandwidth is accounted for as traffic, and they arrive at once."""
        if was_waiting or not fetched.size_bytes:
            return None
        stop = self.bandwidth.copy_to_follower(fetch, leader, fetched, arrived)
        if not self._is_checking_copies:
            self._is_checking_copies = True
            self.clock.after(CHECK_COPIES_MS, self._check_copies)
        return stop

    def _check_copies(self) -> None:
        """Stop copies whose follower no longer fetches: its move was cancelled or topic deleted."""
        arriving = self.bandwidth.copies.arriving
        for broker, tp in list(arriving):
            process = self.machines[broker].process
            hosted = None if process is None else process.hosted.get(tp)
            if hosted is None or not hosted.is_following:
                self.bandwidth.copies.abandon((broker, tp))
        self._is_checking_copies = bool(arriving)
        if self._is_checking_copies:
            self.clock.after(CHECK_COPIES_MS, self._check_copies)
