"""Requests that tests send most, as functions that return what tests compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.endpoint import ResourceType
from kedge.protocol.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kedge.topics import Op
from tests.endpoint.client import Client

Topic = CreateTopicsRequest.CreatableTopic
Entry = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
Step = tuple[str, Op, str | None]
Moves = Mapping[tuple[str, int], Sequence[int] | None]
Codes = dict[tuple[str, int], int]

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER


# ---- topics --------------------------------------------------------------------------------------


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


def expand(
    client: Client,
    *wanted: tuple[str, int, list[list[int]] | None],
    timeout_ms: int = 10_000,
    validate_only: bool = False,
    version: int | None = None,
) -> dict[str, int]:
    topic = CreatePartitionsRequest.CreatePartitionsTopic
    topics = [
        topic(
            name=name,
            count=count,
            assignments=None
            if lists is None
            else [topic.CreatePartitionsAssignment(broker_ids=ids) for ids in lists],
        )
        for name, count, lists in wanted
    ]
    request = CreatePartitionsRequest(
        topics=topics, timeout_ms=timeout_ms, validate_only=validate_only
    )
    answer = client.ask(request, CreatePartitionsResponse, version)
    return {result.name: result.error_code for result in answer.results}


def delete(client: Client, *names: str, timeout_ms: int = 10_000, version: int = 6) -> list[int]:
    state = DeleteTopicsRequest.DeleteTopicState
    request = DeleteTopicsRequest(
        topics=[state(name=name) for name in names] if version >= 6 else [],
        topic_names=list(names) if version < 6 else [],
        timeout_ms=timeout_ms,
    )
    answer = client.ask(request, DeleteTopicsResponse, version)
    assert [r.name for r in answer.responses] == list(names)
    return [r.error_code for r in answer.responses]


def metadata_of(client: Client, *names: str, version: int | None = None) -> MetadataResponse:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    return client.ask(request, MetadataResponse, version)


# ---- configs -------------------------------------------------------------------------------------


def describe(
    client: Client, kind: int, name: str, keys: Sequence[str] | None = None, version: int = 4
) -> tuple[int, dict[str, Entry]]:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind,
        resource_name=name,
        configuration_keys=None if keys is None else list(keys),
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    (result,) = client.ask(request, DescribeConfigsResponse, version).results
    return result.error_code, {entry.name: entry for entry in result.configs}


def alter(
    client: Client, kind: int, name: str, *steps: Step, validate_only: bool = False
) -> tuple[int, str | None]:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        resource.AlterableConfig(name=n, config_operation=op.value, value=v) for n, op, v in steps
    ]
    request = IncrementalAlterConfigsRequest(
        resources=[resource(resource_type=kind, resource_name=name, configs=configs)],
        validate_only=validate_only,
    )
    (result,) = client.ask(request, IncrementalAlterConfigsResponse).responses
    return result.error_code, result.error_message


def replace(client: Client, kind: int, name: str, **configs: str | None) -> int:
    resource = AlterConfigsRequest.AlterConfigsResource
    entries = [
        resource.AlterableConfig(name=n.replace("__", "."), value=v) for n, v in configs.items()
    ]
    request = AlterConfigsRequest(
        resources=[resource(resource_type=kind, resource_name=name, configs=entries)]
    )
    (result,) = client.ask(request, AlterConfigsResponse).responses
    return result.error_code


# ---- moves and elections -------------------------------------------------------------------------


def reassign(
    client: Client,
    moves: Moves,
    *,
    may_change_count: bool = True,
    version: int = 1,
    timeout_ms: int = 10_000,
) -> tuple[int, Codes]:
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    topics = [
        topic(
            name=name,
            partitions=[
                topic.ReassignablePartition(
                    partition_index=number, replicas=None if ids is None else list(ids)
                )
            ],
        )
        for (name, number), ids in moves.items()
    ]
    request = AlterPartitionReassignmentsRequest(
        topics=topics, timeout_ms=timeout_ms, allow_replication_factor_change=may_change_count
    )
    answer = client.ask(request, AlterPartitionReassignmentsResponse, version)
    codes = {
        (t.name, p.partition_index): p.error_code for t in answer.responses for p in t.partitions
    }
    return answer.error_code, codes


def listed(
    client: Client, *partitions: tuple[str, int], timeout_ms: int = 10_000
) -> dict[tuple[str, int], tuple[list[int], list[int], list[int]]]:
    topic = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    topics = [topic(name=name, partition_indexes=[number]) for name, number in partitions]
    request = ListPartitionReassignmentsRequest(topics=topics or None, timeout_ms=timeout_ms)
    answer = client.ask(request, ListPartitionReassignmentsResponse)
    assert answer.error_code == 0
    return {
        (t.name, p.partition_index): (p.replicas, p.adding_replicas, p.removing_replicas)
        for t in answer.topics
        for p in t.partitions
    }


def elect(
    client: Client,
    *partitions: tuple[str, int],
    kind: int = 0,
    version: int = 2,
    timeout_ms: int = 10_000,
) -> tuple[int, Codes]:
    topics = [
        ElectLeadersRequest.TopicPartitions(topic=name, partitions=[number])
        for name, number in partitions
    ]
    request = ElectLeadersRequest(
        election_type=kind, topic_partitions=topics or None, timeout_ms=timeout_ms
    )
    answer = client.ask(request, ElectLeadersResponse, version)
    codes = {
        (t.topic, p.partition_id): p.error_code
        for t in answer.replica_election_results
        for p in t.partition_result
    }
    return answer.error_code, codes
