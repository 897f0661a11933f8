"""Maps each class of the project's error tree to one of Kafka's error codes.

The nearest class counts: a class that is not listed has the code of its base class.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kedge import errors as e
from kedge.model.error_codes import ErrorCode

# a string has at most 32,767 bytes on the wire; a character takes up to four in UTF-8
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
    """Return the code of an error; errors of other libraries are UNKNOWN_SERVER_ERROR."""
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind]
    return ErrorCode.UNKNOWN_SERVER_ERROR


def message_of(error: BaseException) -> str:
    """Return the message of an error, truncated to the limit of the wire format."""
    text = str(error)
    if len(text) <= MESSAGE_CHARACTERS_MAX:
        return text
    return f"{text[: MESSAGE_CHARACTERS_MAX - 1]}…"
