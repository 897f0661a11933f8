"""What an error is on the wire: each class of the project's tree has one of Kafka's codes.

The nearest class counts: a leaf that is not listed has the code of what it is a kind of.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kedge import errors as e
from kedge.model.error_codes import ErrorCode

# a text has at most 32,767 bytes on the wire; a character takes up to four in UTF-8
MESSAGE_CHARACTERS_MAX = 4_096

CODES: Mapping[type[e.KedgeError], ErrorCode] = MappingProxyType(
    {
        e.KedgeError: ErrorCode.UNKNOWN_SERVER_ERROR,
        e.InvalidRequest: ErrorCode.INVALID_REQUEST,
        e.InvalidPartitions: ErrorCode.INVALID_PARTITIONS,
        e.InvalidReplicationFactor: ErrorCode.INVALID_REPLICATION_FACTOR,
        e.InvalidReplicaAssignment: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        e.InvalidTopic: ErrorCode.INVALID_TOPIC_EXCEPTION,
        e.InvalidConfiguration: ErrorCode.INVALID_CONFIG,
        e.UnknownTopicOrPartition: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        e.UnknownTopicId: ErrorCode.UNKNOWN_TOPIC_ID,
        e.UnknownBroker: ErrorCode.BROKER_NOT_AVAILABLE,
        e.TopicDeletionDisabled: ErrorCode.TOPIC_DELETION_DISABLED,
        e.NoReassignmentInProgress: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        e.PolicyViolation: ErrorCode.POLICY_VIOLATION,
        e.LogDirNotFound: ErrorCode.LOG_DIR_NOT_FOUND,
        e.UnsupportedByCluster: ErrorCode.UNSUPPORTED_VERSION,
        e.LeaderNotAvailable: ErrorCode.LEADER_NOT_AVAILABLE,
        e.TopicExists: ErrorCode.TOPIC_ALREADY_EXISTS,
        e.ReassignmentInProgress: ErrorCode.REASSIGNMENT_IN_PROGRESS,
        e.ElectionNotNeeded: ErrorCode.ELECTION_NOT_NEEDED,
        e.ControllerMoved: ErrorCode.NOT_CONTROLLER,
        e.RequestTimedOut: ErrorCode.REQUEST_TIMED_OUT,
        e.NotController: ErrorCode.NOT_CONTROLLER,
        e.ReplicaNotAvailable: ErrorCode.REPLICA_NOT_AVAILABLE,
        e.QuotaExceeded: ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    }
)


def code_of(error: BaseException) -> ErrorCode:
    """The code of an error; what is not the project's own is the server's fault."""
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind]
    return ErrorCode.UNKNOWN_SERVER_ERROR


def message_of(error: BaseException) -> str:
    """The text beside an error's code, cut where it would be too long for the wire."""
    text = str(error)
    if len(text) <= MESSAGE_CHARACTERS_MAX:
        return text
    return f"{text[: MESSAGE_CHARACTERS_MAX - 1]}…"
