"""A lab in KRaft mode: controllers of their own, and brokers that follow their log."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kedge.endpoint import BackendDeps, ControllerBackend, MetadataCaches, Rng
from kedge.endpoint.dispatch import Node
from kedge.errors import RequestTimedOut
from kedge.lab.broker_settings import cluster_settings
from kedge.lab.fault_injection import FaultInjector
from kedge.lab.kraft.forwarding_node import ForwardingNode
from kedge.lab.kraft.kraft_backend import KraftBackend
from kedge.lab.kraft.kraft_cluster import KraftLabCluster
from kedge.lab.kraft.kraft_faults import KraftFaultInjector
from kedge.lab.kraft.kraft_machine import KraftBrokerMachine
from kedge.lab.kraft.quorum_client import QuorumClient
from kedge.lab.lab_dir import LabDir
from kedge.lab.log_dirs import EndpointLogDirs, LogDirs
from kedge.lab.traffic_generator import TrafficGenerator
from kedge.metadata import Image
from kedge.model import BrokerId
from kedge.model.broker_requests import UpdateMetadata
from kedge.store.memory import MemoryStore
from kedge.topics import V4_1

FIRST_LEADER_MS = 60_000
STEP_MS = 100


class KraftMode:
    """The parts of a lab that know the controllers' log."""

    def __init__(self, lab_dir: LabDir, caches: MetadataCaches, *, now_ms: int) -> None:
        self._settings = replace(cluster_settings(lab_dir.settings), release=V4_1)
        self.cluster = KraftLabCluster(
            lab_dir.settings,
            lab_dir.path,
            lab_dir.journal,
            lab_dir.cluster_id,
            epoch_ms=lab_dir.epoch_ms,
            properties=self._settings.properties(),
            now_ms=now_ms,
        )
        self._lab_dir = lab_dir
        self._caches = caches
        self._client = QuorumClient(self.cluster.thread, self.cluster.quorum)

    def faults(self, log_dirs: LogDirs, traffic: TrafficGenerator) -> FaultInjector:
        """The faults that can be injected."""
        return KraftFaultInjector(self.cluster, log_dirs, traffic)

    def backend(self, store: MemoryStore, log_dirs: LogDirs, rng: Rng) -> ControllerBackend:
        """What the endpoint's handlers use."""
        deps = BackendDeps(
            store,
            self._caches,
            {},
            EndpointLogDirs(self.cluster, log_dirs),
            self._lab_dir.cluster_id,
            self.storage_fault,
        )
        return KraftBackend(deps, self._client, self._image, settings=self._settings, rng=rng)

    def _image(self) -> Image:
        return self.cluster.image

    def node(self, broker: BrokerId, own: Node) -> Node:
        """The node of a broker, which forwards changes."""
        return ForwardingNode(broker, own, self._client, self.cluster.quorum)

    def storage_fault(self) -> str:
        """Why nothing can be stored now; empty if it can."""
        return self.cluster.quorum.storage_fault() or self.cluster.ensemble.journal_failure()

    def each_minute(self) -> None:
        """Nothing to tidy up: the log is shortened by snapshots."""

    def add(self, broker: BrokerId) -> None:
        """A broker was added to the cluster."""
        machine = self.cluster.machines[broker]
        assert isinstance(machine, KraftBrokerMachine)
        machine.on_metadata = partial(self._take, broker)

    def _take(self, broker: BrokerId, update: UpdateMetadata, is_first: bool) -> None:
        if is_first:
            self._caches.forget(broker)
        self._caches.accepted(update)

    def load(self) -> None:
        """Start the controllers and wait for an active one: the logs are checked against it."""
        quorum, clock = self.cluster.quorum, self.cluster.clock
        quorum.start()
        deadline = clock.now_ms + FIRST_LEADER_MS
        while quorum.active is None:
            if clock.now_ms > deadline:
                raise RequestTimedOut("no controller becomes active")
            clock.run_until(clock.now_ms + STEP_MS)

    def start(self) -> None:
        """The controllers run since the start of the lab."""

    def is_ready(self) -> bool:
        """Whether there is a controller."""
        return self.cluster.quorum.active is not None

    def stop(self) -> None:
        """End the controllers; the lab's thread has ended."""
        self.cluster.quorum.stop()
