"""Snapshots between the machine and the disk: those that are due, and those that arrive in parts.

The machine is given the last part of a snapshot before that is on disk. It wants the voters of the
whole with it, and it loads the whole in the same event: both are read from the parts that are on
disk and the one that is just being handled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kedge.kraft import SnapshotDue
from kedge.metadata import Versioned
from kedge.metadata_log import MetadataDirectory
from kedge.metadata_log.checkpoints import SnapshotVoters, records_in, voters_of
from kedge.quorum.log import SnapshotInfo
from kedge.quorum.messages import FetchSnapshotResponse
from kedge.quorum.node import Node, Response
from kedge.quorum.values import EpochOffset


class Snapshots:
    """The snapshots of one controller."""

    def __init__(self, directory: MetadataDirectory) -> None:
        self._directory = directory
        self._arriving: FetchSnapshotResponse | None = None  # in the event being handled

    def begin_event(self, event: Any) -> None:
        """An event is about to be handled."""
        message = event.message if isinstance(event, Response) else None
        self._arriving = message if isinstance(message, FetchSnapshotResponse) else None

    def load(self, snapshot_id: EpochOffset) -> Iterable[Versioned]:
        """A snapshot on disk, or the one whose last part the machine is just being given."""
        last = self._arriving
        if last is not None and last.snapshot == snapshot_id:
            return records_in(self._whole(last, snapshot_id), self._directory.path)
        return self._directory.load_snapshot(snapshot_id)

    def with_voters(self, answer: Any) -> Any:
        """The last part of a snapshot, with the voters that the whole has."""
        if not isinstance(answer, FetchSnapshotResponse) or answer.snapshot is None:
            return answer
        if answer.position + len(answer.data) < answer.size:
            return answer
        found = voters_of(self._whole(answer, answer.snapshot))
        return answer._replace(voters=found.voters, kraft_version=found.kraft_version)

    def _whole(self, last: FetchSnapshotResponse, snapshot_id: EpochOffset) -> bytes:
        return self._directory.received(snapshot_id)[: last.position] + last.data

    def take(self, due: SnapshotDue, node: Node) -> SnapshotInfo:
        """Write a snapshot, with the voters of its last record."""
        known = [at.voters for at in node.voter_history if at.offset < due.id.offset]
        versions = [at.version for at in node.version_history if at.offset < due.id.offset]
        voters = SnapshotVoters(versions[-1] if versions else 0, known[-1] if known else None)
        return self._directory.write_snapshot(due, voters)
