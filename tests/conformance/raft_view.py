"""Messages, notifications and states of the quorum in the short form of the `raft` vectors."""

from __future__ import annotations

from typing import Any

from kedge.quorum.messages import (
    AddVoterResponse,
    ApiVersionsRequest,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    OutboundMessage,
    RemoveVoterResponse,
    ReplicaProgress,
    ResponseMessage,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoteRequest,
    VoteResponse,
)
from kedge.quorum.node import Committed, LeaderChanged, LoadSnapshot, Node, Notification, Send
from kedge.quorum.values import Batch, Election, Endpoints, EpochOffset

API_NAMES: dict[type[Any], str] = {
    VoteRequest: "Vote",
    BeginQuorumEpochRequest: "BeginQuorumEpoch",
    EndQuorumEpochRequest: "EndQuorumEpoch",
    FetchRequest: "Fetch",
    FetchSnapshotRequest: "FetchSnapshot",
    UpdateVoterRequest: "UpdateRaftVoter",
    ApiVersionsRequest: "ApiVersions",
}


def api_of(message: OutboundMessage) -> str:
    """The API's name."""
    return API_NAMES[type(message)]


def number(value: int | None) -> int:
    """A number, -1 for none."""
    return -1 if value is None else value


def id_or_none(value: int) -> int | None:
    """A number, None if it is negative."""
    return value if value >= 0 else None


def request_view(sent: Send) -> dict[str, Any]:
    """A request of the node."""
    message = sent.message
    return {"api": api_of(message), "to": sent.peer, **_request_fields(message)}


def _request_fields(message: OutboundMessage) -> dict[str, Any]:
    match message:
        case VoteRequest():
            return {
                "epoch": message.epoch,
                "candidate": message.candidate.id,
                "last_epoch": message.last.epoch,
                "end": message.last.offset,
                "pre_vote": message.pre_vote,
                "voter": message.voter.id if message.voter else -1,
            }
        case BeginQuorumEpochRequest():
            voter = message.voter.id if message.voter else -1
            return {"epoch": message.epoch, "leader": message.leader_id, "voter": voter}
        case EndQuorumEpochRequest():
            return {
                "epoch": message.epoch,
                "leader": message.leader_id,
                "preferred": [key.id for key in message.preferred],
            }
        case FetchRequest():
            return {
                "epoch": message.epoch,
                "offset": message.offset,
                "last_epoch": message.last_epoch,
                "high_watermark": number(message.high_watermark),
                "max_wait": message.max_wait_ms,
            }
        case FetchSnapshotRequest():
            return {
                "epoch": message.epoch,
                "snapshot": _snapshot(message.snapshot),
                "position": message.position,
            }
        case UpdateVoterRequest():
            return {"epoch": message.epoch, "voter": message.voter.id}
        case ApiVersionsRequest():
            return {}


def response_view(message: ResponseMessage) -> dict[str, Any]:
    """An answer of the node."""
    match message:
        case AddVoterResponse() | RemoveVoterResponse():
            return {"error": message.error.name, "message": message.message}
        case UpdateVoterResponse():
            return {
                "error": message.error.name,
                "leader": number(message.leader_id),
                "epoch": message.epoch,
            }
        case _ if message.partition_error is None:
            return {"error": message.error.name}
        case _:
            errors = {"error": message.error.name, "partition_error": message.partition_error.name}
            return {**errors, **_partition_fields(message)}


def _partition_fields(message: ResponseMessage) -> dict[str, Any]:
    match message:
        case VoteResponse():
            return {
                "granted": message.granted,
                "leader": number(message.leader_id),
                "epoch": message.epoch,
                "endpoints": _endpoints(message.leader_id, message.endpoints),
            }
        case BeginQuorumEpochResponse() | EndQuorumEpochResponse():
            return {"leader": number(message.leader_id), "epoch": message.epoch}
        case FetchResponse():
            return _fetch_fields(message)
        case DescribeQuorumResponse():
            # the wire's default is 0 where a refusal leaves the fields out
            return {
                "leader": message.leader_id or 0,
                "epoch": message.epoch,
                "high_watermark": number(message.high_watermark) if message.voters else 0,
                "voters": _ends(message.voters),
                "observers": _ends(message.observers),
            }
        case _:
            assert isinstance(message, FetchSnapshotResponse)
            return {}


def _fetch_fields(message: FetchResponse) -> dict[str, Any]:
    diverging, snapshot = message.diverging, message.snapshot
    return {
        "leader": number(message.leader_id),
        "epoch": message.epoch,
        "high_watermark": number(message.high_watermark),
        "log_start": message.log_start,
        **({"diverging": f"{diverging.epoch}@{diverging.offset}"} if diverging else {}),
        **({"snapshot": _snapshot(snapshot)} if snapshot else {}),
        "batches": [_batch(batch) for batch in message.batches],
        "endpoints": _endpoints(message.leader_id, message.endpoints),
    }


def _batch(batch: Batch) -> dict[str, Any]:
    shown = {"base": batch.base, "last": batch.last, "epoch": batch.epoch}
    if not batch.control:
        return {**shown, "control": False}
    names = {"LeaderChange": "LEADER_CHANGE"}
    types = [names[type(record).__name__] for record in batch.control]
    return {**shown, "control": True, "types": types}


def notification_view(heard: Notification) -> str:
    """What the state machine above is told."""
    match heard:
        case Committed(batch):
            values = ", ".join(map(str, batch.records))
            return f"commit {batch.base}..{batch.last} epoch {batch.epoch} [{values}]"
        case LoadSnapshot(snapshot):
            return f"snapshot {_snapshot(snapshot)}"
        case LeaderChanged(leader):
            name = "none" if leader.leader_id is None else leader.leader_id
            return f"leader {name} epoch {leader.epoch}"


def state_view(node: Node, stored: Election) -> dict[str, Any]:
    """The state of the node, and what is on its disk."""
    role = node.role
    return {
        "state": str(role.name),
        "epoch": role.epoch,
        "leader": number(role.leader_id),
        "voted": role.voted.id if role.voted else -1,
        "high_watermark": number(role.high_watermark),
        "end": node.log.end,
        "last_epoch": node.log.last_epoch,
        "stored": {
            "epoch": stored.epoch,
            "leader": number(stored.leader_id),
            "voted": stored.voted.id if stored.voted else -1,
        },
    }


def _snapshot(snapshot: EpochOffset) -> str:
    return f"{snapshot.offset}-{snapshot.epoch}"


def _endpoints(leader_id: int | None, endpoints: Endpoints) -> list[str]:
    return [f"{leader_id}@{endpoint.host}:{endpoint.port}" for endpoint in endpoints]


def _ends(replicas: tuple[ReplicaProgress, ...]) -> dict[str, int]:
    return {str(r.key.id): number(r.log_end) for r in sorted(replicas, key=lambda r: r.key.id)}
