"""Raft's messages between values and bytes, on the side that asks."""

from __future__ import annotations

from typing import Any, NamedTuple

from kedge.errors import MalformedMessage
from kedge.kraft_rpc.raft_requests import OnlyTopic, only_partition
from kedge.metadata_log.batches import batch_of
from kedge.model.error_codes import ErrorCode
from kedge.protocol import quorum_messages as w
from kedge.protocol.broker_apis import BrokerApi
from kedge.protocol.kraft_apis import (
    BEGIN_QUORUM_EPOCH,
    END_QUORUM_EPOCH,
    FETCH,
    FETCH_SNAPSHOT,
    UPDATE_VOTER,
    VOTE,
)
from kedge.protocol.record_batches import split
from kedge.quorum import messages as m
from kedge.quorum.values import Batch, Endpoints, EpochOffset, VoterEndpoint

CLIENT = "kedge-controller"


class Call(NamedTuple):
    """A request on the wire: which one, in which version, and its body."""

    api: BrokerApi
    body: Any

    def encoded(self, version: int, correlation: int) -> bytes:
        """The frame."""
        return self.api.encode_request(version, self.body, correlation=correlation, client=CLIENT)


def call_of(message: m.OutboundMessage) -> Call:
    """The call that carries a message of raft."""
    match message:
        case m.VoteRequest():
            return Call(VOTE, _vote(message))
        case m.BeginQuorumEpochRequest():
            return Call(BEGIN_QUORUM_EPOCH, _begin(message))
        case m.EndQuorumEpochRequest():
            return Call(END_QUORUM_EPOCH, _end(message))
        case m.FetchRequest():
            return Call(FETCH, _fetch(message))
        case m.FetchSnapshotRequest():
            return Call(FETCH_SNAPSHOT, _fetch_snapshot(message))
        case m.UpdateVoterRequest():
            return Call(UPDATE_VOTER, _update(message))
        case m.ApiVersionsRequest():
            raise AssertionError("ApiVersions is asked by the connection itself")


def _topic(partition: Any) -> tuple[OnlyTopic, ...]:
    return (OnlyTopic((partition,)),)


def _named(endpoints: Endpoints) -> tuple[Any, ...]:
    return tuple(w.NAMED_ENDPOINT(name=e.listener, host=e.host, port=e.port) for e in endpoints)


def _vote(message: m.VoteRequest) -> Any:
    voter = message.voter
    partition = w.VOTE_PARTITION(
        replica_epoch=message.epoch,
        replica_id=message.candidate.id,
        replica_directory=message.candidate.directory,
        voter_directory=voter.directory if voter else None,
        last_epoch=message.last.epoch,
        last_offset=message.last.offset,
        pre_vote=message.pre_vote,
    )
    return w.VOTE_REQUEST(
        cluster_id=message.cluster_id,
        voter_id=voter.id if voter else -1,
        topics=_topic(partition),
    )


def _begin(message: m.BeginQuorumEpochRequest) -> Any:
    voter = message.voter
    partition = w.BEGIN_PARTITION(
        voter_directory=voter.directory if voter else None,
        leader_id=message.leader_id,
        leader_epoch=message.epoch,
    )
    return w.BEGIN_QUORUM_EPOCH_REQUEST(
        cluster_id=message.cluster_id,
        voter_id=voter.id if voter else -1,
        topics=_topic(partition),
        endpoints=_named(message.endpoints),
    )


def _end(message: m.EndQuorumEpochRequest) -> Any:
    partition = w.END_PARTITION(
        leader_id=message.leader_id,
        leader_epoch=message.epoch,
        successor_ids=tuple(key.id for key in message.preferred),
        successors=tuple(w.SUCCESSOR(id=k.id, directory=k.directory) for k in message.preferred),
    )
    return w.END_QUORUM_EPOCH_REQUEST(
        cluster_id=message.cluster_id,
        topics=_topic(partition),
        endpoints=_named(message.endpoints),
    )


def _fetch(message: m.FetchRequest) -> Any:
    hw = message.high_watermark
    partition = w.FETCH_PARTITION(
        leader_epoch=message.epoch,
        offset=message.offset,
        last_epoch=message.last_epoch,
        replica_directory=message.replica.directory,
        high_watermark=-1 if hw is None else hw,
    )
    return w.FETCH_REQUEST(
        cluster_id=message.cluster_id,
        replica_id=message.replica.id,
        replica_state=w.REPLICA_STATE(id=message.replica.id),
        max_wait_ms=message.max_wait_ms,
        max_bytes=message.max_bytes,
        topics=_topic(partition),
    )


