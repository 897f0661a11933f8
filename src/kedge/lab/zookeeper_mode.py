"""A lab in ZooKeeper mode: a controller candidate on every broker, elected through the store."""

from __future__ import annotations

import time

from kedge.endpoint import BackendDeps, ControllerBackend, MetadataCaches, Rng
from kedge.endpoint.dispatch import Node
from kedge.errors import StoreUnavailable
from kedge.lab.broker_settings import cluster_settings
from kedge.lab.config_change_gc import delete_old_config_changes
from kedge.lab.controller_candidates import ControllerCandidate
from kedge.lab.fault_injection import FaultInjector
from kedge.lab.lab_cluster import LabCluster
from kedge.lab.lab_dir import LOCK_S_MAX, LabDir
from kedge.lab.log_dirs import EndpointLogDirs, LogDirs
from kedge.lab.traffic_generator import TrafficGenerator
from kedge.model import BrokerId
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.store.memory import MemoryStore

POLL_S = 0.005


class ZooKeeperMode:
    """The parts of a lab that know the store."""

    def __init__(self, lab_dir: LabDir, caches: MetadataCaches, *, now_ms: int) -> None:
        self.cluster = _open_cluster(lab_dir, now_ms)
        self.candidates: dict[BrokerId, ControllerCandidate] = {}
        self._lab_dir = lab_dir
        self._caches = caches
        self._gc_store = MemoryStore(self.cluster.ensemble)

    def faults(self, log_dirs: LogDirs, traffic: TrafficGenerator) -> FaultInjector:
        """The faults that can be injected."""
        return FaultInjector(self.cluster, self.candidates, log_dirs, traffic)

    def backend(self, store: MemoryStore, log_dirs: LogDirs, rng: Rng) -> ControllerBackend:
        """What the endpoint's handlers use."""
        create_persistent_nodes(store)
        deps = BackendDeps(
            store,
            self._caches,
            self.candidates,
            EndpointLogDirs(self.cluster, log_dirs),
            self._lab_dir.cluster_id,
            self.storage_fault,
        )
        return ControllerBackend(deps, settings=cluster_settings(self._lab_dir.settings), rng=rng)

    def node(self, broker: BrokerId, own: Node) -> Node:
        """The node of a broker: every broker answers by itself."""
        del broker
        return own

    def storage_fault(self) -> str:
        """Why nothing can be stored now; empty if it can."""
        return self.cluster.ensemble.journal_failure()

    def each_minute(self) -> None:
        """Housekeeping of the store."""
        delete_old_config_changes(self._gc_store)

    def add(self, broker: BrokerId) -> None:
        """A broker was added to the cluster."""
        self.candidates[broker] = ControllerCandidate(
            self.cluster, broker, self._caches.wrap, self.cluster.settings
        )

    def load(self) -> None:
        """The store is loaded when it is opened."""

    def start(self) -> None:
        """Start the candidates; on the lab's thread, once all brokers were started."""
        for candidate in self.candidates.values():
            candidate.start()

    def is_ready(self) -> bool:
        """Whether there is a controller."""
        return any(candidate.view.active for candidate in self.candidates.values())

    def stop(self) -> None:
        """End the candidates; the lab's thread has ended."""
        for candidate in self.candidates.values():
            candidate.crash(session_ends_ms=0)


def _open_cluster(lab_dir: LabDir, now_ms: int) -> LabCluster:
    """Open the cluster on its journal; a killed process may release the journal's lock later than
    that of the directory."""
    deadline = time.monotonic() + LOCK_S_MAX
    while True:
        try:
            return LabCluster(lab_dir.settings, lab_dir.journal, now_ms=now_ms)
        except StoreUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)
