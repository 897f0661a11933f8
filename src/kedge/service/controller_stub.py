"""Stub answers for a node that is listed among the brokers but is only a controller.

Kafka's tools visit all listed nodes: they clear throttles on each, and sum up the log directories
of each. An empty success lets them proceed; an empty list of directories would not, because the
Java client takes it for an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from kedge.endpoint.config_entries import ResourceType
from kedge.endpoint.log_dirs import LogDirState
from kedge.errors import ReplicaNotAvailable
from kedge.model import BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ApiMessage,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

DIRECTORY = "/controller"  # a name for responses; there is no such directory

_OWN = {ResourceType.BROKER, ResourceType.BROKER_LOGGER}

StubHandler = Callable[[Any], Awaitable[ApiMessage]]


class NoLogDirs:
    """The log directories of a node that stores nothing."""

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        """One empty directory."""
        return [LogDirState(DIRECTORY)]

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """Refuse: the node has no replicas."""
        raise ReplicaNotAvailable(f"node {broker} is a controller and holds no replica of {tp}")


def concerns_only(node: BrokerId, request: Any) -> bool:
    """Whether all resources of a request about configs are this node itself."""
    return all(
        r.resource_type in _OWN and r.resource_name == str(node) for r in request.resources
    ) and bool(request.resources)


async def describe_configs(request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """No configs, for each resource."""
    result = DescribeConfigsResponse.DescribeConfigsResult
    return DescribeConfigsResponse(
        results=[
            result(
                error_code=ErrorCode.NONE,
                error_message=None,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
                configs=[],
            )
            for r in request.resources
        ]
    )


async def alter_configs(request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Success, without any effect."""
    return AlterConfigsResponse(
        responses=_succeeded(AlterConfigsResponse.AlterConfigsResourceResponse, request)
    )


async def incremental_alter_configs(
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse:
    """Success, without any effect."""
    return IncrementalAlterConfigsResponse(
        responses=_succeeded(IncrementalAlterConfigsResponse.AlterConfigsResourceResponse, request)
    )


def _succeeded(response: Callable[..., Any], request: Any) -> list[Any]:
    return [
        response(
            error_code=ErrorCode.NONE,
            error_message=None,
            resource_type=r.resource_type,
            resource_name=r.resource_name,
        )
        for r in request.resources
    ]


STUB_HANDLERS: Mapping[str, StubHandler] = {
    "DescribeConfigs": describe_configs,
    "AlterConfigs": alter_configs,
    "IncrementalAlterConfigs": incremental_alter_configs,
}
