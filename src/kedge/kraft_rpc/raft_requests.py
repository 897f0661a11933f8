"""Raft's messages between bytes and values, on the side that answers.

A request that does not name exactly `__cluster_metadata-0` gets partition -1: raft refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from kedge.errors import MalformedMessage
from kedge.model.error_codes import ErrorCode
from kedge.protocol import quorum_messages as w
from kedge.protocol.broker_apis import BrokerHeader
from kedge.protocol.kraft_apis import (
    ADD_VOTER,
    BEGIN_QUORUM_EPOCH,
    END_QUORUM_EPOCH,
    FETCH,
    FETCH_SNAPSHOT,
    QUORUM_APIS,
    REMOVE_VOTER,
    UPDATE_VOTER,
    VOTE,
)
from kedge.quorum import messages as m
from kedge.quorum.values import Endpoints, EpochOffset, ReplicaKey, VoterEndpoint

TOPIC, TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
_ENDPOINTS_SINCE = {FETCH.key: 16, VOTE.key: 1, 53: 1, 54: 1, FETCH_SNAPSHOT.key: 1, 82: 0}


class OnlyTopic(NamedTuple):
    """The one topic of raft, by name and by id."""

    partitions: tuple[Any, ...]
    name: str = TOPIC
    topic_id: str = TOPIC_ID


class LogBytes(Protocol):
    """Where the bytes of batches and snapshots are."""

    def read(self, first: int, last: int) -> bytes:
        """The bytes of batches."""
        ...

    def read_snapshot(self, snapshot_id: EpochOffset, position: int, length: int) -> bytes:
        """A part of a snapshot."""
        ...


def decode_raft_request(key: int, payload: bytes) -> tuple[BrokerHeader, m.RequestMessage]:
    """The header and the message of a raft request."""
    header, body = QUORUM_APIS[key].decode_request(payload)
    return header, message_of_request(key, body, header.version)


def message_of_request(key: int, body: Any, version: int) -> m.RequestMessage:
    """The message in the body of a raft request."""
    return _DECODE[key](body, version)


def sends_endpoints(key: int, version: int) -> bool:
    """Whether the response of this version has room for the leader's endpoint."""
    return version >= _ENDPOINTS_SINCE.get(key, 0)


def encode_raft_response(
    key: int, header: BrokerHeader, message: m.ResponseMessage, log: LogBytes
) -> bytes:
    """The frame of the answer to a raft request."""
    return QUORUM_APIS[key].encode_response(header, _ENCODE[key](message, log))


# ---- requests ------------------------------------------------------------------------------------


