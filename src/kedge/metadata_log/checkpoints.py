"""Snapshots: a header, the records of an image, a footer, each in record batches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kedge.errors import InvalidRequest, MalformedMessage
from kedge.metadata import Versioned
from kedge.metadata_log.files import sync_directory
from kedge.protocol.control_records import (
    decode_control,
    encode_control,
    is_footer,
    last_contained_ms,
    snapshot_footer,
    snapshot_header,
)
from kedge.protocol.metadata_records import decode_record, encode_record
from kedge.protocol.record_batches import (
    Record,
    decode_header,
    encode_batch,
    records_of,
    split,
)
from kedge.quorum.log import SnapshotInfo
from kedge.quorum.values import (
    ControlRecord,
    EpochOffset,
    KRaftVersionChange,
    VotersChange,
    VoterSet,
)

RECORDS_PER_BATCH = 10_000
HEAD_BYTES = 64 << 10  # more than the first batch has: a header, and the voters
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class SnapshotVoters(NamedTuple):
    """What a snapshot says of the quorum."""

    kraft_version: int = 0
    voters: VoterSet | None = None


def path_of(directory: Path, snapshot_id: EpochOffset) -> Path:
    """The file of a snapshot."""
    return directory / f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}.checkpoint"


def remove_unfinished(directory: Path) -> None:
    """Remove what was being written or received when the process ended."""
    for partial in directory.glob("*.checkpoint.part"):
        partial.unlink()


def found_in(directory: Path) -> list[SnapshotInfo]:
    """The finished snapshots of a directory, the oldest first."""
    found: list[SnapshotInfo] = []
    for path in directory.glob("*.checkpoint"):
        if match := _NAME.fullmatch(path.name):
            snapshot_id = EpochOffset(int(match[2]), int(match[1]))
            found.append(SnapshotInfo(snapshot_id, path.stat().st_size, _last_contained_ms(path)))
    return sorted(found, key=lambda known: known.id)


def _last_contained_ms(path: Path) -> int | None:
    """The time in a snapshot's header; a damaged one is noticed where it is loaded."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    try:
        first = next(iter(records_of(next(iter(split(head))))), None)
    except (MalformedMessage, StopIteration):
        return None
    return None if first is None else last_contained_ms(first)


def write(
    path: Path,
    epoch: int,
    records: Iterable[Versioned],
    *,
    timestamp_ms: int,
    last_contained_ms: int = 0,
    voters: SnapshotVoters | None = None,
) -> int:
    """Write a snapshot as a whole; its size."""
    partial = path.with_name(path.name + ".part")
    with partial.open("wb") as out:
        for batch in _batches(epoch, records, timestamp_ms, last_contained_ms, voters):
            out.write(batch)
        out.flush()
        os.fsync(out.fileno())
        size = out.tell()
    partial.replace(path)
    sync_directory(path.parent)
    return size


def _batches(
    epoch: int,
    records: Iterable[Versioned],
    timestamp_ms: int,
    last_contained_ms: int,
    voters: SnapshotVoters | None,
) -> Iterator[bytes]:
    head = [snapshot_header(last_contained_ms), *map(encode_control, _quorum(voters))]
    yield encode_batch(0, epoch, timestamp_ms, head, control=True)
    base, left = len(head), iter(records)
    while values := [Record(encode_record(one)) for one in islice(left, RECORDS_PER_BATCH)]:
        yield encode_batch(base, epoch, timestamp_ms, values)
        base += len(values)
    yield encode_batch(base, epoch, timestamp_ms, [snapshot_footer()], control=True)


def _quorum(voters: SnapshotVoters | None) -> Iterator[ControlRecord]:
    if voters is not None and voters.kraft_version > 0:
        yield KRaftVersionChange(voters.kraft_version)
        if voters.voters is not None:
            yield VotersChange(voters.voters)


def read(path: Path) -> Iterator[Versioned]:
    """The records of a snapshot; InvalidRequest if it is damaged or has no end."""
    yield from records_in(path.read_bytes(), path)


def records_in(data: bytes, path: Path) -> Iterator[Versioned]:
    """The records of a snapshot's bytes, which may not all be in its file yet."""
    is_whole = False
    try:
        for raw in split(data):
            if decode_header(raw).is_control:
                is_whole = is_whole or any(map(is_footer, records_of(raw)))
            else:
                yield from (decode_record(record.value) for record in records_of(raw))
    except MalformedMessage as problem:
        raise InvalidRequest(f"the snapshot {path} is damaged: {problem}") from None
    if not is_whole:
        raise InvalidRequest(f"the snapshot {path} has no end", hint="remove it")


def voters_of(data: bytes) -> SnapshotVoters:
    """The voters and the kraft.version of a snapshot's first batches."""
    version, voters = 0, None
    for raw in split(data):
        if not decode_header(raw).is_control:
            break
        for record in map(decode_control, records_of(raw)):
            if isinstance(record, KRaftVersionChange):
                version = record.version
            elif isinstance(record, VotersChange):
                voters = record.voters
    return SnapshotVoters(version, voters)
