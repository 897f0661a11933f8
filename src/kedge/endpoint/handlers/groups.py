"""FindCoordinator and ListGroups: no group lives here, but where it would live can be told.

Looking for a coordinator creates the topic that coordinators keep their memory in, whatever the
brokers say about topics in general.
"""

from __future__ import annotations

from kedge.endpoint.call import Call, Lens
from kedge.model import NO_LEADER
from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)

Coordinator = FindCoordinatorResponse.Coordinator

_BATCHED_SINCE = 4
_STRICT_SINCE = 4
_TOPICS = {0: "__consumer_offsets", 1: "__transaction_state"}


async def list_groups(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    """None."""
    return ListGroupsResponse(error_code=ErrorCode.NONE, groups=[])


async def find_coordinator(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """The leader of the partition that a key belongs to."""
    batched = call.version >= _BATCHED_SINCE
    keys = request.coordinator_keys if batched else [request.key]
    topic = _TOPICS.get(request.key_type)
    if topic is not None and topic not in call.image.topics:
        charge = call.charge(strict_since=_STRICT_SINCE)
        await call.backend.auto_create(
            call.node, [topic], client_allows=True, for_coordinator=True, charge=charge
        )
    lens = call.lens()
    found = [_coordinator(lens, topic, key) for key in keys]
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


def _coordinator(lens: Lens, topic: str | None, key: str) -> Coordinator:
    if topic is None:
        return _nobody(key, ErrorCode.INVALID_REQUEST)
    known = lens.image.topics.get(topic)
    if known is None:
        return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    entry = known.partitions.get(java_hash(key) % len(known.partitions))
    leader = NO_LEADER if entry is None else entry.leadership.leader
    address = lens.addresses.get(leader)
    if address is None:
        return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(
        key=key,
        node_id=leader,
        host=address.host,
        port=address.port,
        error_code=ErrorCode.NONE,
        error_message=None,
    )


def _nobody(key: str, code: ErrorCode) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=None)


def java_hash(text: str) -> int:
    """The hash of a text as Java has it, without its sign bit."""
    value = 0
    units = text.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value & 0x7FFFFFFF