def only_partition(topics: Any, *, by_id: bool = False) -> Any:
    """The one partition that a request may be about; None if it is about anything else."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    found = topics[0].topic_id == TOPIC_ID if by_id else topics[0].name == TOPIC
    partition = topics[0].partitions[0]
    return partition if found and partition.index == 0 else None


def _vote(body: Any, version: int) -> m.VoteRequest:
    asked = only_partition(body.topics)
    if asked is None:
        return m.VoteRequest(
            ReplicaKey(-1), 0, EpochOffset(0, 0), cluster_id=body.cluster_id, partition=-1
        )
    voter = ReplicaKey(body.voter_id, asked.voter_directory) if body.voter_id >= 0 else None
    return m.VoteRequest(
        ReplicaKey(asked.replica_id, asked.replica_directory),
        asked.replica_epoch,
        EpochOffset(asked.last_epoch, asked.last_offset),
        asked.pre_vote,
        voter,
        body.cluster_id,
    )


def _begin(body: Any, version: int) -> m.BeginQuorumEpochRequest:
    found = only_partition(body.topics)
    if found is None:
        return m.BeginQuorumEpochRequest(-1, 0, cluster_id=body.cluster_id, partition=-1)
    voter = ReplicaKey(body.voter_id, found.voter_directory) if body.voter_id >= 0 else None
    return m.BeginQuorumEpochRequest(
        found.leader_id, found.leader_epoch, voter, _listeners(body.endpoints), body.cluster_id
    )


def _end(body: Any, version: int) -> m.EndQuorumEpochRequest:
    found = only_partition(body.topics)
    if found is None:
        return m.EndQuorumEpochRequest(-1, 0, cluster_id=body.cluster_id, partition=-1)
    preferred = tuple(ReplicaKey(s.id, s.directory) for s in found.successors)
    return m.EndQuorumEpochRequest(
        found.leader_id,
        found.leader_epoch,
        preferred or tuple(map(ReplicaKey, found.successor_ids)),
        _listeners(body.endpoints),
        body.cluster_id,
    )


def _fetch(body: Any, version: int) -> m.FetchRequest:
    found = only_partition(body.topics, by_id=version >= 13)
    replica = body.replica_state.id if version >= 15 else body.replica_id
    if found is None:
        return m.FetchRequest(ReplicaKey(-1), 0, 0, 0, cluster_id=body.cluster_id, partition=-1)
    return m.FetchRequest(
        ReplicaKey(replica, found.replica_directory),
        found.leader_epoch,
        found.offset,
        found.last_epoch,
        None if found.high_watermark < 0 else found.high_watermark,
        body.max_wait_ms,
        body.max_bytes,
        body.cluster_id,
    )


def _fetch_snapshot(body: Any, version: int) -> m.FetchSnapshotRequest:
    found = only_partition(body.topics)
    if found is None:
        return m.FetchSnapshotRequest(
            ReplicaKey(-1), 0, EpochOffset(0, 0), 0, cluster_id=body.cluster_id, partition=-1
        )
    return m.FetchSnapshotRequest(
        ReplicaKey(body.replica_id, found.replica_directory),
        found.leader_epoch,
        EpochOffset(found.snapshot.epoch, found.snapshot.end_offset),
        found.position,
        body.max_bytes,
        body.cluster_id,
    )


def _add_voter(body: Any, version: int) -> m.AddVoterRequest:
    key = ReplicaKey(body.voter_id, body.voter_directory)
    return m.AddVoterRequest(key, _listeners(body.listeners), body.cluster_id)


def _remove_voter(body: Any, version: int) -> m.RemoveVoterRequest:
    return m.RemoveVoterRequest(ReplicaKey(body.voter_id, body.voter_directory), body.cluster_id)


def _update_voter(body: Any, version: int) -> m.UpdateVoterRequest:
    return m.UpdateVoterRequest(
        ReplicaKey(body.voter_id, body.voter_directory),
        body.leader_epoch,
        _listeners(body.listeners),
        body.kraft_version.lowest,
        body.kraft_version.highest,
        body.cluster_id,
    )


def _listeners(found: Any) -> Endpoints:
    return tuple(VoterEndpoint(one.name, one.host, one.port) for one in found)


_DECODE: Mapping[int, Callable[[Any, int], m.RequestMessage]] = {
    FETCH.key: _fetch,
    VOTE.key: _vote,
    BEGIN_QUORUM_EPOCH.key: _begin,
    END_QUORUM_EPOCH.key: _end,
    FETCH_SNAPSHOT.key: _fetch_snapshot,
    ADD_VOTER.key: _add_voter,
    REMOVE_VOTER.key: _remove_voter,
    UPDATE_VOTER.key: _update_voter,
}


# ---- responses -----------------------------------------------------------------------------------


def _topics(partition_error: ErrorCode | None, partition: Any) -> tuple[OnlyTopic, ...]:
    return () if partition_error is None else (OnlyTopic((partition,)),)


def _leader(leader_id: int | None) -> int:
    return -1 if leader_id is None else leader_id


def _nodes(message: Any, form: Any = w.NODE_ENDPOINT) -> tuple[Any, ...]:
    return tuple(
        form(node_id=message.leader_id, host=e.host, port=e.port) for e in message.endpoints[:1]
    )


def _vote_answer(message: m.VoteResponse, log: LogBytes) -> Any:
    outcome = w.VOTE_OUTCOME(
        error=message.partition_error,
        leader_id=_leader(message.leader_id),
        leader_epoch=message.epoch,
        granted=message.granted,
    )
    return w.VOTE_RESPONSE(
        error=message.error,
        topics=_topics(message.partition_error, outcome),
        endpoints=_nodes(message),
    )


def _epoch_answer(form: Any) -> Callable[[Any, LogBytes], Any]:
    def encode(message: Any, log: LogBytes) -> Any:
        outcome = w.EPOCH_OUTCOME(
            error=message.partition_error,
            leader_id=_leader(message.leader_id),
            leader_epoch=message.epoch,
        )
        topics = _topics(message.partition_error, outcome)
        return form(error=message.error, topics=topics, endpoints=_nodes(message))

    return encode


def _fetch_answer(message: m.FetchResponse, log: LogBytes) -> Any:
    batches, diverging, snapshot = message.batches, message.diverging, message.snapshot
    hw = -1 if message.high_watermark is None else message.high_watermark
    fetched = w.FETCHED_PARTITION(
        error=message.partition_error,
        high_watermark=hw,
        last_stable=hw,
        log_start=message.log_start,
        records=log.read(batches[0].base, batches[-1].last) if batches else b"",
        diverging=w.EPOCH_END(epoch=diverging.epoch, end_offset=diverging.offset)
        if diverging
        else w.EPOCH_END(),
        leader=w.LEADER(id=_leader(message.leader_id), epoch=message.epoch),
        snapshot=w.SNAPSHOT_ID(end_offset=snapshot.offset, epoch=snapshot.epoch)
        if snapshot
        else w.SNAPSHOT_ID(),
    )
    return w.FETCH_RESPONSE(
        error=message.error,
        topics=_topics(message.partition_error, fetched),
        endpoints=_nodes(message, w.FETCH_ENDPOINT),
    )


def _fetch_snapshot_answer(message: m.FetchSnapshotResponse, log: LogBytes) -> Any:
    found = message.snapshot
    data = b""
    if found is not None and message.partition_error is ErrorCode.NONE:
        data = log.read_snapshot(found, message.position, message.length)
    part = w.SNAPSHOT_PART(
        error=message.partition_error,
        snapshot=w.SNAPSHOT_ID(
            end_offset=found.offset if found else 0, epoch=found.epoch if found else 0
        ),
        size=message.size,
        position=message.position,
        data=data,
        leader=w.LEADER(id=_leader(message.leader_id), epoch=message.epoch),
    )
    return w.FETCH_SNAPSHOT_RESPONSE(
        error=message.error,
        topics=_topics(message.partition_error, part),
        endpoints=_nodes(message),
    )


def _change_answer(message: m.AddVoterResponse | m.RemoveVoterResponse, log: LogBytes) -> Any:
    return w.VOTER_CHANGE_RESPONSE(error=message.error, message=message.message or None)


def _update_answer(message: m.UpdateVoterResponse, log: LogBytes) -> Any:
    at = message.endpoints[0] if message.endpoints else None
    leader = w.CURRENT_LEADER(
        id=_leader(message.leader_id),
        epoch=message.epoch,
        host=at.host if at else "",
        port=at.port if at else 0,
    )
    return w.UPDATE_VOTER_RESPONSE(error=message.error, leader=leader)


_ENCODE: Mapping[int, Callable[[Any, LogBytes], Any]] = {
    FETCH.key: _fetch_answer,
    VOTE.key: _vote_answer,
    BEGIN_QUORUM_EPOCH.key: _epoch_answer(w.BEGIN_QUORUM_EPOCH_RESPONSE),
    END_QUORUM_EPOCH.key: _epoch_answer(w.END_QUORUM_EPOCH_RESPONSE),
    FETCH_SNAPSHOT.key: _fetch_snapshot_answer,
    ADD_VOTER.key: _change_answer,
    REMOVE_VOTER.key: _change_answer,
    UPDATE_VOTER.key: _update_answer,
}


def check_version(key: int, version: int) -> None:
    """Refuse a version that is not served."""
    api = QUORUM_APIS[key]
    if not api.supports(version):
        raise MalformedMessage(f"{api.name} of version {version} is not served")
