"""ApiVersions and DescribeCluster: what is spoken here, and who is there."""

from __future__ import annotations

from kedge.endpoint.call import Call
from kedge.model.error_codes import ErrorCode
from kedge.protocol import APIS
from kedge.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

# numbers of operations on the cluster that can be allowed, all of which are: there is no authorizer
CLUSTER_OPERATIONS = frozenset({5, 7, 8, 9, 10, 11, 12})
TOPIC_OPERATIONS = frozenset({3, 4, 5, 6, 7, 8, 10, 11})

_NOT_ASKED = frozenset({31})  # the sign bit alone
_BROKERS = 1  # endpoint type


async def api_versions(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """All requests that are understood."""
    return supported(ErrorCode.NONE)


def supported(error: ErrorCode) -> ApiVersionsResponse:
    """The list, beside an error if the question itself was of an unknown version."""
    key = ApiVersionsResponse.ApiVersion
    keys = [
        key(api_key=api.key, min_version=api.oldest, max_version=api.newest)
        for api in APIS.values()
    ]
    return ApiVersionsResponse(error_code=error, api_keys=keys, throttle_time_ms=0)


async def describe_cluster(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """The live brokers and the controller."""
    if request.endpoint_type != _BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="this is a broker's endpoint, not a controller's",
            endpoint_type=_BROKERS,
            cluster_id="",
        )
    asked = request.include_cluster_authorized_operations
    node, lens = DescribeClusterResponse.DescribeClusterBroker, call.lens()
    brokers = lens.image.brokers
    return DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        endpoint_type=_BROKERS,
        cluster_id=call.backend.cluster_id,
        controller_id=lens.controller,
        brokers=[
            node(broker_id=b, host=at.host, port=at.port, rack=brokers[b].rack, is_fenced=False)
            for b, at in lens.addresses.items()
        ],
        authorized_operations=allowed(CLUSTER_OPERATIONS, asked=asked),
    )


def allowed(operations: frozenset[int], *, asked: bool) -> set[int]:
    """The operations that a client may do, if it has asked for them."""
    return set(operations if asked else _NOT_ASKED)
