"""Words beside a code, for those codes that come from the controller without any."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.model.error_codes import ErrorCode

_WORDS: Mapping[ErrorCode, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "no such partition, or its topic is being deleted",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: (
        "the replicas are empty, named twice, negative, or to be added to a broker that is not live"
    ),
    ErrorCode.INVALID_REPLICATION_FACTOR: "the number of replicas would change",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "the partition is not being reassigned",
    ErrorCode.NOT_CONTROLLER: "this broker is not the controller any more",
    ErrorCode.ELECTION_NOT_NEEDED: "the right replica leads already",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "the preferred replica is not alive and in sync",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "no replica is alive",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "the topic is being deleted",
    ErrorCode.REQUEST_TIMED_OUT: "not done in time; it may yet be done",
}


def words_for(code: ErrorCode) -> str | None:
    """What to say beside a code; nothing beside success."""
    if code is ErrorCode.NONE:
        return None
    return _WORDS.get(code, code.name.lower().replace("_", " "))
