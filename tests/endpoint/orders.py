"""What tests order most: topics with replicas that they choose."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.protocol.messages import CreateTopicsRequest, CreateTopicsResponse
from tests.endpoint.client import Client

Topic = CreateTopicsRequest.CreatableTopic


def placed(name: str, replicas: Sequence[Sequence[int]], **configs: str | None) -> Topic:
    """A topic with these replicas."""
    lists = [
        Topic.CreatableReplicaAssignment(partition_index=i, broker_ids=list(ids))
        for i, ids in enumerate(replicas)
    ]
    return Topic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=lists,
        configs=[Topic.CreatableTopicConfig(name=n, value=v) for n, v in configs.items()],
    )


def counted(name: str, partitions: int, factor: int, **configs: str | None) -> Topic:
    """A topic with so many partitions and replicas; dots of config names as double underscores."""
    return Topic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[],
        configs=[
            Topic.CreatableTopicConfig(name=n.replace("__", "."), value=v)
            for n, v in configs.items()
        ],
    )


def create(client: Client, name: str, replicas: Sequence[Sequence[int]]) -> None:
    """Create a topic, and be sure that it is there."""
    answer = create_all(client, placed(name, replicas))
    assert [t.error_code for t in answer.topics] == [0], answer.topics[0].error_message


def create_all(
    client: Client,
    *topics: Topic,
    timeout_ms: int = 10_000,
    validate_only: bool = False,
    version: int | None = None,
) -> CreateTopicsResponse:
    """Create topics, and see what comes of each."""
    request = CreateTopicsRequest(
        topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only
    )
    return client.ask(request, CreateTopicsResponse, version)
