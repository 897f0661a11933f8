"""One partition of a cluster in memory: its replicas, leader, ISR and log directories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from kedge.cluster.port import Election
from kedge.errors import (
    ElectionNotNeeded,
    InvalidReplicaAssignment,
    LeaderNotAvailable,
    LogDirNotFound,
    NoReassignmentInProgress,
    ReplicaNotAvailable,
)
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition

LOG_DIRS = ("/data/a", "/data/b")

Alive = Collection[BrokerId]


@dataclass(slots=True)
class MemoryPartition:
    """The state of a partition. `preferred` are directories that were set before a replica came."""

    tp: TopicPartition
    assignment: ReplicaAssignment
    leader: BrokerId | None
    isr: tuple[BrokerId, ...]
    directories: dict[BrokerId, str] = field(default_factory=dict[BrokerId, str])
    future: dict[BrokerId, str] = field(default_factory=dict[BrokerId, str])
    preferred: dict[BrokerId, str] = field(default_factory=dict[BrokerId, str])

    @staticmethod
    def created(tp: TopicPartition, ids: Sequence[BrokerId], alive: Alive) -> MemoryPartition:
        """A new partition on these brokers."""
        in_sync = tuple(b for b in ids if b in alive)
        leader = in_sync[0] if in_sync else None
        directories = {broker: LOG_DIRS[0] for broker in ids}
        return MemoryPartition(tp, ReplicaAssignment(tuple(ids)), leader, in_sync, directories)

    # ---- brokers come and go --------------------------------------------------------------------

    def broker_stopped(self, broker: BrokerId, alive: Alive) -> None:
        """The broker leaves the ISR, unless it is the last in it, and does not lead."""
        others = tuple(b for b in self.isr if b != broker)
        self.isr = others or self.isr
        if self.leader == broker:
            self.leader = next((b for b in others if b in alive), None)

    def broker_started(self, alive: Alive) -> None:
        """Replicas on live brokers are in sync at once."""
        self.isr = tuple(b for b in self.assignment.replicas if b in alive)
        if self.leader is None and self.isr:
            self.leader = self.isr[0]

    # ---- moves ----------------------------------------------------------------------------------

    def move(self, target: Sequence[BrokerId] | None, alive: set[BrokerId], *, hold: bool) -> None:
        """Start a move, change its target, or cancel it (None); it ends at once unless held."""
        now = self.assignment
        if target is None:
            if not now.in_progress:
                raise NoReassignmentInProgress(f"{self.tp} is not being moved")
            target = now.origin
        elif not target or len(set(target)) < len(target) or set(target) - alive:
            raise InvalidReplicaAssignment(f"{self.tp} cannot be on {list(target)}")
        wanted, origin = tuple(target), now.origin
        full = tuple(dict.fromkeys(wanted + origin))
        adding = tuple(b for b in full if b not in origin)
        removing = tuple(b for b in full if b not in wanted)
        self.assignment = ReplicaAssignment(full, adding, removing)
        if not hold or not (adding or removing):
            self.finish_reassignment(alive)

    def finish_moves(self, alive: Alive) -> None:
        """Moves between brokers and between log directories end."""
        if self.assignment.in_progress:
            self.finish_reassignment(alive)
        self.directories |= self.future
        self.future.clear()

    def finish_reassignment(self, alive: Alive) -> None:
        """The move between brokers ends: its target is in sync."""
        target = self.assignment.target
        self.assignment = ReplicaAssignment(target)
        self.isr = tuple(b for b in target if b in alive)
        chosen = {b: self.preferred.pop(b, LOG_DIRS[0]) for b in target}
        self.directories = {b: self.directories.get(b, chosen[b]) for b in target}
        self.future = {b: path for b, path in self.future.items() if b in target}
        if self.leader not in target:
            self.leader = self.isr[0] if self.isr else None

    def change_log_dir(self, broker: BrokerId, path: str, *, hold: bool) -> None:
        """Move a replica to another log directory, or prefer that for a replica to come."""
        check_log_dir(path)
        if broker not in self.directories:
            self.preferred[broker] = path
            raise ReplicaNotAvailable("the broker does not have this replica")
        self.future.pop(broker, None)
        if hold and self.directories[broker] != path:
            self.future[broker] = path
        else:
            self.directories[broker] = path

    # ---- elections ------------------------------------------------------------------------------

    def elect(self, election: Election, alive: Alive) -> None:
        """Elect the preferred leader, or any live replica where the partition has no leader."""
        replicas = self.assignment.replicas
        if election is Election.PREFERRED:
            if self.leader == replicas[0]:
                raise ElectionNotNeeded(f"{self.tp} has its preferred leader")
            if replicas[0] not in self.isr or replicas[0] not in alive:
                raise LeaderNotAvailable(f"broker {replicas[0]} cannot lead {self.tp}")
            self.leader = replicas[0]
            return
        if self.leader is not None:
            raise ElectionNotNeeded(f"{self.tp} has a leader")
        candidates = [b for b in replicas if b in alive]
        if not candidates:
            raise LeaderNotAvailable(f"no replica of {self.tp} is alive")
        self.leader, self.isr = candidates[0], (candidates[0],)


def check_log_dir(path: str) -> None:
    """Refuse a log directory that brokers in memory do not have."""
    if path not in LOG_DIRS:
        raise LogDirNotFound("the broker has no such log directory")
