"""Responses to a node's own requests.

A handler says whether the response was of use; if not, the peer is left alone for a moment.
"""

from __future__ import annotations

from dataclasses import replace

from kedge.model.error_codes import ErrorCode
from kedge.quorum import connections as links
from kedge.quorum import elections, voter_changes
from kedge.quorum.connections import Connection
from kedge.quorum.log import SnapshotInfo
from kedge.quorum.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    FetchResponse,
    FetchSnapshotResponse,
    InboundResponse,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoteResponse,
)
from kedge.quorum.node import (
    AppendBatches,
    Failed,
    FaultKind,
    InstallSnapshot,
    Response,
    TruncateLog,
    VersionAt,
    VotersAt,
    WriteSnapshotPart,
)
from kedge.quorum.roles import (
    Candidate,
    Follower,
    Prospective,
    Resigned,
    is_lost,
    is_won,
)
from kedge.quorum.values import Batch, Endpoints, EpochOffset
from kedge.quorum.working import ProtocolFault, Working


def handle(work: Working, response: Response) -> None:
    """Act on a response, if its request is the newest to that peer."""
    if not links.is_expected(work.connections, response.peer, response.correlation):
        return
    is_useful = _handle(work, response.peer, response.message)
    if links.is_expected(work.connections, response.peer, response.correlation):
        _settle(work, response.peer, is_useful)


def handle_failure(work: Working, failed: Failed) -> None:
    """A connection was lost."""
    if not links.is_expected(work.connections, failed.peer, failed.correlation):
        return
    if isinstance(failed.request, ApiVersionsRequest):
        error = ErrorCode.BROKER_NOT_AVAILABLE
        voter_changes.on_api_versions(work, failed.peer, ApiVersionsResponse(error))
    # the period of UpdateRaftVoter is pause enough
    _settle(work, failed.peer, isinstance(failed.request, UpdateVoterRequest))


def _settle(work: Working, peer: int, is_useful: bool) -> None:
    if is_useful:
        work.disconnect(peer)
    else:
        sent = work.connections[peer].sent_ms
        failed = Connection(None, sent, failed_ms=work.now)
        work.connections = {**work.connections, peer: failed}


def _handle(work: Working, peer: int, message: InboundResponse) -> bool:
    match message:
        case ApiVersionsResponse():
            return voter_changes.on_api_versions(work, peer, message)
        case UpdateVoterResponse():
            return _on_update_voter(work, message)
        case VoteResponse() if message.error is ErrorCode.UNSUPPORTED_VERSION and isinstance(
            work.role, Prospective
        ):
            elections.to_candidate(work)  # a voter that does not know pre-votes
            return True
        case _ if message.partition_error is None or message.error is not ErrorCode.NONE:
            if message.error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                raise ProtocolFault(FaultKind.NOT_AUTHORIZED, f"peer {peer} refuses this node")
            return False
        case _:
            handled = _on_leader(
                work,
                message.partition_error,
                message.leader_id,
                message.epoch,
                message.endpoints,
            )
            return _on_partition(work, peer, message) if handled is None else handled


def _on_partition(
    work: Working,
    peer: int,
    message: VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse,
) -> bool:
    match message:
        case FetchResponse():
            return _on_fetch(work, message)
        case FetchSnapshotResponse():
            return _on_fetch_snapshot(work, message)
        case _ if message.partition_error is not ErrorCode.NONE:
            return False
        case VoteResponse():
            _on_vote(work, peer, message.granted)
        case BeginQuorumEpochResponse():
            pass  # Kafka stops here if the peer was removed from the voters meanwhile
        case EndQuorumEpochResponse():
            if not isinstance(work.role, Resigned):
                raise ProtocolFault(FaultKind.ILLEGAL_STATE, "this node has not resigned")
            work.role = replace(work.role, unacknowledged=work.role.unacknowledged - {peer})
    return True


def _on_leader(
    work: Working,
    error: ErrorCode,
    leader_id: int | None,
    epoch: int,
    endpoints: Endpoints,
) -> bool | None:
    """What any response says about the leader; None if the response itself is still to be read."""
    if leader_id is not None and not endpoints:
        endpoints = work.voters.endpoints(leader_id)
    if epoch < work.role.epoch or error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        return True
    if epoch > work.role.epoch or error in (
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ):
        elections.maybe_follow(work, leader_id, epoch, endpoints)
        return True
    if leader_id is not None and work.role.leader_id is None:
        elections.to_follower(work, epoch, leader_id, endpoints)
        return None if error is ErrorCode.NONE else True
    if error is ErrorCode.INVALID_REQUEST:
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, "a peer calls a request invalid")
    return {ErrorCode.BROKER_NOT_AVAILABLE: False, ErrorCode.INVALID_VOTER_KEY: True}.get(error)


# ------------------------------------------------------------------------------------- elections


def _on_vote(work: Working, voter: int, granted: bool) -> None:
    role = work.role
    if not isinstance(role, Prospective | Candidate):
        return
    known = role.votes.get(voter)
    if voter not in role.votes or (
        isinstance(role, Candidate) and known is not None and known is not granted
    ):
        raise ProtocolFault(FaultKind.ILLEGAL_ARGUMENT, f"voter {voter} changes its vote")
    votes = {**role.votes, voter: granted}
    if isinstance(role, Prospective):
        nominee = work.role = replace(role, votes=votes)
        if granted and is_won(votes):
            elections.to_candidate(work)
        elif not granted and is_lost(votes):
            elections.after_lost_pre_vote(work, nominee)
    else:
        work.role = replace(role, votes=votes)
        if granted and is_won(votes):
            elections.to_leader(work)


