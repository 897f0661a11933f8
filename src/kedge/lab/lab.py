"""The lab: creates its components, starts and stops them in order, and offers its commands."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from kedge.endpoint import ControllerBackend, EndpointThread, MetadataCaches, Rng
from kedge.endpoint import Endpoint as Server
from kedge.endpoint.dispatch import Node
from kedge.errors import (
    InvalidRequest,
    JournalDamaged,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from kedge.files import with_path_context
from kedge.lab.fault_injection import FaultInjector
from kedge.lab.lab_cluster import LabCluster
from kedge.lab.lab_dir import LabDir, LabDirLock, open_or_create_lab_dir
from kedge.lab.log_checkpoint import LogCheckpoint
from kedge.lab.log_dirs import LogDirs
from kedge.lab.metrics_sampler import (
    SAMPLE_DELAY_MS,
    MetricsSampler,
    Row,
    Sink,
    jsonl,
    write_tables,
)
from kedge.lab.runs_log import RunsLog
from kedge.lab.runs_node import RunsNode
from kedge.lab.sasl_users import read_users
from kedge.lab.settings import LabSettings
from kedge.lab.status import StatusReporter
from kedge.lab.traffic_generator import MINUTE_MS, TrafficGenerator
from kedge.lab.zookeeper_mode import ZooKeeperMode
from kedge.model import Broker, BrokerId, Capacity, LogDir, TopicPartition
from kedge.model import Endpoint as Address
from kedge.sim.rng import SeededRng
from kedge.store.memory import MemoryStore

READY_S_MAX = 30.0
FILL_S_MAX = 30.0
POLL_S = 0.005


class Mode(Protocol):
    """Where a lab keeps its metadata, and who decides about it: ZooKeeper's way, or KRaft."""

    @property
    def cluster(self) -> LabCluster: ...
    def faults(self, log_dirs: LogDirs, traffic: TrafficGenerator) -> FaultInjector:
        """The faults that can be injected."""
        ...

    def backend(self, store: MemoryStore, log_dirs: LogDirs, rng: Rng) -> ControllerBackend:
        """What the endpoint's handlers use."""
        ...

    def node(self, broker: BrokerId, own: Node) -> Node:
        """The node of a broker on the network."""
        ...

    def add(self, broker: BrokerId) -> None:
        """A broker was added to the cluster."""
        ...

    def load(self) -> None:
        """Load the metadata, before the brokers' logs are checked against it."""
        ...

    def start(self) -> None:
        """Start the controllers; on the lab's thread, once all brokers were started."""
        ...

    def storage_fault(self) -> str:
        """Why nothing can be stored now; empty if it can."""
        ...

    def each_minute(self) -> None:
        """Housekeeping, every minute of lab time."""
        ...

    def is_ready(self) -> bool:
        """Whether there is a controller."""
        ...

    def stop(self) -> None:
        """End the controllers; the lab's thread has ended."""
        ...


