"""A simulated cluster whose every write, request and acknowledged record is checked.

It counts and traces what happens, and runs timers with the checks of what they have changed.
`cluster_under_test` adds the controllers and the workload.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kedge.brokers.environment import FetchResponse
from kedge.brokers.partition_host import Timings
from kedge.controller.settings import Ibp, Settings
from kedge.model import Broker, BrokerId, Endpoint, TopicPartition
from kedge.model.broker_requests import BrokerRequest
from kedge.sim.bandwidth import Hardware
from kedge.sim.checkers import Checkers
from kedge.sim.cluster_metadata import FileJournal, MetadataObserver, VolatileJournal
from kedge.sim.coverage import Coverage
from kedge.sim.network import Conditions
from kedge.sim.rng import SeededRng
from kedge.sim.simulated_cluster import SimulatedCluster
from kedge.store.memory import Delivery
from kedge.store.port import Create
from kedge.store.znodes import BROKER_IDS, persistent_paths

MIN_COPY_BYTES = 1 << 20  # smaller responses arrive at once
NOTICE_DELAY_MS_MAX = 15
DIRECTORIES = ("d0", "d1")


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """The size of a cluster, its protocol version, and the mutation of its controllers."""

    brokers: int = 4
    controllers: int = 2
    topics_min: int = 2
    topics_max: int = 5
    partitions_max: int = 3
    ibp: str = "3.9"
    mutation: str = ""

    @staticmethod
    def drawn(rng: SeededRng, mutation: str = "") -> ClusterShape:
        """A random shape; protocol versions with and without topic ids and AlterPartition."""
        return ClusterShape(
            brokers=rng.between(3, 6),
            controllers=rng.between(2, 3),
            topics_max=rng.between(3, 6),
            ibp=rng.pick(("3.9", "3.9", "2.8", "2.6", "2.6")),
            mutation=mutation,
        )


class CheckedCluster(SimulatedCluster):
    """A simulated cluster with checkers, counts and a trace."""

    def __init__(
        self,
        seed: int,
        shape: ClusterShape,
        journal: VolatileJournal | FileJournal | None = None,
    ) -> None:
        self.seed = seed
        self.shape = shape
        self.coverage = Coverage()
        self.trace: Callable[[str], None] | None = None
        self.controller_ids: dict[str, BrokerId] = {}  # by name on the network
        self.checkers = Checkers(self, self.controller_ids)
        self._notice_rng = SeededRng(seed, "notices")
        self._delivered_ms: dict[object, int] = {}  # by session
        super().__init__(
            seed,
            VolatileJournal() if journal is None else journal,
            settings=Settings(ibp=Ibp.parse(shape.ibp)),
            timings=Timings(),
            conditions=Conditions(),
            hardware=Hardware(),
        )
        self._add_brokers(shape)

    def _add_brokers(self, shape: ClusterShape) -> None:
        self.batch("setup", self.new_session(), [Create(path) for path in persistent_paths()])
        for number in range(1, shape.brokers + 1):
            rack = f"r{number % 2}" if shape.brokers > 3 else None
            endpoint = Endpoint("PLAINTEXT", f"host{number}", 9092)
            self.add_broker(Broker(BrokerId(number), rack, endpoints=(endpoint,)), DIRECTORIES)

    # ---- trace and counts ----

    def trace_line(self, text: str) -> None:
        """Write a line to the trace, if there is one."""
        if self.trace is not None:
            self.trace(f"{self.clock.now_ms / 1000:9.3f}  {text}")

    def count(self, kind: str) -> None:
        """Count an event for the report."""
        self.coverage.counts[kind] += 1

    def count_acked(self, tp: TopicPartition, offset: int, identity: int) -> None:
        """Count and check a record that was acknowledged to its producer."""
        self.count("records acknowledged")
        self.checkers.record_acked(tp, offset, identity)

    # ---- differences from the lab ----

    def observer(self) -> MetadataObserver:
        """The checkers observe all committed changes."""
        return self.checkers

    def deliver(self, delivery: Delivery) -> None:
        """Deliver a notification after a random delay; those of one session stay in order."""
        store = delivery.store
        due_ms = self.clock.now_ms + self._notice_rng.draw(NOTICE_DELAY_MS_MAX)
        due_ms = max(due_ms, self._delivered_ms.get(store, 0))
        self._delivered_ms[store] = due_ms
        self.clock.at(due_ms, delivery)

    def arrives_at_once(self, response: FetchResponse, *, was_waiting: bool) -> bool:
        """Small responses arrive at once."""
        del was_waiting
        return response.size_bytes < MIN_COPY_BYTES

    def request_sent(self, controller: BrokerId, request: BrokerRequest) -> None:
        """Check a request of a controller to a broker."""
        self.checkers.request_sent(controller, request)

    # ---- store ----

    def exists(self, path: str) -> bool:
        """Whether a node exists in the store."""
        return path in self.ensemble.tree.nodes

    def registered(self) -> list[BrokerId]:
        """The brokers that are registered in the store."""
        names = self.ensemble.tree.nodes[BROKER_IDS].children or ()
        return sorted(BrokerId(int(name)) for name in names)

    # ---- logs ----

    def log_bytes(self, tp: TopicPartition) -> int:
        """The size of a partition's largest log."""
        logs = [machine.disks.find_any(tp) for machine in self.machines.values()]
        return max((log.size_bytes for log in logs if log is not None), default=0)

    def delete_stray_logs(self, topic: str) -> None:
        """Delete the logs that brokers still have of a deleted topic, as an operator does before
        the name is used again."""
        for machine in self.machines.values():
            for held in machine.disks.logs.values():
                for tp in [tp for tp in held if tp.topic == topic]:
                    del held[tp]
                    if machine.process is not None:
                        hosted = machine.process.hosted.pop(tp, None)
                        if hosted is not None:
                            hosted.drop()

    # ---- running ----

    def step(self) -> bool:
        """Run the next timer and the checks of what it has changed."""
        has_run = self.clock.step()
        if self.changed:
            self.checkers.check_changed()
        if self.checkers.violation is not None:
            raise self.checkers.violation
        return has_run

    def run_until(self, end_ms: int) -> None:
        """Run all timers up to an instant, with checks."""
        due_ms = self.clock.next_due_ms()
        while due_ms is not None and due_ms <= end_ms:
            self.step()
            due_ms = self.clock.next_due_ms()
        self.clock.now_ms = max(self.clock.now_ms, end_ms)
