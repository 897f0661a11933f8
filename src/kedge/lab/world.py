"""The simulated cluster on the lab's thread: brokers, candidates, network, store and transfers.

It is what `sim.World` is for a simulated run, without judges and without luck's mischief: machines
and links are the very same, and so is the fluid flow of data. What differs is who else is there:
the store is also written by the endpoint, from other threads, so every notice and every committed
transaction is carried to the lab's own thread before anybody looks at it.
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
from kedge.lab.engine import Engine
from kedge.lab.roads import Roads
from kedge.lab.settings import LabSettings
from kedge.model import Broker, BrokerId
from kedge.model.broker_requests import BrokerRequest
from kedge.sim.clock import Clock
from kedge.sim.machines import BrokerMachine, broker_node
from kedge.sim.network import CONTROLLER_TIMEOUT_MS, Conditions, Network, Reply
from kedge.sim.seeds import Luck
from kedge.sim.truth import FileLedger, Observer, Truth
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Answer, Request
from kedge.store.tree import Transaction

PUT = Callable[[Event, Reply], None]

NO_CONTROLLER_MS = 500
LOOK_AT_COPIES_MS = 1_000
LAG_MS = 30_000  # replica.lag.time.max.ms
FETCH_BYTES_MAX = 64 << 20
DIRECTORY = "/data/d{}"


class LabWorld:
    """Everything that is simulated. Only the lab's thread may look inside."""

    def __init__(self, settings: LabSettings, journal: Path, *, now_ms: int = 0) -> None:
        self.lab = settings
        self.clock = Clock()
        self.clock.now_ms = now_ms
        self.engine = Engine(self.clock, settings.speed)
        self.settings = Settings()
        self.timings = Timings(lag_ms=LAG_MS, fetch_bytes_max=FETCH_BYTES_MAX)
        self.touched: Touched = {}
        conditions = Conditions(delay_ms_min=1, delay_ms_max=1)
        self.network = Network(self.clock, Luck(settings.seed, "network"), conditions)
        self.truth = Truth(Observer())
        self.ledger = FileLedger(journal)
        self.truth.load(self.ledger.tree)
        self.ledger.committed = self._note_commits
        self.ensemble = MemoryEnsemble(journal=self.ledger, deliver=self.engine.post)
        self.machines: dict[BrokerId, BrokerMachine] = {}
        self.ask_candidate: dict[BrokerId, PUT] = {}
        self._is_looking = False  # whether copies are about to be looked at
        self.roads = Roads(self.clock, settings, self.truth)

    def add(self, broker: Broker) -> BrokerMachine:
        """A broker's machine, switched off."""
        names = tuple(DIRECTORY.format(number) for number in range(self.lab.log_dirs))
        machine = BrokerMachine(self, broker, Disks(names, self.touched))
        self.machines[broker.id] = machine
        self.roads.build(broker.id, names)
        return machine

    def _note_commits(self, transactions: Sequence[Transaction]) -> None:
        taken = list(transactions)
        self.engine.post(lambda: self._follow(taken))

    def _follow(self, transactions: Sequence[Transaction]) -> None:
        self.truth.follow(transactions)
        if any(a.path.startswith("/config/brokers/") for t in transactions for a in t.applied):
            self.roads.set_throttles()

    # ---- what machines and links stand on ----

    def new_session(self, node: str) -> MemoryStore:
        """A session with the store."""
        del node
        return MemoryStore(self.ensemble)

    def batch(self, node: str, store: MemoryStore, requests: Sequence[Request]) -> list[Answer]:
        """Requests to the store."""
        del node
        return store.batch(requests)

    def request_sent(self, controller: BrokerId, request: BrokerRequest) -> None:
        """A controller speaks to a broker; nobody judges that here."""

    def ask_controller(
        self,
        source: str,
        controller: BrokerId | None,
        event: Event,
        answered: Reply,
        failed: Callable[[], None],
    ) -> None:
        """Ask whoever is believed to be the controller; the belief may be wrong."""
        put = None if controller is None else self.ask_candidate.get(controller)
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
        """Take records to a follower. One that waited for them is in step with its leader: what it
        takes of the links is accounted for as traffic, and there is nothing to catch up on."""
        if was_waiting or not fetched.size_bytes:
            return None
        stop = self.roads.start(fetch, leader, fetched, arrived)
        if not self._is_looking:
            self._is_looking = True
            self.clock.after(LOOK_AT_COPIES_MS, self._look_at_copies)
        return stop

    def _look_at_copies(self) -> None:
        """End copies whose follower is none any more: its move was cancelled, its topic deleted."""
        for broker, tp in list(self.roads.arrivals.arriving):
            process = self.machines[broker].process
            hosted = None if process is None else process.hosted.get(tp)
            if hosted is None or not hosted.is_following:
                self.roads.arrivals.abandon((broker, tp))
        self._is_looking = bool(self.roads.arrivals.arriving)
        if self._is_looking:
            self.clock.after(LOOK_AT_COPIES_MS, self._look_at_copies)
