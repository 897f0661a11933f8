"""Log directories for the endpoint, and moves of replicas between two directories of a broker.

A move creates a *future* replica in the other directory (KIP-113). Its data are copied through the
bandwidth model; once it has all of the log, it replaces the log. A broker that goes down keeps the
copied bytes and continues when it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.endpoint import LogDirState, ReplicaInDir
from kedge.errors import BrokerFailed, LogDirNotFound, ReplicaNotAvailable
from kedge.lab.lab_cluster import LabCluster
from kedge.model import BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.sim.broker_machine import BrokerMachine
from kedge.sim.transfers import Transfer, Transfers

CAUGHT_UP_BYTES = 1 << 20
ReplicaKey = tuple[BrokerId, TopicPartition]
SizeOf = Callable[[BrokerId, TopicPartition], int]


@dataclass
class FutureReplica:
    """A replica that is being copied to another directory."""

    target: str
    copied: float = 0.0  # by transfers that have ended
    transfer: Transfer | None = None


class LogDirs:
    """The log directories of all brokers. For the lab's thread."""

    def __init__(self, cluster: LabCluster, size_of: SizeOf) -> None:
        self.futures: dict[ReplicaKey, FutureReplica] = {}
        self._cluster = cluster
        self._size_of = size_of

    # ---- describing ----

    def describe(self, broker: BrokerId) -> list[LogDirState]:
        """A broker's directories with their replicas."""
        machine = self._cluster.machines[broker]
        capacity = self._cluster.lab.disk_bytes // len(machine.disks.logs)
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
        """Records between a follower's log end and the leader's high watermark."""
        process = machine.process
        hosted = None if process is None else process.hosted.get(tp)
        if hosted is None or hosted.leader_state is not None:
            return 0
        leader = None if hosted.leader is None else self._cluster.machines.get(hosted.leader)
        log = None if leader is None else leader.disks.find(tp)
        return 0 if log is None else max(log.high_watermark - hosted.log.end_offset, 0)

    def copied_bytes(self, future: FutureReplica) -> int:
        """The bytes of a future replica that have been copied."""
        transfer = future.transfer
        arrived = 0 if transfer is None else self._transfers.arrived_bytes(transfer)
        return int(future.copied + arrived)

    @property
    def _transfers(self) -> Transfers:
        return self._cluster.bandwidth.transfers

    # ---- moving ----

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """Start a move, or set the directory of a replica that does not exist yet."""
        disks = self._cluster.machines[broker].disks
        if path not in disks.logs:
            raise LogDirNotFound(f"broker {broker} has no directory {path!r}")
        if path in disks.failed:
            raise BrokerFailed(f"directory {path} of broker {broker} has failed")
        source = disks.directory_of(tp)
        if source is None:
            disks.requested_dirs[tp] = path
            raise ReplicaNotAvailable(f"broker {broker} has no replica of {tp} yet")
        known = self.futures.get((broker, tp))
        if known is not None and known.target == path:
            return
        self._cancel((broker, tp))
        if source != path:
            self.futures[broker, tp] = FutureReplica(path)
            self._copy((broker, tp))

    def pause(self, broker: BrokerId) -> None:
        """Stop the copies of a broker that goes down; the copied bytes are kept."""
        for (where, _), future in self.futures.items():
            if where == broker and future.transfer is not None:
                future.copied = self.copied_bytes(future)
                self._transfers.stop(future.transfer)
                future.transfer = None

    def resume(self, broker: BrokerId) -> None:
        """Continue the copies of a broker that is back."""
        for key in [key for key in self.futures if key[0] == broker]:
            self._copy(key)

    def _copy(self, key: ReplicaKey) -> None:
        broker, tp = key
        future, disks = self.futures[key], self._cluster.machines[broker].disks
        source = disks.directory_of(tp)
        if source is None or {source, future.target} & disks.failed:
            self._cancel(key)
            return
        left = self._size_of(broker, tp) - future.copied
        if left <= CAUGHT_UP_BYTES:
            del self.futures[key]
            disks.logs[future.target][tp] = disks.logs[source].pop(tp)
            return

        def arrived() -> None:
            if self.futures.get(key) is future:
                future.copied += left
                future.transfer = None
                self._copy(key)

        between = (source, future.target)
        future.transfer = self._cluster.bandwidth.copy_to_directory(broker, between, left, arrived)

    def _cancel(self, key: ReplicaKey) -> None:
        future = self.futures.pop(key, None)
        if future is not None and future.transfer is not None:
            self._transfers.stop(future.transfer)

    # ---- checkpoint ----

    def as_json(self) -> list[Any]:
        """The moves in progress, for the checkpoint."""
        return [
            [broker, tp.topic, tp.partition, future.target, self.copied_bytes(future)]
            for (broker, tp), future in self.futures.items()
        ]

    def load(self, rows: Sequence[Any]) -> None:
        """Restore the moves of a checkpoint."""
        for broker, topic, partition, target, copied in rows:
            key = (BrokerId(broker), TopicPartition(topic, partition))
            machine = self._cluster.machines.get(key[0])
            if machine is None:
                continue
            disks = machine.disks
            if target in disks.logs and disks.directory_of(key[1]) not in (None, target):
                self.futures[key] = FutureReplica(target, copied)


class EndpointLogDirs:
    """The log directories for the endpoint, which calls from other threads."""

    def __init__(self, cluster: LabCluster, log_dirs: LogDirs) -> None:
        self._cluster = cluster
        self._log_dirs = log_dirs

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        """A broker's directories with their replicas."""
        return self._cluster.thread.call(lambda: self._log_dirs.describe(broker))

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """Move a replica to a directory."""
        self._cluster.thread.call(lambda: self._log_dirs.move(broker, tp, path))
