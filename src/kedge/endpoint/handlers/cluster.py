"""Handlers about the cluster: ApiVersions, DescribeCluster, FindCoordinator, ListGroups, SASL.

There are no consumer groups here, but the broker that would coordinate one can be named. Looking
for a coordinator creates the topic that coordinators store their state in, whether or not brokers
create other topics automatically.

A port without SASL refuses SaslHandshake and SaslAuthenticate, as Kafka's do, and so does one whose
client is authenticated already: sessions have no time limit, so no client has to authenticate again
(KIP-368). The exchange itself is in `authentication`, because it precedes every other request.
"""

from __future__ import annotations

from kedge.endpoint.handlers.call import Call, ListenerView
from kedge.model import NO_LEADER
from kedge.model.error_codes import ErrorCode
from kedge.protocol import APIS
from kedge.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

# numbers of the operations that Kafka can authorize; all are allowed, there is no authorizer
CLUSTER_OPERATIONS = frozenset({5, 7, 8, 9, 10, 11, 12})
TOPIC_OPERATIONS = frozenset({3, 4, 5, 6, 7, 8, 10, 11})

_NOT_REQUESTED = frozenset({31})  # the sign bit alone
_BROKERS = 1  # endpoint type


async def api_versions(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """The versions of all requests that are supported."""
    return supported(ErrorCode.NONE)


def supported(error: ErrorCode) -> ApiVersionsResponse:
    """The supported versions, with an error if the request itself has an unknown version."""
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
    requested = request.include_cluster_authorized_operations
    node, view = DescribeClusterResponse.DescribeClusterBroker, call.listener_view()
    brokers = view.cache.brokers
    return DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        endpoint_type=_BROKERS,
        cluster_id=call.backend.cluster_id,
        controller_id=view.controller,
        brokers=[
            node(broker_id=b, host=at.host, port=at.port, rack=brokers[b].rack, is_fenced=False)
            for b, at in view.addresses.items()
        ],
        authorized_operations=allowed(CLUSTER_OPERATIONS, requested=requested),
    )


def allowed(operations: frozenset[int], *, requested: bool) -> set[int]:
    """The operations that a client may do, if it requested them."""
    return set(operations if requested else _NOT_REQUESTED)


# ---- groups --------------------------------------------------------------------------------------

Coordinator = FindCoordinatorResponse.Coordinator

_BATCHED_SINCE = 4
_STRICT_SINCE = 4
_TOPICS = {0: "__consumer_offsets", 1: "__transaction_state"}


async def list_groups(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    """No groups."""
    return ListGroupsResponse(error_code=ErrorCode.NONE, groups=[])


async def find_coordinator(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """The leader of the partition that a key belongs to."""
    batched = call.version >= _BATCHED_SINCE
    keys = request.coordinator_keys if batched else [request.key]
    topic = _TOPICS.get(request.key_type)
    if topic is not None and topic not in call.cache.topics:
        charge = call.charge(strict_since=_STRICT_SINCE)
        await call.backend.topics.auto_create(
            call.node, [topic], client_allows=True, for_coordinator=True, charge=charge
        )
    view = call.listener_view()
    found = [_coordinator(view, topic, key) for key in keys]
    if batched:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _coordinator(view: ListenerView, topic: str | None, key: str) -> Coordinator:
    if topic is None:
        return _no_coordinator(key, ErrorCode.INVALID_REQUEST)
    known = view.cache.topics.get(topic)
    if known is None:
        return _no_coordinator(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    entry = known.partitions.get(java_hash(key) % len(known.partitions))
    leader = NO_LEADER if entry is None else entry.leadership.leader
    address = view.addresses.get(leader)
    if address is None:
        return _no_coordinator(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(
        key=key,
        node_id=leader,
        host=address.host,
        port=address.port,
        error_code=ErrorCode.NONE,
        error_message=None,
    )


def _no_coordinator(key: str, code: ErrorCode) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=None)


def java_hash(text: str) -> int:
    """Java's hash of a string, without the sign bit."""
    value = 0
    units = text.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


# ---- sasl ----------------------------------------------------------------------------------------


async def sasl_handshake(call: Call, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """Refuse: this port needs no handshake now."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])


async def sasl_authenticate(
    call: Call, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse:
    """Refuse: this port needs no authentication now."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate was not preceded by a handshake, or is not needed here",
        auth_bytes=b"",
        session_lifetime_ms=0,
    )
