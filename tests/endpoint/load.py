"""Many clients at once: the work of one of them, and the memory that a process takes."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from kedge.endpoint import ResourceType
from kedge.protocol.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
)
from tests.endpoint.client import AsyncClient
from tests.endpoint.endpoint_cluster import EndpointCluster
from tests.endpoint.requests import counted

CLIENTS = 50
LOOKS = 8  # of six requests between the making of a topic and its deletion
ROUNDS = 4  # of fifty requests: two hundred for each client
PER_ROUND = LOOKS * 6 + 2
TOPIC = ResourceType.TOPIC


async def work(cluster: EndpointCluster, number: int, rounds: int) -> Counter[int]:
    """One client: makes a topic of its own, looks at it from all sides, deletes it, again.

    Each round has a new name: DeleteTopics is answered when the broker no longer knows the topic,
    and the controller removes it from the store after that, as Kafka's does in ZooKeeper mode.
    """
    codes: Counter[int] = Counter()
    client = await AsyncClient.connect(cluster.ports[cluster.controller])
    for round_number in range(rounds):
        topic = f"topic-{number}-{round_number}"
        create = CreateTopicsRequest(topics=[counted(topic, 2, 2)], timeout_ms=30_000)
        codes[(await client.ask(create, CreateTopicsResponse)).topics[0].error_code] += 1
        for _ in range(LOOKS):
            codes.update(await look_around(client, topic))
        state = DeleteTopicsRequest.DeleteTopicState(name=topic)
        delete = DeleteTopicsRequest(topics=[state], timeout_ms=30_000)
        codes[(await client.ask(delete, DeleteTopicsResponse)).responses[0].error_code] += 1
    await client.close()
    return codes


async def look_around(client: AsyncClient, topic: str) -> list[int]:
    """Six questions about a topic and the cluster; their error codes."""
    asked = [MetadataRequest.MetadataRequestTopic(name=topic)]
    one = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    step = resource.AlterableConfig(name="retention.ms", config_operation=0, value="5")
    change = resource(resource_type=TOPIC, resource_name=topic, configs=[step])
    alter = IncrementalAlterConfigsRequest(resources=[change])
    resource = DescribeConfigsRequest.DescribeConfigsResource
    which = resource(resource_type=TOPIC, resource_name=topic, configuration_keys=["retention.ms"])
    describe = DescribeConfigsRequest(resources=[which])
    moves = ListPartitionReassignmentsRequest(topics=None, timeout_ms=30_000)
    return [
        (await client.ask(one, MetadataResponse)).topics[0].error_code,
        (await client.ask(alter, IncrementalAlterConfigsResponse)).responses[0].error_code,
        (await client.ask(describe, DescribeConfigsResponse)).results[0].error_code,
        (await client.ask(DescribeClusterRequest(), DescribeClusterResponse)).error_code,
        (await client.ask(moves, ListPartitionReassignmentsResponse)).error_code,
        (await client.ask(MetadataRequest(topics=[]), MetadataResponse)).error_code,
    ]


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
