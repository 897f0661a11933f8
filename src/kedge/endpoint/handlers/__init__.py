"""One function per request: from the request, through the backend, to the response.

A handler never raises a KedgeError: a refusal is an answer in the response's own form.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kedge.endpoint.call import Call
from kedge.endpoint.handlers import (
    cluster,
    configs,
    elections,
    groups,
    log_dirs,
    metadata,
    reassignments,
    sasl,
    topic_partitions,
    topics,
)
from kedge.protocol.messages import ApiMessage

Handler = Callable[[Call, Any], Awaitable[ApiMessage]]

HANDLERS: Mapping[str, Handler] = {
    "AlterConfigs": configs.alter_configs,
    "AlterPartitionReassignments": reassignments.alter_partition_reassignments,
    "AlterReplicaLogDirs": log_dirs.alter_replica_log_dirs,
    "ApiVersions": cluster.api_versions,
    "CreatePartitions": topics.create_partitions,
    "CreateTopics": topics.create_topics,
    "DeleteTopics": topics.delete_topics,
    "DescribeCluster": cluster.describe_cluster,
    "DescribeConfigs": configs.describe_configs,
    "DescribeLogDirs": log_dirs.describe_log_dirs,
    "DescribeTopicPartitions": topic_partitions.describe_topic_partitions,
    "ElectLeaders": elections.elect_leaders,
    "FindCoordinator": groups.find_coordinator,
    "IncrementalAlterConfigs": configs.incremental_alter_configs,
    "ListGroups": groups.list_groups,
    "ListPartitionReassignments": reassignments.list_partition_reassignments,
    "Metadata": metadata.metadata,
    "SaslAuthenticate": sasl.sasl_authenticate,
    "SaslHandshake": sasl.sasl_handshake,
}

__all__ = ["HANDLERS", "Call", "Handler"]
