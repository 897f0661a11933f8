"""What a node answers that is listed among brokers but is none: nothing is kept or set there.

Kafka's tools go round all nodes: they clear throttles on each, and sum up the log directories of
each. An empty success lets them pass; an empty list of directories would not, for the Java client
takes it for a refusal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from kedge.endpoint.backend import LogDirState, ResourceType
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

DIRECTORY = "/controller"  # a name to show; there is no such directory

_OWN = {ResourceType.BROKER, ResourceType.BROKER_LOGGER}

Answering = Callable[[Any], Awaitable[ApiMessage]]


class NoLogDirs:
    """The directories of a node that keeps nothing."""

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        """One, with nothing in it."""
        return [LogDirState(DIRECTORY)]

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """There is nothing to move."""
        raise ReplicaNotAvailable(f"node {broker} is a controller and holds no replica of {tp}")


def is_about(node: BrokerId, request: Any) -> bool:
    """Whether all that a request about configs names is this node itself."""
    return all(
        r.resource_type in _OWN and r.resource_name == str(node) for r in request.resources
    ) and bool(request.resources)


async def describe_configs(request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """No configs."""
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
    """Done, for there is nothing to do."""
    return AlterConfigsResponse(
        responses=_done(AlterConfigsResponse.AlterConfigsResourceResponse, request)
    )


async def incremental_alter_configs(
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse:
    """Done, for there is nothing to do."""
    return IncrementalAlterConfigsResponse(
        responses=_done(IncrementalAlterConfigsResponse.AlterConfigsResourceResponse, request)
    )


def _done(response: Callable[..., Any], request: Any) -> list[Any]:
    return [
        response(
            error_code=ErrorCode.NONE,
            error_message=None,
            resource_type=r.resource_type,
            resource_name=r.resource_name,
        )
        for r in request.resources
    ]


CONFIGS: Mapping[str, Answering] = {
    "DescribeConfigs": describe_configs,
    "AlterConfigs": alter_configs,
    "IncrementalAlterConfigs": incremental_alter_configs,
}
