"""Kafka's error codes as errors of this project: the one place where they are translated.

The broker's own words are kept where it has any, for they name what was wrong; else the code's
meaning is told.
"""

from __future__ import annotations

from kedge import errors
from kedge.cluster.wire import one_line
from kedge.errors import KedgeError

UNKNOWN_TOPIC_OR_PARTITION = 3
REQUEST_TIMED_OUT = 7
NOT_CONTROLLER = 41
ELECTION_NOT_NEEDED = 84
THROTTLING_QUOTA_EXCEEDED = 89

_MEANINGS: dict[int, tuple[type[KedgeError], str]] = {
    3: (errors.UnknownTopicOrPartition, "no such topic or partition"),
    5: (errors.LeaderNotAvailable, "no leader at the moment"),
    7: (errors.RequestTimedOut, "the cluster did not finish in time"),
    8: (errors.UnknownBroker, "the broker is not available"),
    9: (errors.ReplicaNotAvailable, "the broker does not have this replica"),
    17: (errors.InvalidTopic, "not a topic name"),
    29: (errors.Unauthorised, "this topic is not for us to see or change"),
    30: (errors.Unauthorised, "this group is not for us to see or change"),
    31: (errors.Unauthorised, "the cluster is not for us to see or change"),
    33: (errors.AuthenticationFailed, "the SASL mechanism is not offered"),
    35: (errors.UnsupportedByCluster, "the cluster does not know this request"),
    36: (errors.TopicExists, "the topic exists already"),
    37: (errors.InvalidPartitions, "not a possible number of partitions"),
    38: (errors.InvalidReplicationFactor, "not a possible replication factor"),
    39: (errors.InvalidReplicaAssignment, "not a possible replica assignment"),
    40: (errors.InvalidConfiguration, "not a valid configuration"),
    41: (errors.NotController, "the broker asked is not the controller"),
    42: (errors.InvalidRequest, "the cluster refuses the request"),
    44: (errors.PolicyViolation, "the cluster's policy says no"),
    56: (errors.BrokerFailed, "the broker cannot use its disk"),
    57: (errors.LogDirNotFound, "the broker has no such log directory"),
    58: (errors.AuthenticationFailed, "SASL authentication failed"),
    60: (errors.ReassignmentInProgress, "the partition is being moved"),
    73: (errors.TopicDeletionDisabled, "topics cannot be deleted here"),
    80: (errors.LeaderNotAvailable, "the preferred leader is not available"),
    83: (errors.LeaderNotAvailable, "no replica that may lead is available"),
    84: (errors.ElectionNotNeeded, "the right replica leads already"),
    85: (errors.NoReassignmentInProgress, "the partition is not being moved"),
    87: (errors.InvalidRequest, "the cluster refuses the request"),
    89: (errors.QuotaExceeded, "too many changes in too short a time"),
    100: (errors.UnknownTopicId, "no topic has that id"),
    102: (errors.UnknownBroker, "no broker with this id is registered"),
}

_HINTS: dict[type[KedgeError], str] = {
    errors.Unauthorised: "ask the cluster's administrator for the right",
    errors.QuotaExceeded: "try again later",
}


def refusal(code: int, message: str | None, subject: object = "") -> KedgeError | None:
    """The error that a code stands for, about a subject; None for success."""
    if not code:
        return None
    kind, meaning = _MEANINGS.get(code, (errors.BrokerFailed, f"the broker failed (error {code})"))
    said = one_line(message or "") or meaning
    about = f"{subject}: " if str(subject) and str(subject) not in said else ""
    return kind(f"{about}{said}", hint=_HINTS.get(kind, ""))
