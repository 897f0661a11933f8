"""A disk that loses what was not synced, and may lose power in the middle of a write."""

from __future__ import annotations

from dataclasses import dataclass, field

from kedge.quorum.log import Log, SnapshotInfo
from kedge.quorum.node import (
    AppendBatches,
    DeleteLogBefore,
    InstallSnapshot,
    StoreElection,
    TruncateLog,
    Write,
    WriteSnapshotPart,
)
from kedge.quorum.values import Election, EpochOffset


@dataclass(slots=True)
class Content:
    """What is on a disk."""

    election: Election = field(default_factory=Election)
    log: Log = field(default_factory=Log)
    snapshots: dict[EpochOffset, bytes] = field(default_factory=dict[EpochOffset, bytes])
    parts: dict[EpochOffset, bytes] = field(default_factory=dict[EpochOffset, bytes])

    def copy(self) -> Content:
        """The same content, independent of this one."""
        return Content(self.election, self.log, dict(self.snapshots), dict(self.parts))


class Disk:
    """The disk of one node."""

    def __init__(self) -> None:
        self.durable = Content()
        self._written = Content()
        self.crash_in: int | None = None  # the power fails in this many writes and syncs
        self.is_synced_always = True  # False: a mutation
        self._unsynced = 0
        self.writes = 0
        self.crashes = 0  # in the middle of a write

    def carry_out(self, writes: tuple[Write, ...]) -> bool:
        """Write in sequence and sync; False if the power failed before, within or after a write."""
        for write in writes:
            if self._fails_now():
                self._write_torn(write)
                return False
            self._write(write)
        self.writes += len(writes)
        if writes:
            self._sync()
        return not (writes and self._fails_now())

    def _fails_now(self) -> bool:
        if self.crash_in is None:
            return False
        self.crash_in -= 1
        self.crashes += self.crash_in == 0
        return self.crash_in <= 0

    def put_snapshot(self, snapshot: SnapshotInfo, data: bytes) -> None:
        """Store a snapshot that the state machine above has made."""
        self._written.snapshots[snapshot.id] = data
        self._written.log = self._written.log.with_snapshot(snapshot)
        self._sync()

    def lose_power(self) -> None:
        """Forget what is not durable."""
        self.crash_in = None
        self._written = self.durable.copy()
        self._written.parts.clear()

    def _sync(self) -> None:
        self._unsynced += 1
        if self.is_synced_always or self._unsynced % 50 == 0:
            self.durable = self._written.copy()

    def _write_torn(self, write: Write) -> None:
        """What came before is on the disk, and of an append the first half."""
        if isinstance(write, AppendBatches) and len(write.batches) > 1:
            half = write.batches[: len(write.batches) // 2]
            self._write(AppendBatches(half))
        self._sync()

    def _write(self, write: Write) -> None:
        now = self._written
        match write:
            case StoreElection(election):
                now.election = election
            case AppendBatches(batches):
                now.log = now.log.appended(batches)
            case TruncateLog(offset):
                now.log = now.log.truncated(offset)
            case WriteSnapshotPart(snapshot_id, position, data):
                now.parts[snapshot_id] = now.parts.get(snapshot_id, b"")[:position] + data
            case InstallSnapshot(snapshot):
                now.snapshots = {snapshot.id: now.parts.pop(snapshot.id)}
                now.log = now.log.replaced_by(snapshot)
            case DeleteLogBefore(snapshot_id):
                now.log = now.log.deleted_before(snapshot_id)
                now.snapshots = {i: d for i, d in now.snapshots.items() if i >= snapshot_id}