def _fetch_snapshot(message: m.FetchSnapshotRequest) -> Any:
    wanted = message.snapshot
    partition = w.SNAPSHOT_POSITION(
        leader_epoch=message.epoch,
        snapshot=w.SNAPSHOT_ID(end_offset=wanted.offset, epoch=wanted.epoch),
        position=message.position,
        replica_directory=message.replica.directory,
    )
    return w.FETCH_SNAPSHOT_REQUEST(
        cluster_id=message.cluster_id,
        replica_id=message.replica.id,
        max_bytes=message.max_bytes,
        topics=_topic(partition),
    )


def _update(message: m.UpdateVoterRequest) -> Any:
    return w.UPDATE_VOTER_REQUEST(
        cluster_id=message.cluster_id,
        leader_epoch=message.epoch,
        voter_id=message.voter.id,
        voter_directory=message.voter.directory,
        listeners=_named(message.endpoints),
        kraft_version=w.VERSION_RANGE(
            lowest=message.kraft_version_min, highest=message.kraft_version_max
        ),
    )


# ---- responses -----------------------------------------------------------------------------------


def response_of(call: Call, version: int, body: Any, listener: str) -> m.InboundResponse:
    """The message that a response carries."""
    if call.api is UPDATE_VOTER:
        return _updated(body, listener)
    error = _code(body.error)
    found = only_partition(body.topics, by_id=call.api is FETCH and version >= 13)
    partition_error = None if found is None else _code(found.error)
    if call.api is FETCH:
        return _fetched(error, partition_error, found, body, listener)
    if call.api is FETCH_SNAPSHOT:
        return _snapshot_part(error, partition_error, found, body, listener)
    leader, epoch = (-1, 0) if found is None else (found.leader_id, found.leader_epoch)
    endpoints = _endpoints(body.endpoints, leader, listener)
    if call.api is VOTE:
        granted = found is not None and found.granted
        return m.VoteResponse(error, partition_error, _known(leader), epoch, granted, endpoints)
    if call.api is END_QUORUM_EPOCH:
        return m.EndQuorumEpochResponse(error, partition_error, _known(leader), epoch, endpoints)
    return m.BeginQuorumEpochResponse(error, partition_error, _known(leader), epoch, endpoints)


def _code(number: int) -> ErrorCode:
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _known(leader: int) -> int | None:
    return None if leader < 0 else leader


def _endpoints(found: Any, leader: int, listener: str) -> Endpoints:
    return tuple(VoterEndpoint(listener, e.host, e.port) for e in found if e.node_id == leader)


def _fetched(
    error: ErrorCode, partition_error: ErrorCode | None, found: Any, body: Any, listener: str
) -> m.FetchResponse:
    if found is None:
        return m.FetchResponse(error, partition_error)
    diverging, snapshot, leader = found.diverging, found.snapshot, found.leader
    return m.FetchResponse(
        error,
        partition_error,
        _known(leader.id),
        leader.epoch,
        None if found.high_watermark < 0 else found.high_watermark,
        found.log_start,
        EpochOffset(diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None,
        EpochOffset(snapshot.epoch, snapshot.end_offset) if snapshot.epoch >= 0 else None,
        _batches(found.records or b""),
        _endpoints(body.endpoints, leader.id, listener),
    )


def _batches(records: bytes) -> tuple[Batch, ...]:
    """Whole and sound batches; a damaged rest is dropped, and fetched again."""
    found: list[Batch] = []
    try:
        for raw in split(records):
            found.append(batch_of(raw))
    except MalformedMessage:
        pass
    return tuple(found)


def _snapshot_part(
    error: ErrorCode, partition_error: ErrorCode | None, found: Any, body: Any, listener: str
) -> m.FetchSnapshotResponse:
    if found is None:
        return m.FetchSnapshotResponse(error, partition_error)
    data: bytes = found.data or b""
    return m.FetchSnapshotResponse(
        error,
        partition_error,
        _known(found.leader.id),
        found.leader.epoch,
        EpochOffset(found.snapshot.epoch, found.snapshot.end_offset),
        found.size,
        found.position,
        len(data),
        data,
        _endpoints(body.endpoints, found.leader.id, listener),
    )


def _updated(body: Any, listener: str) -> m.UpdateVoterResponse:
    leader = body.leader
    at = VoterEndpoint(listener, leader.host, leader.port)
    return m.UpdateVoterResponse(
        _code(body.error), _known(leader.id), leader.epoch, (at,) if leader.host else ()
    )
