"""The one table from Kedge's errors to the names that Kafka's exceptions have."""

from __future__ import annotations

from kedge import errors

KAFKA_NAMES: dict[type[errors.KedgeError], str] = {
    errors.InvalidPartitions: "InvalidPartitions",
    errors.InvalidReplicationFactor: "InvalidReplicationFactor",
    errors.InvalidReplicaAssignment: "InvalidReplicaAssignment",
    errors.InvalidTopic: "InvalidTopic",
    errors.InvalidConfiguration: "InvalidConfiguration",
    errors.UnknownTopicOrPartition: "UnknownTopicOrPartition",
    errors.UnknownBroker: "BrokerNotAvailable",
    errors.RefusedCommand: "AdminCommandFailed",
    errors.MalformedNumber: "NumberFormat",
    errors.MalformedJson: "JsonMapping",
    errors.MalformedInput: "AdminOperation",
    errors.InconsistentRacks: "AdminOperation",
    errors.MissingPartitionZero: "AdminOperation",
    errors.TopicExists: "TopicExists",
    errors.PolicyViolation: "PolicyViolation",
    errors.ReassignmentInProgress: "ReassignmentInProgress",
    errors.NoReassignmentInProgress: "NoReassignmentInProgress",
}


def kafka_name(error: errors.KedgeError) -> str:
    """The name that Kafka gives to this refusal, or ours where it has none."""
    return KAFKA_NAMES.get(type(error), type(error).__name__)
