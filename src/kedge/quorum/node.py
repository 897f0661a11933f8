"""A node of the quorum, what may happen to it, and what it wants done.

`step(node, event, now=…, draw=…)` gives the node after the event and a `Ready`. The caller carries
a `Ready` out in this order: all `writes`, in sequence, synced to disk; then everything else. That
order is what makes a vote or an acknowledgement safe. A `fault` means that the protocol was broken
(two leaders in an epoch, a truncation below the high watermark): the process must stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from kedge.quorum.connections import Connection
from kedge.quorum.log import Log, SnapshotInfo
from kedge.quorum.messages import (
    FetchRequest,
    FetchResponse,
    InboundResponse,
    OutboundMessage,
    RequestMessage,
    ResponseMessage,
)
from kedge.quorum.roles import Role
from kedge.quorum.values import (
    Batch,
    Election,
    EpochOffset,
    LeaderAndEpoch,
    QuorumConfig,
    VoterEndpoint,
    VoterSet,
)

# ------------------------------------------------------------------------------------- events


class Tick(NamedTuple):
    """Time has passed; send one at the node's next deadline at the latest."""


class Request(NamedTuple):
    """A request from another node or a client; `token` comes back with the answer."""

    token: int
    message: RequestMessage
    listener: str
    sends_endpoints: bool = True  # whether the response's version has room for endpoints


class Response(NamedTuple):
    """The response to a request of this node."""

    peer: int
    correlation: int
    message: InboundResponse


class Failed(NamedTuple):
    """A request of this node got no response: the connection is lost."""

    peer: int
    correlation: int
    request: OutboundMessage


class Append(NamedTuple):
    """The state machine above appends records, as one atomic batch, in the epoch that it leads."""

    epoch: int
    records: tuple[object, ...]
    size: int = 0


class Resign(NamedTuple):
    """The state machine above gives up the leadership of an epoch."""

    epoch: int


class Shutdown(NamedTuple):
    """The process is about to stop: a leader hands over, and the node stands for no election."""


class SnapshotTaken(NamedTuple):
    """The state machine above has written a snapshot of what it has applied."""

    snapshot: SnapshotInfo


class DeleteBefore(NamedTuple):
    """Drop the part of the log that a snapshot covers."""

    snapshot_id: EpochOffset


class UpgradeKRaftVersion(NamedTuple):
    """Finalize a kraft.version, in the epoch that the state machine above leads."""

    epoch: int
    version: int


Event: TypeAlias = (
    Tick
    | Request
    | Response
    | Failed
    | Append
    | Resign
    | Shutdown
    | SnapshotTaken
    | DeleteBefore
    | UpgradeKRaftVersion
)

# --------------------------------------------------------------------------------- what follows


class StoreElection(NamedTuple):
    """Replace `quorum-state`."""

    election: Election


class AppendBatches(NamedTuple):
    """Append to the log."""

    batches: tuple[Batch, ...]


class TruncateLog(NamedTuple):
    """Remove all batches that reach this offset or beyond."""

    offset: int


class WriteSnapshotPart(NamedTuple):
    """Write bytes of a snapshot that the leader sends."""

    snapshot_id: EpochOffset
    position: int
    data: bytes


class InstallSnapshot(NamedTuple):
    """Finish a snapshot that the leader sent, and start an empty log at its end."""

    snapshot: SnapshotInfo


class DeleteLogBefore(NamedTuple):
    """Remove the batches and snapshots that a snapshot covers."""

    snapshot_id: EpochOffset


Write: TypeAlias = (
    StoreElection
    | AppendBatches
    | TruncateLog
    | WriteSnapshotPart
    | InstallSnapshot
    | DeleteLogBefore
)


class Send(NamedTuple):
    """Send a request to a peer; without endpoint it is one of the bootstrap servers."""

    peer: int
    correlation: int
    message: OutboundMessage
    endpoint: VoterEndpoint | None = None


class Answer(NamedTuple):
    """Answer a request."""

    token: int
    message: ResponseMessage


class Committed(NamedTuple):
    """For the state machine above: a batch is committed; control batches have no records."""

    batch: Batch


class LoadSnapshot(NamedTuple):
    """For the state machine above: begin anew from this snapshot."""

    snapshot_id: EpochOffset


class LeaderChanged(NamedTuple):
    """For the state machine above: who leads.

    A node hears of its own leadership only after everything before its epoch is delivered.
    """

    leader: LeaderAndEpoch


Notification: TypeAlias = Committed | LoadSnapshot | LeaderChanged


class FaultKind(StrEnum):
    """Why a node must stop."""

    ILLEGAL_STATE = "illegal state"
    ILLEGAL_ARGUMENT = "illegal argument"
    BELOW_HIGH_WATERMARK = "truncation below the high watermark"
    UNALIGNED_HIGH_WATERMARK = "high watermark inside a batch"
    NOT_AUTHORIZED = "not authorized in the cluster"


class Fault(NamedTuple):
    """The protocol was broken; the process must stop."""

    kind: FaultKind
    reason: str


class Appended(NamedTuple):
    """The append is accepted; its last record will have this offset."""

    last_offset: int


class RefusalKind(StrEnum):
    """Why an append or a resignation is refused."""

    NOT_LEADER = "not the leader"
    INVALID = "invalid"


class Refusal(NamedTuple):
    """The append or the resignation is refused; nothing has changed."""

    kind: RefusalKind
    reason: str


@dataclass(frozen=True, slots=True)
class Ready:
    """What the caller must carry out: first the writes, then the rest."""

    writes: tuple[Write, ...] = ()
    sends: tuple[Send, ...] = ()
    answers: tuple[Answer, ...] = ()
    notifications: tuple[Notification, ...] = ()
    outcome: Appended | Refusal | None = None  # of an append or a resignation
    fault: Fault | None = None


# ------------------------------------------------------------------------------------- the node


class ParkedFetch(NamedTuple):
    """A fetch that waits for records or a new high watermark."""

    token: int
    request: FetchRequest
    listener: str
    sends_endpoints: bool
    deadline: int
    response: FetchResponse  # given when the wait is over and nothing has happened


class VotersAt(NamedTuple):
    """The voter set from an offset on; -1 for a set from a checkpoint of the format."""

    offset: int
    voters: VoterSet


class VersionAt(NamedTuple):
    """The kraft.version from an offset on."""

    offset: int
    version: int


NO_LEADER = LeaderAndEpoch(None, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """All that a node knows."""

    config: QuorumConfig
    role: Role
    log: Log
    static_voters: VoterSet
    voter_history: tuple[VotersAt, ...] = ()
    version_history: tuple[VersionAt, ...] = ()
    connections: Mapping[int, Connection] = field(default_factory=dict[int, Connection])
    parked: tuple[ParkedFetch, ...] = ()
    applied: int | None = None  # the next offset to deliver; None before the first delivery
    announced: LeaderAndEpoch = NO_LEADER
    next_correlation: int = 1
    is_shutting_down: bool = False

    @property
    def voters(self) -> VoterSet:
        """The voter set in force: the newest in the log, committed or not."""
        return self.voter_history[-1].voters if self.voter_history else self.static_voters

    @property
    def kraft_version(self) -> int:
        """The newest kraft.version in the log."""
        return self.version_history[-1].version if self.version_history else 0
