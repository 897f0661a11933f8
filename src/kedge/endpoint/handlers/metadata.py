"""Handlers of Metadata and DescribeTopicPartitions, which answer from the node's metadata cache.

Metadata for a topic that does not exist may create it; `allow_auto_topic_creation` is the client's
consent, and the answer is then an error after which clients try again. DescribeTopicPartitions
(KIP-966) returns topics page by page, sorted by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from kedge.endpoint.handlers.call import Call, ListenerView, text_id, wire_id
from kedge.endpoint.handlers.cluster import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, allowed
from kedge.endpoint.limits import Charge
from kedge.endpoint.metadata_caches import CachedTopic
from kedge.errors import InvalidRequest, KedgeError, UnknownTopicId
from kedge.model import NO_LEADER, BrokerId
from kedge.model.broker_requests import MetadataEntry
from kedge.model.error_codes import ErrorCode
from kedge.protocol import code_of
from kedge.protocol.messages import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kedge.topics import is_internal, is_valid_name

NamedTopic = MetadataRequest.MetadataRequestTopic
Topic = MetadataResponse.MetadataResponseTopic
Partition = Topic.MetadataResponsePartition

_IDS_SINCE = 12  # topics may be named by id
_STRICT_SINCE = 6


async def metadata(call: Call, request: MetadataRequest) -> MetadataResponse:
    """The brokers, the controller, and the leaders of topics."""
    charge = call.charge(strict_since=_STRICT_SINCE)
    topics = await _topics(call, request, charge)
    for topic in topics:
        requested = request.include_topic_authorized_operations and not topic.error_code
        topic.authorized_operations = allowed(TOPIC_OPERATIONS, requested=requested)
    requested = request.include_cluster_authorized_operations
    node, view = MetadataResponse.MetadataResponseBroker, call.listener_view()
    brokers = view.cache.brokers
    return MetadataResponse(
        throttle_time_ms=charge.throttle_ms,
        brokers=[
            node(node_id=b, host=at.host, port=at.port, rack=brokers[b].rack)
            for b, at in view.addresses.items()
        ],
        cluster_id=call.backend.cluster_id,
        controller_id=view.controller,
        topics=topics,
        authorized_operations=allowed(CLUSTER_OPERATIONS, requested=requested),
        error_code=ErrorCode.NONE,
    )


async def _topics(call: Call, request: MetadataRequest, charge: Charge) -> list[Topic]:
    wanted = request.topics
    if wanted is None or (call.version == 0 and not wanted):
        view = call.listener_view()
        topics = view.cache.topics
        return [_known(view, topics[name]) for name in sorted(topics)]
    if call.version < _IDS_SINCE and any(map(_is_by_id, wanted)):
        refusal = InvalidRequest(f"topics cannot be named by id in version {call.version}")
        return [_failed(t.name or "", text_id(t.topic_id), refusal) for t in wanted]
    if any(map(_is_by_id, wanted)):
        view = call.listener_view()
        ids = dict.fromkeys(text_id(t.topic_id) for t in wanted)
        return [_by_id(view, topic_id) for topic_id in ids]
    names = list(dict.fromkeys(t.name or "" for t in wanted))
    return await _by_name(call, names, charge, client_allows=request.allow_auto_topic_creation)


def _is_by_id(topic: NamedTopic) -> bool:
    return topic.name is None or text_id(topic.topic_id) is not None


def _by_id(view: ListenerView, topic_id: str | None) -> Topic:
    name = view.cache.names_by_id.get(topic_id or "")
    if name is not None:
        return _known(view, view.cache.topics[name])
    return _failed(None, topic_id, UnknownTopicId(f"no topic has the id {topic_id}"))


async def _by_name(
    call: Call, names: Sequence[str], charge: Charge, *, client_allows: bool
) -> list[Topic]:
    known = call.cache.topics
    unknown = [name for name in names if name not in known]
    refusals: Mapping[str, KedgeError] = {}
    if unknown:
        refusals = await call.backend.topics.auto_create(
            call.node, unknown, client_allows=client_allows, for_coordinator=False, charge=charge
        )
    view = call.listener_view()
    return [
        _failed(name, None, refusals[name])
        if name in refusals
        else _known(view, view.cache.topics.get(name, known[name]))
        for name in names
    ]


def _known(view: ListenerView, topic: CachedTopic) -> Topic:
    return Topic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=wire_id(topic.topic_id),
        is_internal=is_internal(topic.name),
        partitions=[_partition(view, p, topic.partitions[p]) for p in sorted(topic.partitions)],
    )


def _partition(view: ListenerView, number: int, entry: MetadataEntry) -> Partition:
    found = visible(view, entry)
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


# ---- partitions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VisiblePartition:
    """The state of a partition in a response."""

    error: ErrorCode
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]


def visible(view: ListenerView, entry: MetadataEntry) -> VisiblePartition:
    """A partition as a client sees it: a leader without an address is none, and a replica on such
    a broker is offline."""
    now, reachable = entry.leadership, view.addresses
    has_leader = now.leader in reachable
    return VisiblePartition(
        error=ErrorCode.NONE if has_leader else _leader_error(view, now.leader),
        leader=now.leader if has_leader else NO_LEADER,
        leader_epoch=now.leader_epoch,
        replicas=list(entry.replicas),
        isr=list(now.isr),
        offline=[b for b in entry.replicas if b in entry.offline or b not in reachable],
    )


def _leader_error(view: ListenerView, leader: BrokerId) -> ErrorCode:
    if leader in view.cache.brokers:
        return ErrorCode.LISTENER_NOT_FOUND
    return ErrorCode.LEADER_NOT_AVAILABLE


# ---- describe topic partitions -------------------------------------------------------------------

DescribedTopic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
DescribedPartition = DescribedTopic.DescribeTopicPartitionsResponsePartition
Cursor = DescribeTopicPartitionsResponse.Cursor

PARTITIONS_MAX = 2000  # in one response, whatever limit the client sends


async def describe_topic_partitions(
    call: Call, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """As many partitions as fit, and the cursor to continue from."""
    start = ("", 0)
    if request.cursor is not None:
        start = (request.cursor.topic_name, request.cursor.partition_index)
    if start[1] < 0:
        return _page([_refused(t.name, ErrorCode.INVALID_REQUEST) for t in request.topics], None)
    room = max(1, min(request.response_partition_limit, PARTITIONS_MAX))
    topics: list[DescribedTopic] = []
    view = call.listener_view()
    for name in _names(view, request, start[0]):
        first = start[1] if name == start[0] else 0
        if room == 0:
            return _page(topics, Cursor(topic_name=name, partition_index=first))
        topic, after = _described(view, name, first, room)
        topics.append(topic)
        room -= len(topic.partitions)
        if after is not None:
            return _page(topics, Cursor(topic_name=name, partition_index=after))
    return _page(topics, None)


def _page(topics: list[DescribedTopic], cursor: Cursor | None) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)


def _names(
    view: ListenerView, request: DescribeTopicPartitionsRequest, start: str
) -> Iterable[str]:
    """The named topics, or all, from the cursor on. A deleted one is left out."""
    named = {topic.name for topic in request.topics}
    found = named or set(view.cache.topics)
    return sorted(name for name in found if name >= start)


def _described(
    view: ListenerView, name: str, first: int, room: int
) -> tuple[DescribedTopic, int | None]:
    """A topic with as many partitions as there is room for, and the number of the next one."""
    known = view.cache.topics.get(name)
    if known is None:
        legal = is_valid_name(name)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if legal else ErrorCode.INVALID_TOPIC_EXCEPTION
        return _refused(name, error), None
    numbers = sorted(p for p in known.partitions if p >= first)
    chosen = list(islice(numbers, room))
    topic = DescribedTopic(
        error_code=ErrorCode.NONE,
        name=name,
        topic_id=wire_id(known.topic_id),
        is_internal=is_internal(name),
        partitions=[_described_partition(view, p, known.partitions[p]) for p in chosen],
        topic_authorized_operations=sum(1 << bit for bit in TOPIC_OPERATIONS),
    )
    return topic, numbers[room] if len(numbers) > room else None


def _refused(name: str, error: ErrorCode) -> DescribedTopic:
    return DescribedTopic(error_code=error, name=name, is_internal=is_internal(name), partitions=[])


def _described_partition(
    view: ListenerView, number: int, entry: MetadataEntry
) -> DescribedPartition:
    found = visible(view, entry)
    return DescribedPartition(
        error_code=found.error,
        partition_index=number,
        leader_id=found.leader,
        leader_epoch=found.leader_epoch,
        replica_nodes=found.replicas,
        isr_nodes=found.isr,
        # they are not tracked here; null would be right, but Kafka's 3.9 client fails on it
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=found.offline,
    )
