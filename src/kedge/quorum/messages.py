"""The requests and responses of raft, free of versions and bytes.

Every response has two errors, as on the wire: `error` concerns the whole request; where it is set
there is no partition, and `partition_error` is None. The leader that a response names is the one
that the sender knows, None while it knows none.

`partition` of a request is 0 for the metadata log; the wire adapter sets any other number for a
request that does not name exactly `__cluster_metadata-0`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from kedge.model.error_codes import ErrorCode
from kedge.quorum.values import Batch, Endpoints, EpochOffset, ReplicaKey, VoterSet

UNKNOWN_TO_OLD_CLIENTS = 2**63 - 1  # the high watermark of fetchers that do not send theirs


class VoteRequest(NamedTuple):
    """A candidate asks for a vote, a prospective asks whether it would get one (`pre_vote`)."""

    candidate: ReplicaKey
    epoch: int
    last: EpochOffset
    pre_vote: bool = False
    voter: ReplicaKey | None = None  # the addressee
    cluster_id: str | None = None
    partition: int = 0


class VoteResponse(NamedTuple):
    """Whether the vote is granted."""

    error: ErrorCode = ErrorCode.NONE
    partition_error: ErrorCode | None = ErrorCode.NONE
    leader_id: int | None = None
    epoch: int = 0
    granted: bool = False
    endpoints: Endpoints = ()


class BeginQuorumEpochRequest(NamedTuple):
    """A leader announces its epoch to every voter."""

    leader_id: int
    epoch: int
    voter: ReplicaKey | None = None
    endpoints: Endpoints = ()
    cluster_id: str | None = None
    partition: int = 0


class BeginQuorumEpochResponse(NamedTuple):
    """The announcement is known."""

    error: ErrorCode = ErrorCode.NONE
    partition_error: ErrorCode | None = ErrorCode.NONE
    leader_id: int | None = None
    epoch: int = 0
    endpoints: Endpoints = ()


class EndQuorumEpochRequest(NamedTuple):
    """A leader resigns, and names its successors, the best first."""

    leader_id: int
    epoch: int
    preferred: tuple[ReplicaKey, ...] = ()
    endpoints: Endpoints = ()
    cluster_id: str | None = None
    partition: int = 0


class EndQuorumEpochResponse(NamedTuple):
    """The resignation is known."""

    error: ErrorCode = ErrorCode.NONE
    partition_error: ErrorCode | None = ErrorCode.NONE
    leader_id: int | None = None
    epoch: int = 0
    endpoints: Endpoints = ()


class FetchRequest(NamedTuple):
    """A replica pulls records, and tells by it how far its log reaches."""

    replica: ReplicaKey
    epoch: int
    offset: int
    last_epoch: int
    high_watermark: int | None = None  # the replica's; None while it knows none
    max_wait_ms: int = 0
    max_bytes: int = 8 * 1024 * 1024
    cluster_id: str | None = None
    partition: int = 0


class FetchResponse(NamedTuple):
    """Records, or where the follower's log diverges, or the snapshot that it must load."""

    error: ErrorCode = ErrorCode.NONE
    partition_error: ErrorCode | None = ErrorCode.NONE
    leader_id: int | None = None
    epoch: int = 0
    high_watermark: int | None = None
    log_start: int = 0
    diverging: EpochOffset | None = None
    snapshot: EpochOffset | None = None
    batches: tuple[Batch, ...] = ()
    endpoints: Endpoints = ()


class FetchSnapshotRequest(NamedTuple):
    """A follower asks for a part of a snapshot."""

    replica: ReplicaKey
    epoch: int
    snapshot: EpochOffset
    position: int
    max_bytes: int = 8 * 1024 * 1024
    cluster_id: str | None = None
    partition: int = 0


class FetchSnapshotResponse(NamedTuple):
    """A part of a snapshot.

    The sender's adapter reads `length` bytes of it into `data`. With the last part the receiver's
    adapter reads the control records of the whole snapshot: `voters` and `kraft_version`.
    """

    error: ErrorCode = ErrorCode.NONE
    partition_error: ErrorCode | None = ErrorCode.NONE
    leader_id: int | None = None
    epoch: int = 0
    snapshot: EpochOffset | None = None
    size: int = 0
    position: int = 0
    length: int = 0
    data: bytes = b""
    endpoints: Endpoints = ()
    voters: VoterSet | None = None
    kraft_version: int = 0


class DescribeQuorumRequest(NamedTuple):
    """How far every replica is."""

    partition: int = 0


class ReplicaProgress(NamedTuple):
    """How far one replica is; None and -1 while it has not fetched in this epoch."""

    key: ReplicaKey
    log_end: int | None
    last_fetch_ms: int
    last_caught_up_ms: int


class DescribeQuorumResponse(NamedTuple):
    """The leader's view of the quorum."""

    error: ErrorCode = ErrorCode.NONE
    partition_error: ErrorCode | None = ErrorCode.NONE
    leader_id: int | None = None
    epoch: int = 0
    high_watermark: int | None = None
    voters: tuple[ReplicaProgress, ...] = ()
    observers: tuple[ReplicaProgress, ...] = ()


class AddVoterRequest(NamedTuple):
    """An operator adds a voter."""

    voter: ReplicaKey
    endpoints: Endpoints
    cluster_id: str | None = None


class AddVoterResponse(NamedTuple):
    """The outcome, once the voter set is committed."""

    error: ErrorCode = ErrorCode.NONE
    message: str = ""


class RemoveVoterRequest(NamedTuple):
    """An operator removes a voter."""

    voter: ReplicaKey
    cluster_id: str | None = None


class RemoveVoterResponse(NamedTuple):
    """The outcome, once the voter set is committed."""

    error: ErrorCode = ErrorCode.NONE
    message: str = ""


class UpdateVoterRequest(NamedTuple):
    """A voter tells the leader its endpoints and the kraft.versions that it supports."""

    voter: ReplicaKey
    epoch: int
    endpoints: Endpoints
    kraft_version_min: int = 0
    kraft_version_max: int = 1
    cluster_id: str | None = None


class UpdateVoterResponse(NamedTuple):
    """The outcome, and the leader that the sender knows."""

    error: ErrorCode = ErrorCode.NONE
    leader_id: int | None = None
    epoch: int = -1
    endpoints: Endpoints = ()


class ApiVersionsRequest(NamedTuple):
    """A leader asks a node that is to become a voter which kraft.versions it supports."""


class ApiVersionsResponse(NamedTuple):
    """The supported range; None where the node does not name the feature."""

    error: ErrorCode = ErrorCode.NONE
    kraft_versions: tuple[int, int] | None = None


RequestMessage: TypeAlias = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | DescribeQuorumRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | UpdateVoterRequest
)
ResponseMessage: TypeAlias = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | DescribeQuorumResponse
    | AddVoterResponse
    | RemoveVoterResponse
    | UpdateVoterResponse
)
OutboundMessage: TypeAlias = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | UpdateVoterRequest
    | ApiVersionsRequest
)
InboundResponse: TypeAlias = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | UpdateVoterResponse
    | ApiVersionsResponse
)
