"""Requests that a node serves.

Checks come in Kafka's order: cluster id, partition, epoch, sender; then the state may change; then
the addressee is checked. A request can so end a leadership and still be refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from kedge.model.error_codes import ErrorCode
from kedge.quorum import elections, leading, voter_changes
from kedge.quorum.log import BOOTSTRAP_SNAPSHOT
from kedge.quorum.messages import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveVoterRequest,
    ReplicaProgress,
    UpdateVoterRequest,
    VoteRequest,
    VoteResponse,
)
from kedge.quorum.node import FaultKind, ParkedFetch, Request
from kedge.quorum.roles import (
    Candidate,
    Follower,
    Leader,
    Progress,
    Prospective,
    Resigned,
    Unattached,
)
from kedge.quorum.values import ReplicaKey
from kedge.quorum.working import ProtocolFault, Working

R = TypeVar("R", VoteResponse, BeginQuorumEpochResponse, EndQuorumEpochResponse)


def handle(work: Working, request: Request) -> None:
    """Serve a request; the answer may come in a later step."""
    message = request.message
    match message:
        case VoteRequest():
            work.answer(request.token, _vote(work, request, message))
        case BeginQuorumEpochRequest():
            work.answer(request.token, _begin_epoch(work, request, message))
        case EndQuorumEpochRequest():
            work.answer(request.token, _end_epoch(work, request, message))
        case FetchRequest():
            _fetch(work, request, message)
        case FetchSnapshotRequest():
            work.answer(request.token, _fetch_snapshot(work, request, message))
        case DescribeQuorumRequest():
            work.answer(request.token, _describe(work, message))
        case AddVoterRequest():
            voter_changes.add(work, request.token, message)
        case RemoveVoterRequest():
            voter_changes.remove(work, request.token, message)
        case UpdateVoterRequest():
            work.answer(request.token, voter_changes.update(work, request.listener, message))


def has_other_cluster_id(work: Working, cluster_id: str | None) -> bool:
    """Whether a request is meant for another cluster."""
    return cluster_id is not None and cluster_id != work.config.cluster_id


# ------------------------------------------------------------------------------------- elections


def _vote(work: Working, request: Request, vote: VoteRequest) -> VoteResponse:
    if error := _top_level_error(work, vote.cluster_id, vote.partition):
        return VoteResponse(error, None)
    is_too_new = vote.last.epoch > vote.epoch if vote.pre_vote else vote.last.epoch >= vote.epoch
    if vote.last.offset < 0 or vote.last.epoch < 0 or is_too_new:
        return _response(work, request, VoteResponse, ErrorCode.INVALID_REQUEST)
    if error := _voter_only_error(work, vote.candidate.id, vote.epoch):
        return _response(work, request, VoteResponse, error)
    if vote.epoch > work.role.epoch:
        elections.to_unattached(work, vote.epoch, None)
    if not _is_addressee(work, vote.voter):
        return _response(work, request, VoteResponse, ErrorCode.INVALID_VOTER_KEY)
    granted = can_grant(work, vote)
    if granted and not vote.pre_vote:
        _store_vote(work, vote.candidate)
    return _response(work, request, VoteResponse)._replace(granted=granted)


def can_grant(work: Working, vote: VoteRequest) -> bool:
    """Whether this node votes for a candidate: once per epoch, and for no shorter log.

    A pre-vote is no vote. It asks only whether the leader is missed: a follower that fetches from
    its leader refuses.
    """
    role, is_up_to_date = work.role, vote.last >= work.log.position
    if isinstance(role, Leader):
        return False
    if vote.pre_vote:
        return is_up_to_date and not (isinstance(role, Follower) and role.has_fetched)
    if isinstance(role, Follower | Candidate | Resigned):
        return False
    if role.voted is not None:
        return role.voted.admits(vote.candidate)
    return role.leader_id is None and is_up_to_date


def _store_vote(work: Working, candidate: ReplicaKey) -> None:
    role = work.role
    if role.voted is not None:
        return  # the same vote again
    if candidate.id == work.config.node_id:
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, "another node stands with the id of this one")
    deadline = work.election_deadline()
    if isinstance(role, Unattached):
        work.become(replace(role, voted=candidate, election_deadline=deadline))
    elif isinstance(role, Prospective):
        me = work.config.node_id
        votes = {voter: True if voter == me else None for voter in work.voters.ids}
        work.become(replace(role, voted=candidate, election_deadline=deadline, votes=votes))


def _begin_epoch(
    work: Working, request: Request, begin: BeginQuorumEpochRequest
) -> BeginQuorumEpochResponse:
    if error := _top_level_error(work, begin.cluster_id, begin.partition):
        return BeginQuorumEpochResponse(error, None)
    if error := _voter_only_error(work, begin.leader_id, begin.epoch):
        return _response(work, request, BeginQuorumEpochResponse, error)
    endpoints = begin.endpoints or work.voters.endpoints(begin.leader_id)
    elections.maybe_follow(work, begin.leader_id, begin.epoch, endpoints)
    if not _is_addressee(work, begin.voter):
        return _response(work, request, BeginQuorumEpochResponse, ErrorCode.INVALID_VOTER_KEY)
    return _response(work, request, BeginQuorumEpochResponse)


def _end_epoch(
    work: Working, request: Request, end: EndQuorumEpochRequest
) -> EndQuorumEpochResponse:
    if error := _top_level_error(work, end.cluster_id, end.partition):
        return EndQuorumEpochResponse(error, None)
    if error := _voter_only_error(work, end.leader_id, end.epoch):
        return _response(work, request, EndQuorumEpochResponse, error)
    endpoints = end.endpoints or work.voters.endpoints(end.leader_id)
    elections.maybe_follow(work, end.leader_id, end.epoch, endpoints)
    role = work.role
    if isinstance(role, Follower) and role.leader_id == end.leader_id:
        wait = succession_wait_ms(work, end.preferred)
        work.role = replace(role, fetch_deadline=work.now + wait)
    return _response(work, request, EndQuorumEpochResponse)


def succession_wait_ms(work: Working, preferred: tuple[ReplicaKey, ...]) -> int:
    """How long to wait before standing: nothing for the best successor, twice as long for each."""
    place = next(
        (
            place
            for place, key in enumerate(preferred)
            if key.id == work.config.node_id and key.directory in (None, work.config.directory)
        ),
        len(preferred),
    )
    if place == 0:
        return 0
    longest = work.config.election_backoff_max_ms
    if place >= len(preferred):
        return longest
    return min(longest, longest >> (len(preferred) - 1) << (place - 1))


def _top_level_error(work: Working, cluster_id: str | None, partition: int) -> ErrorCode | None:
    if has_other_cluster_id(work, cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    return ErrorCode.INVALID_REQUEST if partition != 0 else None


def _voter_only_error(work: Working, sender: int, epoch: int) -> ErrorCode | None:
    if epoch < work.role.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.INVALID_REQUEST if sender < 0 else None


def _is_addressee(work: Working, voter: ReplicaKey | None) -> bool:
    config = work.config
    return voter is None or (
        voter.id == config.node_id and voter.directory in (None, config.directory)
    )


def _response(
    work: Working, request: Request, kind: type[R], error: ErrorCode = ErrorCode.NONE
) -> R:
    endpoints = leading.leader_endpoints(work, request.listener, request.sends_endpoints)
    return kind(
        partition_error=error,
        leader_id=work.role.leader_id,
        epoch=work.role.epoch,
        endpoints=endpoints,
    )


# ------------------------------------------------------------------------------------- fetching


def _fetch(work: Working, request: Request, fetch: FetchRequest) -> None:
    if error := _top_level_error(work, fetch.cluster_id, fetch.partition):
        work.answer(request.token, FetchResponse(error, None))
        return
    endpoints = leading.leader_endpoints(work, request.listener, request.sends_endpoints)
    is_invalid = fetch.max_wait_ms < 0 or fetch.offset < 0
    if is_invalid or not 0 <= fetch.last_epoch <= fetch.epoch:
        error = ErrorCode.INVALID_REQUEST
        work.answer(request.token, leading.fetch_error(work, error, endpoints))
        return
    response = leading.try_fetch(work, fetch, endpoints)
    if fetch.max_wait_ms == 0 or _is_worth_sending(fetch, response):
        work.answer(request.token, response)
        return
    deadline = work.now + fetch.max_wait_ms
    parked = ParkedFetch(
        request.token, fetch, request.listener, request.sends_endpoints, deadline, response
    )
    work.parked = (*work.parked, parked)


def _is_worth_sending(fetch: FetchRequest, response: FetchResponse) -> bool:
    """Whether a response has more for the replica than that nothing has changed."""
    known = -1 if fetch.high_watermark is None else fetch.high_watermark
    is_committed = response.high_watermark is not None and known < response.high_watermark
    has_news = response.batches or response.diverging or response.snapshot
    return response.partition_error != ErrorCode.NONE or bool(has_news) or is_committed


def _fetch_snapshot(
    work: Working, request: Request, fetch: FetchSnapshotRequest
) -> FetchSnapshotResponse:
    if has_other_cluster_id(work, fetch.cluster_id):
        return FetchSnapshotResponse(ErrorCode.INCONSISTENT_CLUSTER_ID, None)
    endpoints = leading.leader_endpoints(work, request.listener, request.sends_endpoints)
    if fetch.partition != 0:
        return FetchSnapshotResponse(
            partition_error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, endpoints=endpoints
        )
    response = FetchSnapshotResponse(
        leader_id=work.role.leader_id, epoch=work.role.epoch, endpoints=endpoints
    )
    if error := leading.leader_only_error(work, fetch.epoch):
        return response._replace(partition_error=error)
    snapshot = work.log.snapshot(fetch.snapshot)
    if snapshot is None or snapshot.id == BOOTSTRAP_SNAPSHOT:
        return response._replace(partition_error=ErrorCode.SNAPSHOT_NOT_FOUND)
    if not 0 <= fetch.position < snapshot.size:
        return response._replace(partition_error=ErrorCode.POSITION_OUT_OF_RANGE)
    leading.count_sign_of_life(work, fetch.replica)
    return response._replace(
        snapshot=snapshot.id,
        size=snapshot.size,
        position=fetch.position,
        length=min(fetch.max_bytes, snapshot.size - fetch.position),
    )


def _describe(work: Working, describe: DescribeQuorumRequest) -> DescribeQuorumResponse:
    role = work.role
    if describe.partition != 0:
        return DescribeQuorumResponse(partition_error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not isinstance(role, Leader):
        return DescribeQuorumResponse(partition_error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    known_since = work.now - work.config.observer_session_ms
    role = replace(
        role,
        observers={
            key: progress
            for key, progress in role.observers.items()
            if progress.last_fetch_ms > known_since or key == work.config.key
        },
    )
    work.role = role
    return DescribeQuorumResponse(
        leader_id=role.leader_id,
        epoch=role.epoch,
        high_watermark=role.high_watermark,
        voters=tuple(_shown(work, progress) for progress in role.voters.values()),
        observers=tuple(_shown(work, progress) for progress in role.observers.values()),
    )


def _shown(work: Working, progress: Progress) -> ReplicaProgress:
    if progress.key.id == work.config.node_id:  # the leader is always caught up with itself
        return ReplicaProgress(progress.key, progress.log_end, work.now, work.now)
    return ReplicaProgress(
        progress.key, progress.log_end, progress.last_fetch_ms, progress.last_caught_up_ms
    )
