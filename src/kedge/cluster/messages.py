"""Kafka's messages, as kafka-python describes them: the one place where it is imported.

Its import warns about its own use of the standard library, which is nothing to a caller of ours.
"""

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.net import sasl
    from kafka.protocol.admin.client_quotas import (
        AlterClientQuotasRequest,
        AlterClientQuotasResponse,
        DescribeClientQuotasRequest,
        DescribeClientQuotasResponse,
    )
    from kafka.protocol.admin.cluster import (
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirsResponse,
        DescribeLogDirsRequest,
        DescribeLogDirsResponse,
    )
    from kafka.protocol.admin.configs import (
        DescribeConfigsRequest,
        DescribeConfigsResponse,
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )
    from kafka.protocol.admin.topics import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
        CreatePartitionsRequest,
        CreatePartitionsResponse,
        CreateTopicsRequest,
        CreateTopicsResponse,
        DeleteTopicsRequest,
        DeleteTopicsResponse,
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
        ElectLeadersRequest,
        ElectLeadersResponse,
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
    )
    from kafka.protocol.metadata.api_versions import ApiVersionsRequest
    from kafka.protocol.metadata.metadata import MetadataRequest, MetadataResponse
    from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

__all__ = [
    "AlterClientQuotasRequest",
    "AlterClientQuotasResponse",
    "AlterPartitionReassignmentsRequest",
    "AlterPartitionReassignmentsResponse",
    "AlterReplicaLogDirsRequest",
    "AlterReplicaLogDirsResponse",
    "ApiVersionsRequest",
    "CreatePartitionsRequest",
    "CreatePartitionsResponse",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
    "DescribeClientQuotasRequest",
    "DescribeClientQuotasResponse",
    "DescribeConfigsRequest",
    "DescribeConfigsResponse",
    "DescribeLogDirsRequest",
    "DescribeLogDirsResponse",
    "DescribeTopicPartitionsRequest",
    "DescribeTopicPartitionsResponse",
    "ElectLeadersRequest",
    "ElectLeadersResponse",
    "IncrementalAlterConfigsRequest",
    "IncrementalAlterConfigsResponse",
    "ListPartitionReassignmentsRequest",
    "ListPartitionReassignmentsResponse",
    "MetadataRequest",
    "MetadataResponse",
    "SaslAuthenticateRequest",
    "SaslHandshakeRequest",
    "sasl_mechanism",
]


def sasl_mechanism(name: str, **settings: str) -> Any:
    """A mechanism to authenticate with, by Kafka's name for it."""
    known: Any = sasl
    return known.get_sasl_mechanism(name)(**settings)
