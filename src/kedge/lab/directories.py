"""Log directories as the endpoint asks for them, and replicas on their way between two of them.

A move makes a *future* replica in the other directory (KIP-113). It is copied by the flow of data
like everything else; when it has all that the log has, it takes the log's place. A broker that goes
down keeps what was copied and goes on when it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.endpoint import LogDirState, ReplicaInDir
from kedge.errors import BrokerFailed, LogDirNotFound, ReplicaNotAvailable
from kedge.lab.world import LabWorld
from kedge.model import BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.sim.machines import BrokerMachine
from kedge.sim.transfers import Transfer

NEARLY_THERE_BYTES = 1 << 20
Place = tuple[BrokerId, TopicPartition]
SizeOf = Callable[[BrokerId, TopicPartition], int]


@dataclass
class Future:
    """A replica on its way to another directory."""

    target: str
    copied: float = 0.0  # by transfers that are over
    transfer: Transfer | None = None


class Directories:
    """All directories of the lab. For the lab's thread."""

    def __init__(self, world: LabWorld, size_of: SizeOf) -> None:
        self.futures: dict[Place, Future] = {}
        self._world = world
        self._size_of = size_of

    # ---- describing ----

    def describe(self, broker: BrokerId) -> list[LogDirState]:
        """A broker's directories with what is in them."""
        machine = self._world.machines[broker]
        capacity = self._world.lab.disk_bytes // len(machine.disks.logs)
        return [self._state(machine, path, capacity) for path in machine.disks.logs]

    def _state(self, machine: BrokerMachine, path: str, capacity: int) -> LogDirState:
        if path in machine.disks.failed:
            return LogDirState(path, error=ErrorCode.KAFKA_STORAGE_ERROR)
        replicas = tuple(self._replicas(machine, path))
        used = sum(replica.size_bytes for replica in replicas)
        return LogDirState(path, replicas, ErrorCode.NONE, capacity, max(capacity - used, 0))

    def _replicas(self, machine: BrokerMachine, path: str) -> Iterator[ReplicaInDir]:
        for tp in sorted(machine.disks.logs[path]):
            yield ReplicaInDir(tp, self._size_of(machine.id, tp), self._lag(machine, tp))
        for (broker, tp), future in sorted(self.futures.items()):
            if broker == machine.id and future.target == path:
                copied = self.copied_bytes(future)
                behind = max(self._size_of(broker, tp) - copied, 0)
                yield ReplicaInDir(tp, copied, behind, is_future=True)

    def _lag(self, machine: BrokerMachine, tp: TopicPartition) -> int:
        """How many records a follower is behind what is committed, as far as anybody can tell."""
        process = machine.process
        hosted = None if process is None else process.hosted.get(tp)
        if hosted is None or hosted.leading is not None:
            return 0
        leader = None if hosted.leader is None else self._world.machines.get(hosted.leader)
        log = None if leader is None else leader.disks.find(tp)
        return 0 if log is None else max(log.high_watermark - hosted.log.end_offset, 0)

    def copied_bytes(self, future: Future) -> int:
        """How much of a future replica is there."""
        under_way = future.transfer
        arrived = 0 if under_way is None else self._world.roads.transfers.arrived_bytes(under_way)
        return int(future.copied + arrived)

    # ---- moving ----

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """Begin a move, or say where a replica is to be once it comes."""
        disks = self._world.machines[broker].disks
        if path not in disks.logs:
            raise LogDirNotFound(f"broker {broker} has no directory {path!r}")
        if path in disks.failed:
            raise BrokerFailed(f"directory {path} of broker {broker} has failed")
        source = disks.directory_of(tp)
        if source is None:
            disks.wishes[tp] = path
            raise ReplicaNotAvailable(f"broker {broker} has no replica of {tp} yet")
        known = self.futures.get((broker, tp))
        if known is not None and known.target == path:
            return
        self._give_up((broker, tp))
        if source != path:
            self.futures[broker, tp] = Future(path)
            self._copy((broker, tp))

    def stop(self, broker: BrokerId) -> None:
        """A broker went down: what was copied stays."""
        for (where, _), future in self.futures.items():
            if where == broker and future.transfer is not None:
                future.copied = self.copied_bytes(future)
                self._world.roads.transfers.stop(future.transfer)
                future.transfer = None

    def resume(self, broker: BrokerId) -> None:
        """A broker is back: go on where it stopped."""
        for place in [place for place in self.futures if place[0] == broker]:
            self._copy(place)

    def _copy(self, place: Place) -> None:
        broker, tp = place
        future, disks = self.futures[place], self._world.machines[broker].disks
        source = disks.directory_of(tp)
        if source is None or {source, future.target} & disks.failed:
            self._give_up(place)
            return
        left = disks.logs[source][tp].size_bytes - future.copied
        if left <= NEARLY_THERE_BYTES:
            del self.futures[place]
            disks.logs[future.target][tp] = disks.logs[source].pop(tp)
            return

        def arrived() -> None:
            if self.futures.get(place) is future:
                future.copied += left
                future.transfer = None
                self._copy(place)

        between = (source, future.target)
        future.transfer = self._world.roads.start_between(broker, tp, between, left, arrived)

    def _give_up(self, place: Place) -> None:
        future = self.futures.pop(place, None)
        if future is not None and future.transfer is not None:
            self._world.roads.transfers.stop(future.transfer)

    # ---- keeping ----

    def as_json(self) -> list[Any]:
        """What is under way, for the lab's file."""
        return [
            [broker, tp.topic, tp.partition, future.target, self.copied_bytes(future)]
            for (broker, tp), future in self.futures.items()
        ]

    def load(self, rows: Sequence[Any]) -> None:
        """Take up again what the file says."""
        for broker, topic, partition, target, copied in rows:
            place = (BrokerId(broker), TopicPartition(topic, partition))
            machine = self._world.machines.get(place[0])
            if machine is None:
                continue
            disks = machine.disks
            if target in disks.logs and disks.directory_of(place[1]) not in (None, target):
                self.futures[place] = Future(target, copied)


class AskedDirectories:
    """The same for the endpoint, whose questions come from another thread."""

    def __init__(self, world: LabWorld, directories: Directories) -> None:
        self._world = world
        self._directories = directories

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        """All directories of a broker, with all that is in them."""
        return self._world.engine.ask(lambda: self._directories.describe(broker))

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """Move a replica to a directory."""
        self._world.engine.ask(lambda: self._directories.move(broker, tp, path))
