"""Who is there, what is spoken, who leads what: what any node answers from its image."""

from __future__ import annotations

import uuid

import pytest

from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.protocol import APIS, Reader, decode
from kedge.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kedge.topics import AutoCreate, InternalTopic
from tests.endpoint.client import Client
from tests.endpoint.endpoint_cluster import ClusterSettings, EndpointCluster, endpoint_cluster
from tests.endpoint.requests import create, metadata_of


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_all_that_is_understood(version: int) -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        answer = client.ask(request, ApiVersionsResponse, version)
        found = {k.api_key: (k.min_version, k.max_version) for k in answer.api_keys}
        assert found == {api.key: (api.oldest, api.newest) for api in APIS.values()}


def test_api_versions_of_an_unknown_version_is_answered_in_version_0() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        header = b"\x00\x12\x00\x63" + (9).to_bytes(4, "big") + b"\x00\x01x\x00" + b"whatever"
        client.socket.sendall(len(header).to_bytes(4, "big") + header)
        reader = Reader(client.receive())
        assert reader.int32() == 9
        answer = decode(ApiVersionsResponse, 0, reader)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert len(answer.api_keys) == len(APIS)
        assert client.ask(ApiVersionsRequest(), ApiVersionsResponse, 0).error_code == 0


@pytest.mark.parametrize("version", range(14))
def test_metadata_tells_brokers_controller_and_topics(version: int) -> None:
    with (
        endpoint_cluster(racks=True) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[2, 1], [3, 2]])
        answer = metadata_of(client, "t", version=version)
        assert [b.node_id for b in answer.brokers] == [1, 2, 3]
        assert [b.port for b in answer.brokers] == list(cluster.ports.values())
        if version >= 1:
            assert answer.controller_id == 1
            assert [b.rack for b in answer.brokers] == ["a", "b", "a"]
        if version >= 2:
            assert answer.cluster_id == "lab-cluster-id"
        (topic,) = answer.topics
        assert (topic.error_code, topic.name) == (0, "t")
        shown = [(p.partition_index, p.leader_id, p.replica_nodes) for p in topic.partitions]
        assert shown == [(0, 2, [2, 1]), (1, 3, [3, 2])]
        assert [p.isr_nodes for p in topic.partitions] == [[2, 1], [3, 2]]


def test_metadata_of_all_topics_is_null_and_of_none_is_empty() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "b", [[1]])
        create(client, "a", [[1]])
        everything = client.ask(MetadataRequest(topics=None), MetadataResponse)
        assert [t.name for t in everything.topics] == ["a", "b"]
        assert client.ask(MetadataRequest(topics=[]), MetadataResponse).topics == []
        old = client.ask(MetadataRequest(topics=[]), MetadataResponse, 0)
        assert [t.name for t in old.topics] == ["a", "b"]


def test_topics_are_found_by_id() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        known = metadata_of(client, "t").topics[0].topic_id
        assert known is not None
        ids = [known, uuid.uuid4()]
        topics = [MetadataRequest.MetadataRequestTopic(topic_id=i, name=None) for i in ids]
        answer = client.ask(MetadataRequest(topics=topics), MetadataResponse)
        found = [(t.error_code, t.name) for t in answer.topics]
        assert found == [(0, "t"), (ErrorCode.UNKNOWN_TOPIC_ID, None)]
        refused = client.ask(
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(topic_id=known, name="")]),
            MetadataResponse,
            10,
        )
        assert refused.topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_unknown_names_and_invalid_names_have_different_errors() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        answer = metadata_of(client, "no", "n o", "no")
        assert [(t.name, t.error_code) for t in answer.topics] == [
            ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ("n o", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ]


def test_a_partition_without_a_leader_is_shown_so() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "lost", [[2]])
        create(client, "kept", [[2, 1]])
        cluster.stop(2)
        cluster.until(lambda: metadata_of(client, "kept").topics[0].partitions[0].leader_id == 1)
        lost, kept = (t.partitions[0] for t in metadata_of(client, "lost", "kept").topics)
        assert (lost.error_code, lost.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
        assert (lost.replica_nodes, lost.offline_replicas) == ([2], [2])
        assert (kept.error_code, kept.leader_id, kept.offline_replicas) == (0, 1, [2])


def test_authorized_operations_are_returned_on_request() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        topics = [MetadataRequest.MetadataRequestTopic(name="t")]
        asked = MetadataRequest(topics=topics, include_topic_authorized_operations=True)
        assert client.ask(asked, MetadataResponse).topics[0].authorized_operations == {
            3, 4, 5, 6, 7, 8, 10, 11,
        }  # fmt: skip
        assert not metadata_of(client, "t").topics[0].authorized_operations


@pytest.mark.parametrize("node", [1, 2, 3])
def test_every_node_describes_the_same_cluster(node: int) -> None:
    with endpoint_cluster(racks=True) as cluster, Client(cluster.ports[BrokerId(node)]) as client:
        cluster.until(lambda: len(cluster.images.cache(BrokerId(node)).brokers) == 3)
        asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
        answer = client.ask(asked, DescribeClusterResponse)
        assert (answer.error_code, answer.cluster_id, answer.controller_id) == (
            0,
            "lab-cluster-id",
            1,
        )
        assert [(b.broker_id, b.rack) for b in answer.brokers] == [(1, "a"), (2, "b"), (3, "a")]
        assert answer.authorized_operations == {5, 7, 8, 9, 10, 11, 12}


def test_controllers_cannot_be_described_by_a_broker() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        answer = client.ask(DescribeClusterRequest(endpoint_type=2), DescribeClusterResponse, 1)
        assert answer.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


# ---- DescribeTopicPartitions ---------------------------------------------------------------------


def pages(client: Client, limit: int, *names: str) -> list[list[tuple[str, list[int]]]]:
    """All pages, each as topics and partition numbers."""
    topics = [DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names]
    found: list[list[tuple[str, list[int]]]] = []
    cursor = None
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=topics, response_partition_limit=limit, cursor=cursor
        )
        answer = client.ask(request, DescribeTopicPartitionsResponse)
        found.append(
            [(t.name or "", [p.partition_index for p in t.partitions]) for t in answer.topics]
        )
        following = answer.next_cursor
        if following is None:
            return found
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=following.topic_name, partition_index=following.partition_index
        )


