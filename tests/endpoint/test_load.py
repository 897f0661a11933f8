"""Many clients at once: no error, no leak, nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter

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
from tests.endpoint.lab import Lab, lab
from tests.endpoint.orders import counted
from tests.endpoint.test_limits import resident_bytes

CLIENTS = 50
LOOKS = 8  # of six requests between the making of a topic and its deletion
ROUNDS = 4  # of fifty requests: two hundred for each client
PER_ROUND = LOOKS * 6 + 2
TOPIC = ResourceType.TOPIC


async def work(cluster: Lab, number: int, rounds: int) -> Counter[int]:
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


def all_at_once(cluster: Lab, rounds: int) -> Counter[int]:
    async def everybody() -> list[Counter[int]]:
        return await asyncio.gather(*(work(cluster, n, rounds) for n in range(CLIENTS)))

    return sum(asyncio.run(everybody()), Counter[int]())


def test_fifty_clients_with_two_hundred_requests_each() -> None:
    with lab() as cluster:
        assert all_at_once(cluster, 1) == {0: CLIENTS * PER_ROUND}
        threads, before = threading.active_count(), settled(cluster)
        assert all_at_once(cluster, ROUNDS - 1) == {0: CLIENTS * (ROUNDS - 1) * PER_ROUND}
        after = settled(cluster)
        assert threading.active_count() == threads
        assert after - before < 16 << 20
        assert cluster.children("/brokers/topics") == ()
        assert cluster.images.image(cluster.controller).topics == {}


def settled(cluster: Lab) -> int:
    """What the process takes once all is done; the recorder's memory does not count."""
    cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
    cluster.until(lambda: cluster.children("/brokers/topics") == ())
    cluster.recorder.sent.clear()
    gc.collect()
    return resident_bytes()