class Lab:
    """A cluster in this process.

    with Lab.running(LabSettings(brokers=6, racks=3)) as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        lab.inject("broker-crash", 2)
    """

    def __init__(self, lab_dir: LabDir) -> None:
        self.lab_dir = lab_dir
        self.settings = lab_dir.settings
        self.cluster_id = lab_dir.cluster_id
        self._lock = LabDirLock(lab_dir.path)
        try:
            self._build(lab_dir)
        except BaseException:
            self._lock.close()
            raise

    def _build(self, lab_dir: LabDir) -> None:
        users_file = lab_dir.settings.sasl_users
        users = read_users(Path(users_file)) if users_file else None
        checkpoint = LogCheckpoint.read(lab_dir.logs)
        self.metadata_caches = MetadataCaches()
        mode = _kraft_mode() if lab_dir.settings.kraft else ZooKeeperMode
        try:
            self.mode: Mode = mode(
                lab_dir, self.metadata_caches, now_ms=int(checkpoint.get("now_ms", 0))
            )
        except JournalDamaged as fault:
            raise InvalidRequest(fault.what, hint=fault.hint) from fault
        self.cluster = cluster = self.mode.cluster
        self.dropped_bytes = cluster.journal.dropped_bytes
        self.traffic = TrafficGenerator(cluster)
        self.log_dirs = LogDirs(cluster, self.traffic.size_of)
        self.faults = self.mode.faults(self.log_dirs, self.traffic)
        self.sampler = MetricsSampler(cluster, self.traffic, lab_dir.cluster_id, lab_dir.epoch_ms)
        self.reporter = StatusReporter(
            cluster, self.traffic, self.log_dirs, self.faults, lab_dir.epoch_ms
        )
        self.sampler.each_minute.append(self.mode.each_minute)
        self.checkpoint = LogCheckpoint(cluster, lab_dir.logs, self.traffic, self.log_dirs)
        self._stored_logs = checkpoint
        self._is_restored = False
        store = MemoryStore(cluster.ensemble)
        self.backend = self.mode.backend(store, self.log_dirs, _rng(lab_dir.settings.seed))
        runs, clock = RunsLog(store), cluster.thread.clock
        speed = lab_dir.settings.speed
        self.endpoint = EndpointThread(
            lambda: Server(
                self.backend,
                users=users,
                wrap=lambda broker, own: self.mode.node(
                    broker,
                    RunsNode(own, runs, self.backend.thread, lambda: (clock.now_ms, speed)),
                ),
            )
        )

    # ---- life ----

    @staticmethod
    @contextmanager
    def running(settings: LabSettings | None = None, path: Path | None = None) -> Generator[Lab]:
        """A lab that runs during a `with` block; without a path its directory is temporary."""
        requested = {} if settings is None else settings.as_json()
        with tempfile.TemporaryDirectory(prefix="kedge-lab-") as scratch:
            lab = Lab(open_or_create_lab_dir(path or Path(scratch) / "lab", requested))
            lab.start()
            try:
                yield lab
            finally:
                lab.stop()

    def start(self) -> None:
        """Start every broker, and wait until the cluster serves requests."""
        self.endpoint.start()
        try:
            for number in self.settings.ids:
                self._add(BrokerId(number))
            self.mode.load()
            self.checkpoint.load(self._stored_logs)
            self.lab_dir.save()
            self.faults.on_start = lambda broker: self._listen(broker, self._port(broker))
            self.faults.on_stop = self.endpoint.close_node
            self._is_restored = True
            self.cluster.thread.start()
            self.cluster.thread.call(self._start_all)
            self.until(self._is_ready, READY_S_MAX)
        except BaseException:
            self.stop()
            raise
        self.checkpoint.start()

    def _add(self, broker: BrokerId) -> None:
        """Open the port of a broker, then add the broker with that port to the cluster."""
        chosen, known = self.settings.port, self.lab_dir.ports.get(broker, 0)
        port = chosen + broker - self.settings.first_id if chosen else known
        try:
            port = self._listen(broker, port)
        except InvalidRequest:
            if chosen:
                raise
            port = self._listen(broker, 0)  # the port of the last start is in use
        self.lab_dir.ports[broker] = port
        protocol = self.settings.protocol
        address = Address(protocol, self.settings.host, port, protocol)
        rack, lab = self.settings.rack_of(broker), self.settings
        capacity = Capacity(float(lab.disk_bytes), float(lab.link_rate), float(lab.link_rate))
        described = Broker(broker, rack, endpoints=(address,), capacity=capacity)
        machine = self.cluster.add_broker(described, self.cluster.directories)
        machine.broker = Broker(
            broker,
            rack,
            endpoints=(address,),
            capacity=capacity,
            log_dirs=tuple(LogDir(path) for path in machine.disks.logs),
        )
        self.mode.add(broker)

    def _listen(self, broker: BrokerId, port: int) -> int:
        host = self.settings.host
        try:
            return self.endpoint.open(broker, host, port, listener=self.settings.protocol)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise InvalidRequest(
                f"broker {broker} cannot listen on {host}:{port}: {why}",
                hint="choose another --port, or leave it out",
            ) from error

    def _port(self, broker: BrokerId) -> int:
        return self.lab_dir.ports[broker]

    def _start_all(self) -> None:
        for broker, machine in self.cluster.machines.items():
            machine.start()
            self.log_dirs.resume(broker)
        self.mode.start()
        self.sampler.start()

    def _is_ready(self) -> bool:
        brokers = set(self.cluster.machines)
        has_all = [
            self.metadata_caches.cache(broker).brokers.keys() >= brokers for broker in brokers
        ]
        return all(has_all) and self.mode.is_ready()

    def stop(self) -> None:
        """Stop everything without a controlled shutdown; the directory keeps the state."""
        self.checkpoint.stop()
        self.endpoint.stop()
        self.backend.close()
        self.cluster.thread.stop()
        if self._is_restored:  # otherwise the file has logs that were not loaded yet
            self.checkpoint.save_if_possible()
        self.mode.stop()
        self.cluster.ensemble.close()
        self._lock.close()

    # ---- commands ----

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers."""
        ports = (self._port(broker) for broker in self.cluster.machines)
        return ",".join(f"{self.settings.host}:{port}" for port in ports)

    def status(self) -> dict[str, Any]:
        """The state of the lab."""
        seen = self.cluster.thread.call(self.reporter.status)
        about = {
            "cluster_id": self.cluster_id,
            "bootstrap_servers": self.bootstrap_servers,
            "storage_fault": self.mode.storage_fault() or self.checkpoint.fault,
        }
        return {"dir": str(self.lab_dir.path), **about, **seen}

    def inject(self, kind: str, *arguments: object) -> str:
        """Inject or repair a fault; returns a sentence about its effect."""
        texts = [str(argument) for argument in arguments]
        return self.cluster.thread.call(lambda: self.faults.inject(kind, texts))

    def fill(self, topic: str, size_bytes: int, partition: int | None = None) -> int:
        """Write bytes to each partition of a topic, or to one, and wait until all in-sync replicas
        have them; returns the number of partitions."""
        if size_bytes <= 0:
            raise InvalidRequest("the size must be at least 1 byte")
        filled: list[TopicPartition] = []
        begun = self.cluster.thread.call(lambda: self._fill(topic, size_bytes, partition, filled))
        self.until(lambda: len(filled) == begun, FILL_S_MAX)
        return begun

    def _fill(
        self, topic: str, size_bytes: int, partition: int | None, filled: list[TopicPartition]
    ) -> int:
        known = self.cluster.metadata.topics.get(topic)
        if known is None or (partition is not None and partition not in known.partitions):
            raise UnknownTopicOrPartition(f"{topic!r} has no such partition")
        chosen = list(known.partitions) if partition is None else [partition]
        for number in chosen:
            tp = TopicPartition(topic, number)
            self.traffic.fill(tp, size_bytes, lambda tp=tp: filled.append(tp))
        return len(chosen)

    def fast_forward(self, minutes: float) -> None:
        """Run a span of lab time as fast as possible."""
        self.cluster.thread.fast_forward(int(minutes * MINUTE_MS))

    def sample(self, minutes: int) -> list[Row]:
        """The rows of the next minutes of lab time, which run as fast as possible."""
        rows: list[Row] = []
        self.sample_into(rows.extend, minutes)
        return rows

    def sample_into(self, sink: Sink, minutes: int) -> None:
        """Call `sink` with the rows of each minute, on the lab's thread."""
        if not 1 <= minutes <= 1_000_000:
            raise InvalidRequest(f"{minutes} minutes cannot be sampled", hint="use 1 to 1,000,000")
        left = minutes
        done = threading.Event()

        def take(rows: list[Row]) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self.sampler.sinks.remove(take)
                done.set()
            sink(rows)

        self.cluster.thread.call(lambda: self.sampler.sinks.append(take))
        self.cluster.thread.fast_forward(minutes * MINUTE_MS + SAMPLE_DELAY_MS, timeout_s=3_600.0)
        while not done.is_set():  # the last sample may be due right after that span
            self.cluster.thread.fast_forward(SAMPLE_DELAY_MS)

    def sample_to(self, out: Path, minutes: int) -> int:
        """Write the rows of the next minutes to a file, and the cluster's tables beside it."""
        count = 0
        with with_path_context(out), out.open("wb") as file:

            def take(rows: list[Row]) -> None:
                nonlocal count
                count += len(rows)
                file.write(jsonl(rows))

            self.sample_into(take, minutes)
        tables = self.cluster.thread.call(
            lambda: (
                self.reporter.broker_rows(self.cluster_id),
                self.reporter.partition_rows(self.cluster_id),
            )
        )
        write_tables(out.parent, *tables)
        return count

    def until(self, done: Callable[[], bool], timeout_s: float = READY_S_MAX) -> None:
        """Wait until a predicate holds."""
        deadline = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > deadline:
                raise RequestTimedOut(f"condition not met within {timeout_s:.0f} s")
            time.sleep(POLL_S)


def _kraft_mode() -> Callable[..., Mode]:
    from kedge.lab.kraft.kraft_mode import KraftMode  # only where it is used: it costs a start time

    return KraftMode


def _rng(seed: int) -> Rng:
    placement = SeededRng(seed, "placement")
    # topic ids must differ between labs and starts, so they are not derived from the seed
    import secrets

    return Rng(placement.draw, secrets.token_bytes)
