"""Maps Kafka's error codes to errors of this project, in one place.

The broker's own message is kept where it has one, for it names the fault; else the meaning of
the code is given. Refusals by the authorizer name the permission that is missing instead: brokers
send no text, or a dump of the request.
"""

from __future__ import annotations

from kedge import errors
from kedge.cluster.broker_connection import one_line
from kedge.errors import KedgeError

UNKNOWN_TOPIC_OR_PARTITION = 3
REQUEST_TIMED_OUT = 7
NOT_CONTROLLER = 41
ELECTION_NOT_NEEDED = 84
THROTTLING_QUOTA_EXCEEDED = 89
AUTHORIZATION_FAILED = (29, 30, 31)  # of a topic, a group, the cluster

_MEANINGS: dict[int, tuple[type[KedgeError], str]] = {
    3: (errors.UnknownTopicOrPartition, "no such topic or partition"),
    5: (errors.LeaderNotAvailable, "no leader at the moment"),
    7: (errors.RequestTimedOut, "the cluster did not answer in time"),
    8: (errors.UnknownBroker, "the broker is not available"),
    9: (errors.ReplicaNotAvailable, "the broker does not have this replica"),
    17: (errors.InvalidTopic, "invalid topic name"),
    29: (errors.Unauthorised, "not authorized on the topic"),
    30: (errors.Unauthorised, "not authorized on the group"),
    31: (errors.Unauthorised, "not authorized on the cluster"),
    33: (errors.AuthenticationFailed, "the broker does not support the SASL mechanism"),
    35: (errors.UnsupportedByCluster, "the cluster does not support this request"),
    36: (errors.TopicExists, "topic already exists"),
    37: (errors.InvalidPartitions, "invalid number of partitions"),
    38: (errors.InvalidReplicationFactor, "invalid replication factor"),
    39: (errors.InvalidReplicaAssignment, "invalid replica assignment"),
    40: (errors.InvalidConfiguration, "invalid configuration"),
    41: (errors.NotController, "the broker is not the controller"),
    42: (errors.InvalidRequest, "the cluster refuses the request"),
    44: (errors.PolicyViolation, "refused by the policy of the cluster"),
    56: (errors.BrokerFailed, "a disk of the broker failed"),
    57: (errors.LogDirNotFound, "the broker has no such log directory"),
    58: (errors.AuthenticationFailed, "SASL authentication failed"),
    60: (errors.ReassignmentInProgress, "the partition is being moved"),
    73: (errors.TopicDeletionDisabled, "topic deletion is disabled (delete.topic.enable=false)"),
    80: (errors.LeaderNotAvailable, "the preferred leader is not available"),
    83: (errors.LeaderNotAvailable, "no eligible leader is available"),
    84: (errors.ElectionNotNeeded, "the elected replica is the leader already"),
    85: (errors.NoReassignmentInProgress, "the partition is not being moved"),
    87: (errors.InvalidRequest, "the cluster refuses the request"),
    89: (errors.QuotaExceeded, "too many changes in too short a time"),
    100: (errors.UnknownTopicId, "No topic has that id"),
    102: (errors.UnknownBroker, "no broker with this id is registered"),
}

_HINTS: dict[type[KedgeError], str] = {
    errors.QuotaExceeded: "try again later",
}


def refusal(
    code: int, message: str | None, subject: object = "", *, needs: str = ""
) -> KedgeError | None:
    """The error of a code, about a subject; None for success.

    `needs` is the permission that the request needs: operation and resource, `Alter on Cluster`.
    """
    if not code:
        return None
    if needs and code in AUTHORIZATION_FAILED:
        return errors.Unauthorised(f"Missing permission: {needs}")
    kind, meaning = _MEANINGS.get(code, (errors.BrokerFailed, f"the broker failed (error {code})"))
    text = one_line(message or "") or meaning
    about = f"{subject}: " if str(subject) and str(subject) not in text else ""
    return kind(f"{about}{text}", hint=_HINTS.get(kind, ""))
