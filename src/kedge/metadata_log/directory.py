"""One directory of a controller: what raft wants written, and what it is started from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from kedge.kraft import Found, SnapshotDue
from kedge.metadata import Versioned, snapshot
from kedge.metadata_log import checkpoints
from kedge.metadata_log.batches import bytes_of
from kedge.metadata_log.checkpoints import SnapshotVoters
from kedge.metadata_log.files import replace_file, sync_directory
from kedge.metadata_log.formatting import PARTITION
from kedge.metadata_log.quorum_state import read_election, write_election
from kedge.metadata_log.segments import Segments
from kedge.quorum.leading import NO_OFFSET
from kedge.quorum.log import BOOTSTRAP_SNAPSHOT, EpochStart, Log, SnapshotInfo
from kedge.quorum.node import (
    AppendBatches,
    DeleteLogBefore,
    InstallSnapshot,
    StoreElection,
    TruncateLog,
    Write,
    WriteSnapshotPart,
)
from kedge.quorum.values import Batch, EpochOffset, KRaftVersionChange, VotersChange, VoterSet

_TOPIC = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


class MetadataDirectory:
    """The files of one controller, with one writer."""

    def __init__(self, directory: Path, static_voters: VoterSet, *, now_ms: Callable[[], int]):
        self.path = directory / PARTITION
        self._voters = static_voters
        self._kraft_version = 0
        self._now_ms = now_ms
        self._segments = Segments(self.path)
        self._epochs: tuple[EpochStart, ...] = ()

    # ---- opening ---------------------------------------------------------------------------------

    def open(self) -> Found:
        """Read everything that is there; a torn append is cut off."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / "partition.metadata").exists():
            replace_file(self.path / "partition.metadata", _TOPIC)
        checkpoints.remove_unfinished(self.path)
        snapshots = checkpoints.found_in(self.path)
        usable = tuple(known for known in snapshots if known.id != BOOTSTRAP_SNAPSHOT)
        log = Log.loaded(self._segments.open(), usable)
        if not log.batches and usable:
            self._segments.restart(log.end)
        self._epochs = log.epochs
        voters, offset = self._voters, NO_OFFSET
        if snapshots:
            found = checkpoints.voters_of(self._path(snapshots[-1].id).read_bytes())
            self._kraft_version, voters = found.kraft_version, found.voters or voters
            offset = snapshots[-1].id.offset - 1
        self._note(log.batches)
        version = self._kraft_version if snapshots else 0
        return Found(log, read_election(self.path), voters, version, offset)

    def close(self) -> None:
        """Close all files."""
        self._segments.close()

    def _note(self, batches: Iterable[Batch]) -> None:
        """Follow the voters and the kraft.version, which quorum-state depends on."""
        for batch in batches:
            for record in batch.control:
                if isinstance(record, KRaftVersionChange):
                    self._kraft_version = record.version
                elif isinstance(record, VotersChange):
                    self._voters = record.voters

    # ---- writing ---------------------------------------------------------------------------------

    def carry_out(self, writes: Iterable[Write]) -> None:
        """Carry out writes in sequence, each synced before the next."""
        for write in writes:
            self._carry_out(write)

    def _carry_out(self, write: Write) -> None:
        match write:
            case StoreElection(election):
                write_election(self.path, election, self._voters, self._kraft_version)
            case AppendBatches(batches):
                self._append(batches)
            case TruncateLog(offset):
                self._segments.truncate(offset)
                self._store_epochs(tuple(e for e in self._epochs if e.offset < offset))
            case WriteSnapshotPart(snapshot_id, position, data):
                self._write_part(snapshot_id, position, data)
            case InstallSnapshot(info):
                self._install(info)
            case DeleteLogBefore(snapshot_id):
                self._segments.drop_before(snapshot_id.offset)
                self._drop_snapshots(before=snapshot_id)

    def _append(self, batches: tuple[Batch, ...]) -> None:
        now_ms = self._now_ms()
        self._segments.append([(batch, bytes_of(batch, now_ms)) for batch in batches])
        self._note(batches)
        epochs = self._epochs
        for batch in batches:
            if not epochs or batch.epoch > epochs[-1].epoch:
                epochs = (*epochs, EpochStart(batch.epoch, batch.base))
        self._store_epochs(epochs)

    def _store_epochs(self, epochs: tuple[EpochStart, ...]) -> None:
        """For Kafka: Kedge finds the epochs in the log."""
        if epochs != self._epochs:
            self._epochs = epochs
            lines = ["0", str(len(epochs)), *(f"{e.epoch} {e.offset}" for e in epochs)]
            replace_file(self.path / "leader-epoch-checkpoint", "\n".join([*lines, ""]).encode())

    # ---- snapshots -------------------------------------------------------------------------------

    def _path(self, snapshot_id: EpochOffset) -> Path:
        return checkpoints.path_of(self.path, snapshot_id)

    def _part(self, snapshot_id: EpochOffset) -> Path:
        path = self._path(snapshot_id)
        return path.with_name(path.name + ".part")

    def _write_part(self, snapshot_id: EpochOffset, position: int, data: bytes) -> None:
        with self._part(snapshot_id).open("r+b" if position else "wb") as out:
            out.seek(position)
            out.write(data)
            out.truncate()
            out.flush()
            os.fsync(out.fileno())

    def _install(self, info: SnapshotInfo) -> None:
        self._part(info.id).replace(self._path(info.id))
        sync_directory(self.path)
        self._segments.restart(info.id.offset)
        self._drop_snapshots(before=info.id)
        found = checkpoints.voters_of(self._path(info.id).read_bytes())
        self._kraft_version, self._voters = found.kraft_version, found.voters or self._voters
        self._store_epochs(())

    def _drop_snapshots(self, *, before: EpochOffset) -> None:
        for known in checkpoints.found_in(self.path):
            if known.id < before:
                self._path(known.id).unlink()
        sync_directory(self.path)

    def write_snapshot(self, due: SnapshotDue, voters: SnapshotVoters) -> SnapshotInfo:
        """Write the snapshot of an image."""
        size = checkpoints.write(
            self._path(due.id),
            due.id.epoch,
            snapshot(due.image),
            timestamp_ms=self._now_ms(),
            last_contained_ms=due.last_contained_ms,
            voters=voters,
        )
        return SnapshotInfo(due.id, size, due.last_contained_ms)

    def load_snapshot(self, snapshot_id: EpochOffset) -> Iterable[Versioned]:
        """The records of a snapshot."""
        return checkpoints.read(self._path(snapshot_id))

    def read_snapshot(self, snapshot_id: EpochOffset, position: int, length: int) -> bytes:
        """A part of a snapshot's bytes, for a follower."""
        with self._path(snapshot_id).open("rb") as file:
            file.seek(position)
            return file.read(length)

    def received(self, snapshot_id: EpochOffset) -> bytes:
        """What has come so far of a snapshot of the leader."""
        part = self._part(snapshot_id)
        return part.read_bytes() if part.exists() else b""

    def read(self, first: int, last: int) -> bytes:
        """The bytes of batches, for a fetch."""
        return self._segments.read(first, last)
