"""Responses to a node's own requests.

A handler says whether the response was of use; if not, the peer is left alone for a moment.
"""

from __future__ import annotations

from dataclasses import replace

from kedge.model.error_codes import ErrorCode
from kedge.quorum import connections as links
from kedge.quorum import elections, following, voter_changes
from kedge.quorum.connections import Connection
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
    Failed,
    FaultKind,
    Response,
)
from kedge.quorum.roles import (
    Candidate,
    Follower,
    Prospective,
    Resigned,
    is_lost,
    is_won,
)
from kedge.quorum.values import Endpoints
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
            return following.on_fetch(work, message)
        case FetchSnapshotResponse():
            return following.on_fetch_snapshot(work, message)
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
    # Kafka stops if the leader itself answers a node that knows its id, but not its endpoints
    is_reachable_now = leader_id == work.role.leader_id and not work.role.leader_endpoints
    is_news = work.role.leader_id is None or (is_reachable_now and bool(endpoints))
    if leader_id is not None and is_news and not isinstance(work.role, Follower):
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
    role = following.follower(work)
    work.role = replace(
        role,
        has_updated_leader=True,
        has_fetched=True,
        fetch_deadline=work.now + work.config.fetch_timeout_ms,
    )
    return True
