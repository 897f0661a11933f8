"""How much an answer costs to make, judged before it is made.

The unit is a partition or a config entry in the answer: some tens of microseconds each. Requests
that are not listed cost as much as their own bytes, which the frame bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kedge.endpoint.handlers.ids import text_id
from kedge.endpoint.images import Image
from kedge.protocol.messages import (
    ApiMessage,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    ElectLeadersRequest,
    MetadataRequest,
)

LIGHT_BYTES = 4096  # of a request: decoded within milliseconds
LIGHT_WEIGHT = 500
_ENTRIES_PER_TOPIC = 40  # configs in the description of one topic


def is_light(request: ApiMessage, image: Image) -> bool:
    """Whether the answer takes a few milliseconds at most."""
    weigh = _WEIGHTS.get(type(request))
    return weigh is None or weigh(request, image) <= LIGHT_WEIGHT


def _of_metadata(request: Any, image: Image) -> int:
    # version 0 asks for all topics by naming none
    if request.topics is None or (request.version == 0 and not request.topics):
        return image.partition_count
    total = 0
    for topic in request.topics:
        topic_id = text_id(topic.topic_id)
        name = topic.name if topic_id is None else image.names_by_id.get(topic_id)
        known = image.topics.get(name or "")
        total += 1 if known is None else len(known.partitions)
    return total


def _of_all_partitions(request: Any, image: Image) -> int:
    return image.partition_count


def _of_election(request: Any, image: Image) -> int:
    return image.partition_count if request.topic_partitions is None else 0


def _of_configs(request: Any, image: Image) -> int:
    return _ENTRIES_PER_TOPIC * len(request.resources)


def _of_creation(request: Any, image: Image) -> int:
    return _ENTRIES_PER_TOPIC * len(request.topics)


_WEIGHTS: Mapping[type[ApiMessage], Callable[[Any, Image], int]] = {
    MetadataRequest: _of_metadata,
    DescribeTopicPartitionsRequest: _of_all_partitions,
    DescribeLogDirsRequest: _of_all_partitions,
    ElectLeadersRequest: _of_election,
    DescribeConfigsRequest: _of_configs,
    CreateTopicsRequest: _of_creation,
}
