"""DescribeTopicPartitions (KIP-966): topics page by page, in the order of their names."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from kedge.endpoint.call import Call, Lens
from kedge.endpoint.handlers.cluster import TOPIC_OPERATIONS
from kedge.endpoint.handlers.ids import wire_id
from kedge.endpoint.handlers.partitions import shown
from kedge.model.broker_requests import MetadataEntry
from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kedge.topics import is_internal, is_valid_name

Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
Partition = Topic.DescribeTopicPartitionsResponsePartition
Cursor = DescribeTopicPartitionsResponse.Cursor

PARTITIONS_MAX = 2000  # in one answer, whatever the client asks for


async def describe_topic_partitions(
    call: Call, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """As many partitions as fit, and where to go on."""
    start = ("", 0)
    if request.cursor is not None:
        start = (request.cursor.topic_name, request.cursor.partition_index)
    if start[1] < 0:
        return _page([_failed(t.name, ErrorCode.INVALID_REQUEST) for t in request.topics], None)
    room = max(1, min(request.response_partition_limit, PARTITIONS_MAX))
    topics: list[Topic] = []
    lens = call.lens()
    for name in _names(lens, request, start[0]):
        first = start[1] if name == start[0] else 0
        if room == 0:
            return _page(topics, Cursor(topic_name=name, partition_index=first))
        topic, after = _topic(lens, name, first, room)
        topics.append(topic)
        room -= len(topic.partitions)
        if after is not None:
            return _page(topics, Cursor(topic_name=name, partition_index=after))
    return _page(topics, None)


def _page(topics: list[Topic], cursor: Cursor | None) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)


def _names(lens: Lens, request: DescribeTopicPartitionsRequest, start: str) -> Iterable[str]:
    """The topics asked for, or all, from the cursor on. One that is gone is passed over."""
    asked = {topic.name for topic in request.topics}
    found = asked or set(lens.image.topics)
    return sorted(name for name in found if name >= start)


def _topic(lens: Lens, name: str, first: int, room: int) -> tuple[Topic, int | None]:
    """A topic with as many of its partitions as there is room for, and the next one left out."""
    known = lens.image.topics.get(name)
    if known is None:
        legal = is_valid_name(name)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if legal else ErrorCode.INVALID_TOPIC_EXCEPTION
        return _failed(name, error), None
    numbers = sorted(p for p in known.partitions if p >= first)
    chosen = list(islice(numbers, room))
    topic = Topic(
        error_code=ErrorCode.NONE,
        name=name,
        topic_id=wire_id(known.topic_id),
        is_internal=is_internal(name),
        partitions=[_partition(lens, p, known.partitions[p]) for p in chosen],
        topic_authorized_operations=sum(1 << bit for bit in TOPIC_OPERATIONS),
    )
    return topic, numbers[room] if len(numbers) > room else None


def _failed(name: str, error: ErrorCode) -> Topic:
    return Topic(error_code=error, name=name, is_internal=is_internal(name), partitions=[])


def _partition(lens: Lens, number: int, entry: MetadataEntry) -> Partition:
    found = shown(lens, entry)
    return Partition(
        error_code=found.error,
        partition_index=number,
        leader_id=found.leader,
        leader_epoch=found.leader_epoch,
        replica_nodes=found.replicas,
        isr_nodes=found.isr,
        # nobody keeps these here; null would be right, but Kafka's 3.9 client stumbles over it
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=found.offline,
    )
