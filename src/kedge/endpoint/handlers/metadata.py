"""Metadata: who leads what, as the node that was asked knows it.

Asking for a topic that is not there may create it; `allow_auto_topic_creation` is the client's
consent, and the answer is then an error after which clients ask again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.endpoint.call import Call, Lens
from kedge.endpoint.handlers.cluster import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    allowed,
)
from kedge.endpoint.handlers.ids import text_id, wire_id
from kedge.endpoint.handlers.partitions import shown
from kedge.endpoint.images import CachedTopic
from kedge.endpoint.quota import Charge
from kedge.errors import InvalidRequest, KedgeError, UnknownTopicId
from kedge.model.broker_requests import MetadataEntry
from kedge.model.error_codes import ErrorCode
from kedge.protocol import code_of
from kedge.protocol.messages import MetadataRequest, MetadataResponse
from kedge.topics import is_internal

Asked = MetadataRequest.MetadataRequestTopic
Topic = MetadataResponse.MetadataResponseTopic
Partition = Topic.MetadataResponsePartition

_IDS_SINCE = 12  # topics may be asked for by id
_STRICT_SINCE = 6


async def metadata(call: Call, request: MetadataRequest) -> MetadataResponse:
    """Brokers, controller and topics."""
    charge = call.charge(strict_since=_STRICT_SINCE)
    topics = await _topics(call, request, charge)
    for topic in topics:
        asked = request.include_topic_authorized_operations and not topic.error_code
        topic.authorized_operations = allowed(TOPIC_OPERATIONS, asked=asked)
    asked = request.include_cluster_authorized_operations
    node, lens = MetadataResponse.MetadataResponseBroker, call.lens()
    brokers = lens.image.brokers
    return MetadataResponse(
        throttle_time_ms=charge.throttle_ms,
        brokers=[
            node(node_id=b, host=at.host, port=at.port, rack=brokers[b].rack)
            for b, at in lens.addresses.items()
        ],
        cluster_id=call.backend.cluster_id,
        controller_id=lens.controller,
        topics=topics,
        authorized_operations=allowed(CLUSTER_OPERATIONS, asked=asked),
        error_code=ErrorCode.NONE,
    )


async def _topics(call: Call, request: MetadataRequest, charge: Charge) -> list[Topic]:
    wanted = request.topics
    if wanted is None or (call.version == 0 and not wanted):
        lens = call.lens()
        topics = lens.image.topics
        return [_known(lens, topics[name]) for name in sorted(topics)]
    if call.version < _IDS_SINCE and any(map(_is_by_id, wanted)):
        refusal = InvalidRequest(f"topics cannot be asked for by id in version {call.version}")
        return [_failed(t.name or "", text_id(t.topic_id), refusal) for t in wanted]
    if any(map(_is_by_id, wanted)):
        lens = call.lens()
        ids = dict.fromkeys(text_id(t.topic_id) for t in wanted)
        return [_by_id(lens, topic_id) for topic_id in ids]
    names = list(dict.fromkeys(t.name or "" for t in wanted))
    return await _by_name(call, names, charge, client_allows=request.allow_auto_topic_creation)


def _is_by_id(asked: Asked) -> bool:
    return asked.name is None or text_id(asked.topic_id) is not None


def _by_id(lens: Lens, topic_id: str | None) -> Topic:
    name = lens.image.names_by_id.get(topic_id or "")
    if name is not None:
        return _known(lens, lens.image.topics[name])
    return _failed(None, topic_id, UnknownTopicId(f"no topic has the id {topic_id}"))


async def _by_name(
    call: Call, names: Sequence[str], charge: Charge, *, client_allows: bool
) -> list[Topic]:
    known = call.image.topics
    unknown = [name for name in names if name not in known]
    refusals: Mapping[str, KedgeError] = {}
    if unknown:
        refusals = await call.backend.auto_create(
            call.node, unknown, client_allows=client_allows, for_coordinator=False, charge=charge
        )
    lens = call.lens()
    return [
        _failed(name, None, refusals[name])
        if name in refusals
        else _known(lens, lens.image.topics.get(name, known[name]))
        for name in names
    ]


def _known(lens: Lens, topic: CachedTopic) -> Topic:
    return Topic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=wire_id(topic.topic_id),
        is_internal=is_internal(topic.name),
        partitions=[_partition(lens, p, topic.partitions[p]) for p in sorted(topic.partitions)],
    )


def _partition(lens: Lens, number: int, entry: MetadataEntry) -> Partition:
    found = shown(lens, entry)
    return Partition(
        error_code=found.error,
        partition_index=number,
        leader_id=found.leader,
        leader_epoch=found.leader_epoch,
        replica_nodes=found.replicas,
        isr_nodes=found.isr,
        offline_replicas=found.offline,
    )


def _failed(name: str | None, topic_id: str | None, error: KedgeError) -> Topic:
    return Topic(
        error_code=code_of(error),
        name=name,
        topic_id=wire_id(topic_id),
        is_internal=is_internal(name or ""),
        partitions=[],
    )