def test_topics_come_page_by_page_in_order() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "b", [[1]] * 3)
        create(client, "a", [[1]] * 2)
        assert pages(client, 2000) == [[("a", [0, 1]), ("b", [0, 1, 2])]]
        assert pages(client, 2) == [[("a", [0, 1])], [("b", [0, 1])], [("b", [2])]]
        assert pages(client, 3) == [[("a", [0, 1]), ("b", [0])], [("b", [1, 2])]]
        assert pages(client, 3, "b", "zz") == [[("b", [0, 1, 2])], [("zz", [])]]


def test_a_topic_that_is_not_there_is_refused_beside_the_others() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        topics = [DescribeTopicPartitionsRequest.TopicRequest(name=n) for n in ("x", "t", "n o")]
        request = DescribeTopicPartitionsRequest(topics=topics)
        answer = client.ask(request, DescribeTopicPartitionsResponse)
        assert [(t.name, t.error_code) for t in answer.topics] == [
            ("n o", ErrorCode.INVALID_TOPIC_EXCEPTION),
            ("t", 0),
            ("x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]


def test_a_cursor_before_the_first_partition_is_refused() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        request = DescribeTopicPartitionsRequest(
            topics=[DescribeTopicPartitionsRequest.TopicRequest(name="t")],
            cursor=DescribeTopicPartitionsRequest.Cursor(topic_name="t", partition_index=-1),
        )
        answer = client.ask(request, DescribeTopicPartitionsResponse)
        assert [t.error_code for t in answer.topics] == [ErrorCode.INVALID_REQUEST]


# ---- groups --------------------------------------------------------------------------------------


def small_internal_topics() -> ClusterSettings:
    return ClusterSettings(auto_create=AutoCreate(enabled=False, offsets=InternalTopic(4, 1)))


def coordinator_of(cluster: EndpointCluster, client: Client, group: str) -> FindCoordinatorResponse:
    request = FindCoordinatorRequest(coordinator_keys=[group], key=group)
    return client.ask(request, FindCoordinatorResponse, 4)


def test_there_are_no_groups() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        answer = client.ask(ListGroupsRequest(), ListGroupsResponse)
        assert (answer.error_code, answer.groups) == (0, [])


def test_looking_for_a_coordinator_creates_its_topic_whatever_the_brokers_say() -> None:
    with (
        endpoint_cluster(settings=small_internal_topics()) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        first = coordinator_of(cluster, client, "g").coordinators[0]
        assert first.error_code in (0, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        cluster.until(lambda: coordinator_of(cluster, client, "g").coordinators[0].error_code == 0)
        found = coordinator_of(cluster, client, "g").coordinators[0]
        # Java's hash of "g" is 103, and 103 modulo 4 is 3
        leader = metadata_of(client, "__consumer_offsets").topics[0].partitions[3].leader_id
        assert (found.key, found.node_id) == ("g", leader)
        old = client.ask(FindCoordinatorRequest(key="g"), FindCoordinatorResponse, 2)
        assert (old.error_code, old.node_id) == (0, leader)
