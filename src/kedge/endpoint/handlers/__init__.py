"""Handlers: one function per request type, from the request through the backend to the response.

A handler never raises a KedgeError: a refusal is a response.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kedge.endpoint.handlers import cluster, configs, metadata, moves, topics
from kedge.endpoint.handlers.call import Call
from kedge.protocol.messages import ApiMessage

Handler = Callable[[Call, Any], Awaitable[ApiMessage]]

HANDLERS: Mapping[str, Handler] = {
    "AlterConfigs": configs.alter_configs,
    "AlterPartitionReassignments": moves.alter_partition_reassignments,
    "AlterReplicaLogDirs": moves.alter_replica_log_dirs,
    "ApiVersions": cluster.api_versions,
    "CreatePartitions": topics.create_partitions,
    "CreateTopics": topics.create_topics,
    "DeleteTopics": topics.delete_topics,
    "DescribeCluster": cluster.describe_cluster,
    "DescribeConfigs": configs.describe_configs,
    "DescribeLogDirs": moves.describe_log_dirs,
    "DescribeTopicPartitions": metadata.describe_topic_partitions,
    "ElectLeaders": moves.elect_leaders,
    "FindCoordinator": cluster.find_coordinator,
    "IncrementalAlterConfigs": configs.incremental_alter_configs,
    "ListGroups": cluster.list_groups,
    "ListPartitionReassignments": moves.list_partition_reassignments,
    "Metadata": metadata.metadata,
    "SaslAuthenticate": cluster.sasl_authenticate,
    "SaslHandshake": cluster.sasl_handshake,
}

__all__ = ["HANDLERS", "Call", "Handler"]
