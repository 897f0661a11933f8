"""What goes into a controller and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from kedge.metadata import Image, Periods, Settings, Versioned
from kedge.metadata.brokers import RegisterController
from kedge.metadata.ids import Uuid
from kedge.metadata.records import Endpoint
from kedge.quorum.leading import NO_OFFSET
from kedge.quorum.log import Log
from kedge.quorum.node import Answer, Fault, Send, Write
from kedge.quorum.values import Draw, Election, EpochOffset, QuorumConfig, VoterSet
from kedge.topics import AlterProposal, CreateProposal, Policy, allow

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """The settings of one controller."""

    quorum: QuorumConfig
    settings: Settings
    periods: Periods = field(default_factory=Periods)
    incarnation: Uuid = ""
    """The id of this life of the process; empty: it does not register itself."""
    listeners: tuple[Endpoint, ...] = ()
    """Where it listens, for its registration."""
    snapshot_after_bytes: int = 20 * MIB
    """`metadata.log.max.record.bytes.between.snapshots`"""
    snapshot_after_ms: int | None = 3_600_000
    """`metadata.log.max.snapshot.interval.ms`"""
    retention_bytes: int = 100 * MIB
    """`metadata.max.retention.bytes`: of the log that a snapshot covers."""
    retention_ms: int | None = 7 * 24 * 3_600_000
    """`metadata.max.retention.ms`: of snapshots that a newer one covers; None: no limit."""


class Found(NamedTuple):
    """What a controller finds on its disk.

    With a kraft.version the voters are those of the newest snapshot, which ends before
    `voters_offset` + 1; with version 0 they are those of the configuration.
    """

    log: Log
    election: Election
    voters: VoterSet
    kraft_version: int = 0
    voters_offset: int = NO_OFFSET


class RecordForm(Protocol):
    """How a record is kept in the log."""

    def encode(self, record: Versioned) -> object:
        """What the log holds."""
        ...

    def decode(self, kept: object) -> Versioned:
        """The record of what the log holds."""
        ...

    def size(self, kept: object) -> int:
        """Its bytes in the log."""
        ...


class AsTheyAre:
    """Records that never leave the memory of one process."""

    def encode(self, record: Versioned) -> object:
        return record

    def decode(self, kept: object) -> Versioned:
        assert isinstance(kept, Versioned)
        return kept

    def size(self, kept: object) -> int:
        return 64


def _no_snapshot(snapshot_id: EpochOffset) -> Iterable[Versioned]:
    raise AssertionError(f"snapshot {snapshot_id} is not here")


def _only_addresses(host: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Ports:
    """What a controller needs from outside to decide."""

    draw: Draw
    new_id: Callable[[], Uuid]
    form: RecordForm = field(default_factory=AsTheyAre)
    load_snapshot: Callable[[EpochOffset], Iterable[Versioned]] = _no_snapshot
    """Is asked while an event is handled: a snapshot whose last part is in that very event is not
    on disk yet, since the writes follow."""
    resolves: Callable[[str], bool] = _only_addresses
    create_policy: Policy[CreateProposal] = allow
    alter_policy: Policy[AlterProposal] = allow


class Ask(NamedTuple):
    """A metadata request; `token` comes back with the reply."""

    token: int
    request: Any


class Reply(NamedTuple):
    """The answer of `decide`, or an ApiError."""

    token: int
    answer: Any


class SnapshotDue(NamedTuple):
    """The image to be written as a snapshot, and the snapshot's id."""

    id: EpochOffset
    image: Image
    last_contained_ms: int


class Registration(NamedTuple):
    """This controller's registration, for the active one."""

    leader: int
    request: RegisterController


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that an operator wants to know."""

    what: str
    fields: Mapping[str, Any]


@dataclass(slots=True)
class Work:
    """What the caller must carry out: first the writes, then the rest."""

    writes: list[Write] = field(default_factory=list[Write])
    sends: list[Send] = field(default_factory=list[Send])
    answers: list[Answer] = field(default_factory=list[Answer])
    replies: list[Reply] = field(default_factory=list[Reply])
    notices: list[Notice] = field(default_factory=list[Notice])
    snapshot: SnapshotDue | None = None
    registration: Registration | None = None
    fault: Fault | None = None

    def note(self, what: str, **fields: Any) -> None:
        """Add a notice."""
        self.notices.append(Notice(what, fields))