def _on_update_voter(work: Working, message: UpdateVoterResponse) -> bool:
    handled = _on_leader(work, message.error, message.leader_id, message.epoch, message.endpoints)
    if handled is not None:
        return handled
    if message.error not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
        return False
    role = _follower(work)
    work.role = replace(
        role,
        has_updated_leader=True,
        has_fetched=True,
        fetch_deadline=work.now + work.config.fetch_timeout_ms,
    )
    return True


def _follower(work: Working) -> Follower:
    if not isinstance(work.role, Follower):
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, f"a {work.role.name} does not fetch")
    return work.role


# ------------------------------------------------------------------------------------- fetching


def _on_fetch(work: Working, message: FetchResponse) -> bool:
    role = _follower(work)
    if message.partition_error is not ErrorCode.NONE:
        return False
    if message.diverging is not None:
        _truncate(work, role, message.diverging)
    elif message.snapshot is not None:
        wanted = None if work.log.snapshot(message.snapshot) else message.snapshot
        work.role = replace(role, fetching_snapshot=wanted, snapshot_position=0)
    else:
        _append(work, message.batches)
        _update_high_watermark(work, message.high_watermark)
    _restart_fetch_timer(work)
    return True


def _truncate(work: Working, role: Follower, diverging: EpochOffset) -> None:
    if role.high_watermark is not None and diverging.offset < role.high_watermark:
        raise ProtocolFault(
            FaultKind.BELOW_HIGH_WATERMARK,
            f"the leader asks to truncate to {diverging.offset}, "
            f"the high watermark is {role.high_watermark}",
        )
    offset = work.log.truncation_offset(diverging)
    if offset < work.log.high_watermark:
        raise ProtocolFault(
            FaultKind.ILLEGAL_ARGUMENT, f"{offset} is below {work.log.high_watermark}"
        )
    if offset < work.log.end:
        work.writes.append(TruncateLog(offset))
    work.log = work.log.truncated(offset)
    work.forget_control_records(offset)


def _append(work: Working, batches: tuple[Batch, ...]) -> None:
    """Append what continues the log; a batch of a later epoch ends it, and the rest is dropped."""
    fitting: list[Batch] = []
    end = work.log.end
    for batch in batches:
        if batch.epoch > work.role.epoch:
            break
        if batch.base != end:
            raise ProtocolFault(
                FaultKind.UNALIGNED_HIGH_WATERMARK, f"a batch at {batch.base} after {end}"
            )
        fitting.append(batch)
        end = batch.last + 1
    if fitting:
        appended = tuple(fitting)
        work.log = work.log.appended(appended)
        work.writes.append(AppendBatches(appended))
        work.note_control_records(appended)


def _update_high_watermark(work: Working, leaders: int | None) -> None:
    role = _follower(work)
    if leaders is None:
        return
    reached = min(work.log.end, leaders)
    if role.high_watermark is not None:
        if reached < role.high_watermark:
            raise ProtocolFault(
                FaultKind.ILLEGAL_ARGUMENT,
                f"the high watermark would fall from {role.high_watermark} to {reached}",
            )
        if reached == role.high_watermark:
            return
    work.role = replace(role, high_watermark=reached)
    work.set_log_high_watermark(reached)
    work.deliver()


def _restart_fetch_timer(work: Working) -> None:
    deadline = work.now + work.config.fetch_timeout_ms
    work.role = replace(_follower(work), fetch_deadline=deadline, has_fetched=True)


def _on_fetch_snapshot(work: Working, message: FetchSnapshotResponse) -> bool:
    role = _follower(work)
    if message.partition_error is ErrorCode.SNAPSHOT_NOT_FOUND or (
        message.partition_error is ErrorCode.NONE and message.snapshot is None
    ):
        work.role = replace(role, fetching_snapshot=None, snapshot_position=0)
        _restart_fetch_timer(work)
        return True
    if message.partition_error is not ErrorCode.NONE or message.snapshot is None:
        return False
    if (message.snapshot, message.position) != (role.fetching_snapshot, role.snapshot_position):
        raise ProtocolFault(
            FaultKind.ILLEGAL_STATE,
            f"position {message.position} of snapshot {message.snapshot}, wanted is "
            f"{role.snapshot_position} of {role.fetching_snapshot}",
        )
    position = message.position + len(message.data)
    work.writes.append(WriteSnapshotPart(message.snapshot, message.position, message.data))
    if position == message.size:
        work.role = replace(role, fetching_snapshot=None, snapshot_position=0)
        _install(work, SnapshotInfo(message.snapshot, message.size), message)
    else:
        work.role = replace(role, snapshot_position=position)
    _restart_fetch_timer(work)
    return True


def _install(work: Working, snapshot: SnapshotInfo, message: FetchSnapshotResponse) -> None:
    if snapshot.id <= work.log.position:
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, "the snapshot is older than the log")
    work.writes.append(InstallSnapshot(snapshot))
    work.log = work.log.replaced_by(snapshot)
    if message.voters is not None:
        last = snapshot.id.offset - 1
        work.voter_history = (VotersAt(last, message.voters),)
        work.version_history = (VersionAt(last, message.kraft_version),)
    _update_high_watermark(work, snapshot.id.offset)
