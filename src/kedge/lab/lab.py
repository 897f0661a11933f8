"""The lab itself: everything wired together, started and ended in the right order."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kedge.endpoint import BackendDeps, ControllerBackend, EndpointThread, MetadataCaches, Rng
from kedge.endpoint import Endpoint as Server
from kedge.errors import (
    InvalidRequest,
    JournalDamaged,
    RequestTimedOut,
    StoreUnavailable,
    UnknownTopicOrPartition,
)
from kedge.files import with_path_context
from kedge.lab.directories import AskedDirectories, Directories
from kedge.lab.faults import Faults
from kedge.lab.folder import LOCK_S_MAX, FolderLock, LabFolder, open_or_make
from kedge.lab.keeper import Keeper
from kedge.lab.notices import drop_old_notices
from kedge.lab.sampling import SETTLED_MS, Row, Sampler, Sink, jsonl, write_tables
from kedge.lab.seats import Seat
from kedge.lab.settings import LabSettings
from kedge.lab.shape import cluster_settings
from kedge.lab.status import Looker
from kedge.lab.traffic import MINUTE_MS, Traffic
from kedge.lab.users import read_users
from kedge.lab.world import LabWorld
from kedge.model import Broker, BrokerId, Capacity, LogDir, TopicPartition
from kedge.model import Endpoint as Address
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.sim.seeds import Luck
from kedge.store.memory import MemoryStore

READY_S_MAX = 30.0
FILL_S_MAX = 30.0
LOOK_S = 0.005


class Lab:
    """A cluster in this process.

    with Lab.running(LabSettings(brokers=6, racks=3)) as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        lab.inject("broker-crash", 2)
    """

    def __init__(self, folder: LabFolder) -> None:
        self.folder = folder
        self.settings = folder.settings
        self.cluster_id = folder.cluster_id
        self._lock = FolderLock(folder.path)
        try:
            self._build(folder)
        except BaseException:
            self._lock.close()
            raise

    def _build(self, folder: LabFolder) -> None:
        named = folder.settings.sasl_users
        users = read_users(Path(named)) if named else None
        kept = Keeper.read(folder.logs)
        try:
            world = _opened(folder, int(kept.get("now_ms", 0)))
        except JournalDamaged as fault:
            raise InvalidRequest(fault.what, hint=fault.hint) from fault
        self.world = world
        self.dropped_bytes = world.ledger.dropped_bytes
        self.traffic = Traffic(world)
        self.directories = Directories(world, self.traffic.size_of)
        self.images = MetadataCaches()
        self.seats: dict[BrokerId, Seat] = {}
        self.faults = Faults(world, self.seats, self.directories, self.traffic)
        self.sampler = Sampler(world, self.traffic, folder.cluster_id, folder.epoch_ms)
        self.looker = Looker(world, self.traffic, self.directories, self.faults, folder.epoch_ms)
        self._sweeper = MemoryStore(world.ensemble)
        self.sampler.each_minute.append(lambda: drop_old_notices(self._sweeper))
        self.keeper = Keeper(world, folder.logs, self.traffic, self.directories)
        self._kept = kept
        self._has_begun = False
        self._store = MemoryStore(world.ensemble)
        create_persistent_nodes(self._store)
        self.backend = ControllerBackend(
            BackendDeps(
                self._store,
                self.images,
                self.seats,
                AskedDirectories(world, self.directories),
                folder.cluster_id,
                world.ensemble.journal_failure,
            ),
            settings=cluster_settings(folder.settings),
            rng=_luck(folder.settings.seed),
        )
        self.endpoint = EndpointThread(lambda: Server(self.backend, users=users))

    # ---- life ----

    @staticmethod
    @contextmanager
    def running(settings: LabSettings | None = None, path: Path | None = None) -> Generator[Lab]:
        """A lab for the time of a `with` block; without a path it leaves nothing behind."""
        asked = {} if settings is None else settings.as_json()
        with tempfile.TemporaryDirectory(prefix="kedge-lab-") as scratch:
            lab = Lab(open_or_make(path or Path(scratch) / "lab", asked))
            lab.start()
            try:
                yield lab
            finally:
                lab.stop()

    def start(self) -> None:
        """Start every broker, and wait until the cluster can be asked."""
        self.endpoint.start()
        try:
            for number in self.settings.ids:
                self._add(BrokerId(number))
            self.keeper.load(self._kept)
            self.folder.save()
            self.faults.on_start = lambda broker: self._listen(broker, self._port(broker))
            self.faults.on_stop = self.endpoint.close_node
            self._has_begun = True
            self.world.engine.start()
            self.world.engine.ask(self._start_all)
            self.until(self._is_ready, READY_S_MAX)
        except BaseException:
            self.stop()
            raise
        self.keeper.start()

    def _add(self, broker: BrokerId) -> None:
        """Listen, then be a machine that is known by its port."""
        chosen, known = self.settings.port, self.folder.ports.get(broker, 0)
        port = chosen + broker - self.settings.first_id if chosen else known
        try:
            port = self._listen(broker, port)
        except InvalidRequest:
            if chosen:
                raise
            port = self._listen(broker, 0)  # somebody else has what was ours last time
        self.folder.ports[broker] = port
        protocol = self.settings.protocol
        address = Address(protocol, self.settings.host, port, protocol)
        rack, lab = self.settings.rack_of(broker), self.settings
        capacity = Capacity(float(lab.disk_bytes), float(lab.link_rate), float(lab.link_rate))
        described = Broker(broker, rack, endpoints=(address,), capacity=capacity)
        machine = self.world.add(described)
        machine.broker = Broker(
            broker,
            rack,
            endpoints=(address,),
            capacity=capacity,
            log_dirs=tuple(LogDir(path) for path in machine.disks.logs),
        )
        self.seats[broker] = Seat(self.world, broker, self.images.wrap, self.world.settings)

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
        return self.folder.ports[broker]

    def _start_all(self) -> None:
        for broker, machine in self.world.machines.items():
            machine.start()
            self.directories.resume(broker)
        for seat in self.seats.values():
            seat.start()
        self.sampler.start()

    def _is_ready(self) -> bool:
        everybody = set(self.world.machines)
        known = [self.images.cache(broker).brokers.keys() >= everybody for broker in everybody]
        return all(known) and any(seat.view.active for seat in self.seats.values())

    def stop(self) -> None:
        """End everything, as suddenly as brokers end; what is on disk stays."""
        self.keeper.stop()
        self.endpoint.stop()
        self.backend.close()
        self.world.engine.stop()
        if self._has_begun:  # else the file still holds more than the disks do
            self.keeper.save_if_possible()
        for seat in self.seats.values():
            seat.crash(session_ends_ms=0)
        self.world.ensemble.close()
        self._lock.close()

    # ---- what people do with it ----

    @property
    def bootstrap_servers(self) -> str:
        """Where clients begin."""
        ports = (self._port(broker) for broker in self.world.machines)
        return ",".join(f"{self.settings.host}:{port}" for port in ports)

    def status(self) -> dict[str, Any]:
        """How the lab is."""
        seen = self.world.engine.ask(self.looker.status)
        about = {
            "cluster_id": self.cluster_id,
            "bootstrap_servers": self.bootstrap_servers,
            "storage_fault": self.world.ensemble.journal_failure() or self.keeper.fault,
        }
        return {"dir": str(self.folder.path), **about, **seen}

    def inject(self, kind: str, *arguments: object) -> str:
        """Let something go wrong, or right again; what happened."""
        texts = [str(argument) for argument in arguments]
        return self.world.engine.ask(lambda: self.faults.happen(kind, texts))

    def fill(self, topic: str, size_bytes: int, partition: int | None = None) -> int:
        """Write so many bytes to each partition of a topic, or to one; to how many. Returns when
        all replicas in sync have them."""
        if size_bytes <= 0:
            raise InvalidRequest("there must be some bytes to write")
        safe: list[TopicPartition] = []
        begun = self.world.engine.ask(lambda: self._fill(topic, size_bytes, partition, safe))
        self.until(lambda: len(safe) == begun, FILL_S_MAX)
        return begun

    def _fill(
        self, topic: str, size_bytes: int, partition: int | None, safe: list[TopicPartition]
    ) -> int:
        known = self.world.truth.topics.get(topic)
        if known is None or (partition is not None and partition not in known.partitions):
            raise UnknownTopicOrPartition(f"there is no {topic!r} with such a partition")
        chosen = list(known.partitions) if partition is None else [partition]
        for number in chosen:
            tp = TopicPartition(topic, number)
            self.traffic.fill(tp, size_bytes, lambda tp=tp: safe.append(tp))
        return len(chosen)

    def rush(self, minutes: float) -> None:
        """Let lab time pass as fast as it can."""
        self.world.engine.rush(int(minutes * MINUTE_MS))

    def sample(self, minutes: int) -> list[Row]:
        """The rows of the next minutes of lab time, which pass as fast as they can."""
        rows: list[Row] = []
        self.sample_into(rows.extend, minutes)
        return rows

    def sample_into(self, sink: Sink, minutes: int) -> None:
        """Hand each minute's rows over, on the lab's thread."""
        if not 1 <= minutes <= 1_000_000:
            raise InvalidRequest(f"{minutes} minutes cannot be sampled", hint="ask for 1 or more")
        left = minutes
        done = threading.Event()

        def take(rows: list[Row]) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self.sampler.sinks.remove(take)
                done.set()
            sink(rows)

        self.world.engine.ask(lambda: self.sampler.sinks.append(take))
        self.world.engine.rush(minutes * MINUTE_MS + SETTLED_MS, timeout_s=3_600.0)
        while not done.is_set():  # the last minute may have just missed the end of that
            self.world.engine.rush(SETTLED_MS)

    def sample_to(self, out: Path, minutes: int) -> int:
        """Write the next minutes' rows to a file and, beside it, the tables that they are about."""
        count = 0
        with with_path_context(out), out.open("wb") as file:

            def take(rows: list[Row]) -> None:
                nonlocal count
                count += len(rows)
                file.write(jsonl(rows))

            self.sample_into(take, minutes)
        tables = self.world.engine.ask(
            lambda: (
                self.looker.broker_rows(self.cluster_id),
                self.looker.partition_rows(self.cluster_id),
            )
        )
        write_tables(out.parent, *tables)
        return count

    def until(self, done: Callable[[], bool], timeout_s: float = READY_S_MAX) -> None:
        """Wait for what the lab's thread brings about."""
        deadline = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > deadline:
                raise RequestTimedOut(f"not reached within {timeout_s:.0f} s")
            time.sleep(LOOK_S)


def _opened(folder: LabFolder, now_ms: int) -> LabWorld:
    """The world on its journal, whose own lock may be let go of a moment after the folder's."""
    deadline = time.monotonic() + LOCK_S_MAX
    while True:
        try:
            return LabWorld(folder.settings, folder.journal, now_ms=now_ms)
        except StoreUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_S)


def _luck(seed: int) -> Rng:
    luck = Luck(seed, "placement")
    # ids must differ from lab to lab and from start to start: they are not drawn from the seed
    import secrets

    return Rng(luck.draw, secrets.token_bytes)
