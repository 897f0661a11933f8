"""Which requests are answered at once, and which apart from the others."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.endpoint.dispatch import is_light
from kedge.endpoint.metadata_caches import CachedTopic, MetadataCache
from kedge.model import BrokerId, Leadership
from kedge.model.broker_requests import MetadataEntry
from kedge.protocol import APIS, Reader, decode
from kedge.protocol.messages import (
    ApiMessage,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    ElectLeadersRequest,
    MetadataRequest,
)

ONE = BrokerId(1)
ENTRY = MetadataEntry(Leadership(ONE, (ONE,), 0, 0, 1), (ONE,), ())
LARGE = MetadataCache(
    topics={
        "large": CachedTopic("large", None, dict.fromkeys(range(10_000), ENTRY)),
        "small": CachedTopic("small", None, {0: ENTRY}),
    },
    partition_count=10_001,
)


def about(*topics: str) -> list[MetadataRequest.MetadataRequestTopic]:
    return [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]


def sent(request: ApiMessage, version: int) -> ApiMessage:
    """The request as a server reads it."""
    message: Any = request
    return decode(type(request), version, Reader(message.encode(version=version)))


@pytest.mark.parametrize(
    ("request_", "version", "light"),
    [
        (MetadataRequest(topics=[]), 12, True),
        (MetadataRequest(topics=[]), 0, False),
        (MetadataRequest(topics=None), 12, False),
        (MetadataRequest(topics=about("small")), 12, True),
        (MetadataRequest(topics=about("small", "large")), 12, False),
        (MetadataRequest(topics=about("unknown")), 12, True),
        (DescribeClusterRequest(), 1, True),
        (ElectLeadersRequest(topic_partitions=None), 2, False),
        (ElectLeadersRequest(topic_partitions=[]), 2, True),
        (DescribeConfigsRequest(resources=[]), 4, True),
    ],
)
def test_a_request_whose_answer_is_large_is_not_light(
    request_: ApiMessage, version: int, light: bool
) -> None:
    assert is_light(sent(request_, version), LARGE) is light


def test_every_request_can_be_weighed_in_a_cluster_without_topics() -> None:
    for api in APIS.values():
        assert is_light(sent(api.request(), api.newest), MetadataCache())
