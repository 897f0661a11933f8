"""Control records of the metadata log: raft's own, which the state machine above never sees."""

from __future__ import annotations

import struct
from typing import Any

from kedge.errors import MalformedMessage
from kedge.protocol.quorum_messages import NAMED_ENDPOINT, VERSION_RANGE
from kedge.protocol.reader import Reader
from kedge.protocol.record_batches import Record
from kedge.protocol.schema import INT16, INT32, INT64, TOPIC_ID, ArrayOf, Field, Struct, struct_of
from kedge.quorum.values import (
    ControlRecord,
    KRaftVersionChange,
    LeaderChange,
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VotersChange,
    VoterSet,
)

LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = 2, 3, 4, 5, 6

_KEY = struct.Struct(">hh")  # version and type
_VERSION = Field("version", INT16, default=0)
_ID = struct_of("VoterId", Field("id", INT32))
_LEADER_CHANGE = struct_of(
    "LeaderChange",
    _VERSION,
    Field("leader_id", INT32),
    Field("voters", ArrayOf(_ID)),
    Field("granting", ArrayOf(_ID)),
)
_HEADER = struct_of("SnapshotHeader", _VERSION, Field("last_contained_ms", INT64))
_FOOTER = struct_of("SnapshotFooter", _VERSION)
_KRAFT_VERSION = struct_of("KRaftVersion", _VERSION, Field("kraft_version", INT16))
_VOTER = struct_of(
    "Voter",
    Field("id", INT32),
    Field("directory", TOPIC_ID),
    Field("endpoints", ArrayOf(NAMED_ENDPOINT)),
    Field("kraft_version", VERSION_RANGE),
)
_VOTERS = struct_of("Voters", _VERSION, Field("voters", ArrayOf(_VOTER)))


def snapshot_header(last_contained_ms: int) -> Record:
    """The first record of a snapshot."""
    return _record(SNAPSHOT_HEADER, _HEADER, _HEADER(last_contained_ms=last_contained_ms))


def snapshot_footer() -> Record:
    """The last record of a snapshot: without it the snapshot is not whole."""
    return _record(SNAPSHOT_FOOTER, _FOOTER, _FOOTER())


def encode_control(record: ControlRecord) -> Record:
    """A control record of raft, with its key."""
    match record:
        case LeaderChange(leader_id, voters, granting):
            ids = tuple(_ID(id=voter) for voter in voters)
            granted = tuple(_ID(id=voter) for voter in granting)
            value = _LEADER_CHANGE(leader_id=leader_id, voters=ids, granting=granted)
            return _record(LEADER_CHANGE, _LEADER_CHANGE, value)
        case KRaftVersionChange(version):
            value = _KRAFT_VERSION(kraft_version=version)
            return _record(KRAFT_VERSION, _KRAFT_VERSION, value)
        case VotersChange(voters):
            value = _VOTERS(voters=tuple(map(_shown, voters.all)))
            return _record(KRAFT_VOTERS, _VOTERS, value)


def decode_control(record: Record) -> ControlRecord | None:
    """The control record; None for the header and the footer of a snapshot."""
    if record.key is None or len(record.key) < _KEY.size:
        raise MalformedMessage("a control record without a key")
    _, kind = _KEY.unpack_from(record.key)
    reader = Reader(record.value)
    match kind:
        case 2:
            found = _read(_LEADER_CHANGE, reader)
            voters = tuple(voter.id for voter in found.voters)
            return LeaderChange(found.leader_id, voters, tuple(v.id for v in found.granting))
        case 5:
            return KRaftVersionChange(_read(_KRAFT_VERSION, reader).kraft_version)
        case 6:
            return VotersChange(VoterSet(map(_voter, _read(_VOTERS, reader).voters)))
        case 3 | 4:
            return None
        case _:
            raise MalformedMessage(f"control record type {kind} is unknown")


def is_footer(record: Record) -> bool:
    """Whether this is the last record of a snapshot."""
    return record.key is not None and _KEY.unpack_from(record.key)[1] == SNAPSHOT_FOOTER


def last_contained_ms(record: Record) -> int | None:
    """The time of the last record that a snapshot has, from its header; None for other records."""
    if record.key is None or record.key != _KEY.pack(0, SNAPSHOT_HEADER):
        return None
    return _read(_HEADER, Reader(record.value)).last_contained_ms


def _record(kind: int, form: Struct, value: Any) -> Record:
    out = bytearray()
    form.writer(0, flexible=True)(out, value)
    return Record(bytes(out), _KEY.pack(0, kind))


def _read(form: Struct, reader: Reader) -> Any:
    return form.reader(0, flexible=True)(reader)


def _shown(voter: Voter) -> Any:
    endpoints = (NAMED_ENDPOINT(name=e.listener, host=e.host, port=e.port) for e in voter.endpoints)
    return _VOTER(
        id=voter.key.id,
        directory=voter.key.directory,
        endpoints=tuple(endpoints),
        kraft_version=VERSION_RANGE(
            lowest=voter.kraft_version_min, highest=voter.kraft_version_max
        ),
    )


def _voter(found: Any) -> Voter:
    return Voter(
        ReplicaKey(found.id, found.directory),
        tuple(VoterEndpoint(e.name, e.host, e.port) for e in found.endpoints),
        found.kraft_version.lowest,
        found.kraft_version.highest,
    )
