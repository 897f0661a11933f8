"""The simulated cluster of a lab: runs on the lab's thread and keeps its store in a journal.

The endpoint also writes to the store, from other threads; notifications and committed transactions
are therefore passed to the lab's thread before any component reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kedge.brokers.environment import FetchRequest, FetchResponse
from kedge.brokers.partition_host import Timings
from kedge.controller.settings import Settings
from kedge.lab.clock_thread import ClockThread
from kedge.lab.settings import LabSettings
from kedge.model import BrokerId, TopicPartition
from kedge.sim.bandwidth import Hardware
from kedge.sim.broker_machine import broker_node
from kedge.sim.clock import Clock
from kedge.sim.cluster_metadata import FileJournal
from kedge.sim.network import Conditions
from kedge.sim.simulated_cluster import ControllerAddress, PutEvent, SimulatedCluster
from kedge.store.memory import Delivery
from kedge.store.tree import Transaction

CHECK_COPIES_MS = 1_000
LAG_MS = 30_000  # replica.lag.time.max.ms
FETCH_BYTES_MAX = 64 << 20
DIRECTORY = "/data/d{}"


class LabCluster(SimulatedCluster):
    """The components of a lab's cluster. Only the lab's thread may access them."""

    def __init__(self, settings: LabSettings, journal: Path, *, now_ms: int = 0) -> None:
        clock = Clock(now_ms)
        # the ensemble commits the end of earlier sessions when it is created
        self.thread = ClockThread(clock, settings.speed)
        super().__init__(
            settings.seed,
            FileJournal(journal),
            settings=Settings(),
            timings=Timings(lag_ms=LAG_MS, fetch_bytes_max=FETCH_BYTES_MAX),
            conditions=Conditions(delay_ms_min=1, delay_ms_max=1),
            hardware=Hardware(settings.disk_rate, settings.link_rate),
            clock=clock,
        )
        self.lab = settings
        self.candidate_inbox: dict[BrokerId, PutEvent] = {}
        self.must_wait: Callable[[FetchRequest], bool] = lambda _: False  # set by the traffic
        self._is_checking_copies = False

    @property
    def directories(self) -> tuple[str, ...]:
        """The log directories of each broker."""
        return tuple(DIRECTORY.format(number) for number in range(self.lab.log_dirs))

    def deliver(self, delivery: Delivery) -> None:
        """Deliver notifications on the lab's thread."""
        self.thread.post(delivery)

    def on_commit(self, transactions: Sequence[Transaction]) -> None:
        """Apply committed transactions on the lab's thread."""
        committed, apply = list(transactions), super().on_commit
        self.thread.post(lambda: apply(committed))

    def controller_address(self, controller: BrokerId) -> ControllerAddress | None:
        """The controller candidate of a broker."""
        put = self.candidate_inbox.get(controller)
        return None if put is None else ControllerAddress(broker_node(controller), put)

    def arrives_at_once(self, response: FetchResponse, *, was_waiting: bool) -> bool:
        """A follower whose fetch was parked is caught up: its bandwidth is counted as traffic."""
        return was_waiting or not response.size_bytes

    def is_in_sync(self, broker: BrokerId, tp: TopicPartition) -> bool:
        """Whether a replica is in the committed ISR."""
        state = self.metadata.states.get(tp)
        return state is not None and broker in state.isr

    def holds_back(self, fetch: FetchRequest) -> bool:
        """Whether the traffic has just appended what a new follower has to copy."""
        return self.must_wait(fetch)

    def copy_records(
        self,
        fetch: FetchRequest,
        leader: BrokerId,
        response: FetchResponse,
        arrived: Callable[[], None],
        *,
        was_waiting: bool,
    ) -> Callable[[], object] | None:
        """Start to copy fetched records, and check the copies in progress from now on.

        Followers in the ISR have had the bytes of traffic before their record was appended: they
        fetch it without a copy, also when an election has interrupted their parked fetch.
        """
        if self.is_in_sync(fetch.follower, fetch.tp):
            return None
        stop = super().copy_records(fetch, leader, response, arrived, was_waiting=was_waiting)
        if stop is not None and not self._is_checking_copies:
            self._is_checking_copies = True
            self.clock.after(CHECK_COPIES_MS, self._check_copies)
        return stop

    def _check_copies(self) -> None:
        """Stop copies whose follower no longer fetches: its move was cancelled or topic deleted."""
        copies = self.bandwidth.copies
        for broker, tp in list(copies.in_progress):
            process = self.machines[broker].process
            hosted = None if process is None else process.hosted.get(tp)
            if hosted is None or not hosted.is_following:
                copies.cancel((broker, tp))
        self._is_checking_copies = bool(copies.in_progress)
        if self._is_checking_copies:
            self.clock.after(CHECK_COPIES_MS, self._check_copies)
