"""The node of a controller that is no broker: what it answers itself, and what it passes on."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from kedge.brokers.wire_forms import Address
from kedge.endpoint import QuotaSettings
from kedge.endpoint.dispatch import Dispatcher
from kedge.endpoint.limits import MutationQuota
from kedge.errors import MalformedMessage
from kedge.model import BrokerId, TopicPartition
from kedge.protocol import APIS, Reader, decode, encode_response, framed
from kedge.protocol import broker_messages as m
from kedge.protocol.apis import RequestHeader
from kedge.protocol.broker_apis import ALLOCATE_PRODUCER_IDS, ALTER_PARTITION, CONTROLLED_SHUTDOWN
from kedge.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kedge.service.controller_node import ControllerNode
from kedge.service.controller_stub import NoLogDirs
from kedge.service.relay import Relay, expects_no_answer
from kedge.service.requests_from_brokers import BrokerRequests
from tests.endpoint.endpoint_cluster import EndpointCluster, endpoint_cluster

NODE = BrokerId(1)


class OtherBroker:
    """A broker that answers ApiVersions, and everything else with the bytes it was sent."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.at = Address("127.0.0.1", int(self._server.getsockname()[1]))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                line, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError, struct.error):
            while True:
                (size,) = struct.unpack(">i", line.recv(4, socket.MSG_WAITALL))
                payload = line.recv(size, socket.MSG_WAITALL)
                self.heard.append(payload)
                line.sendall(self._answer(payload))

    def _answer(self, payload: bytes) -> bytes:
        key, version, correlation = struct.unpack_from(">hhi", payload)
        if key != 18:
            return framed(b"echo" + payload)
        row = ApiVersionsResponse.ApiVersion
        rows = [row(api_key=k, min_version=0, max_version=4) for k in (0, 3, 18, 19, 32)]
        header = RequestHeader(APIS[18], version, correlation, None)
        return encode_response(header, ApiVersionsResponse(error_code=0, api_keys=rows))

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def other() -> Iterator[OtherBroker]:
    made = OtherBroker()
    yield made
    made.close()


@pytest.fixture
def cluster() -> Iterator[EndpointCluster]:
    with endpoint_cluster(log_dirs=NoLogDirs()) as made:
        yield made


def node_of(cluster: EndpointCluster, *brokers: Address) -> ControllerNode:
    quota = MutationQuota(QuotaSettings(), lambda: 0.0)
    own = Dispatcher(NODE, cluster.backend, quota)
    return ControllerNode(NODE, own, BrokerRequests(cluster.loop), Relay(lambda: list(brokers)))


def request(key: int, version: int, message: Any, *, flexible: bool) -> bytes:
    header = struct.pack(">hhih", key, version, 9, 1) + b"c" + (b"\0" if flexible else b"")
    return header + message.encode(version=version)


def answer(node: ControllerNode, payload: bytes) -> bytes:
    async def asked() -> bytes:
        try:
            return (await node.answer(payload)).frame
        finally:
            await node.close()

    return asyncio.run(asked())


def test_what_is_not_the_controllers_is_passed_on_byte_for_byte(
    cluster: EndpointCluster, other: OtherBroker
) -> None:
    node = node_of(cluster, other.at)
    unknown = struct.pack(">hhih", 999, 3, 17, 2) + b"me" + bytes(range(256))
    assert answer(node, unknown) == framed(b"echo" + unknown)
    assert other.heard == [unknown]


def test_no_broker_to_pass_on_to_ends_the_connection(cluster: EndpointCluster) -> None:
    with pytest.raises(ConnectionError):
        answer(node_of(cluster), struct.pack(">hhih", 999, 3, 17, 0))


def test_a_broker_that_is_gone_is_passed_over(cluster: EndpointCluster, other: OtherBroker) -> None:
    closed = socket.create_server(("127.0.0.1", 0))
    at = Address("127.0.0.1", int(closed.getsockname()[1]))
    closed.close()
    unknown = struct.pack(">hhih", 999, 3, 17, 0)
    assert answer(node_of(cluster, at, other.at), unknown) == framed(b"echo" + unknown)


def test_api_versions_are_the_brokers_with_our_own_among_them(
    cluster: EndpointCluster, other: OtherBroker
) -> None:
    asked = ApiVersionsRequest(client_software_name="c", client_software_version="1")
    frame = answer(node_of(cluster, other.at), request(18, 3, asked, flexible=True))
    reader = Reader(frame[4:])
    assert reader.int32() == 9
    found = decode(ApiVersionsResponse, 3, reader)
    versions = {k.api_key: (k.min_version, k.max_version) for k in found.api_keys}
    assert versions[0] == (0, 4)  # Produce: the broker's
    assert versions[56] == (0, 3)  # AlterPartition: ours
    assert versions[7] == (1, 3)
    assert versions[19] == (APIS[19].oldest, APIS[19].newest)
    assert 75 not in versions  # DescribeTopicPartitions: the broker does not have it


def test_without_a_broker_only_our_own_requests_are_offered(cluster: EndpointCluster) -> None:
    asked = ApiVersionsRequest(client_software_name="c", client_software_version="1")
    frame = answer(node_of(cluster), request(18, 3, asked, flexible=True))
    reader = Reader(frame[4:])
    reader.int32()
    keys = {k.api_key for k in decode(ApiVersionsResponse, 3, reader).api_keys}
    assert {18, 19, 56} <= keys
    assert keys.isdisjoint({0, 1, 3})


@pytest.mark.parametrize(("named", "passed"), [("1", False), ("2", True)])
def test_configs_of_the_node_itself_are_empty_and_those_of_others_are_passed_on(
    cluster: EndpointCluster, other: OtherBroker, named: str, passed: bool
) -> None:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=4, resource_name=named, configuration_keys=None
    )
    payload = request(32, 1, DescribeConfigsRequest(resources=[resource]), flexible=False)
    frame = answer(node_of(cluster, other.at), payload)
    assert (frame == framed(b"echo" + payload)) is passed
    if not passed:
        reader = Reader(frame[8:])
        (result,) = decode(DescribeConfigsResponse, 1, reader).results
        assert (result.error_code, result.configs) == (0, [])


def test_the_node_has_one_directory_with_nothing_in_it(cluster: EndpointCluster) -> None:
    asked = request(35, 1, DescribeLogDirsRequest(topics=None), flexible=False)
    reader = Reader(answer(node_of(cluster), asked)[8:])
    (found,) = decode(DescribeLogDirsResponse, 1, reader).results
    assert (found.error_code, found.topics) == (0, [])


def test_a_leader_asks_for_an_isr_by_the_topics_id(cluster: EndpointCluster) -> None:
    tp = made_topic(cluster)
    context = cluster.loop.context
    now, topic_id = context.leaderships[tp], context.topic_ids["t"]
    epoch = context.registered[now.leader].epoch
    members = (m.IsrMember(now.leader),)
    wish = m.RequestedPartition(0, now.leader_epoch, now.partition_epoch, members=members)
    topics = (
        m.RequestedTopic((wish,), topic_id=topic_id),
        m.RequestedTopic((wish,), topic_id="B" + "A" * 21),
    )
    asked = m.AlterPartitionRequest(now.leader, epoch, topics)
    frame = ALTER_PARTITION.encode_request(3, asked, correlation=4, client="1")
    correlation, found = ALTER_PARTITION.decode_response(3, answer(node_of(cluster), frame[4:])[4:])
    assert (correlation, found.error) == (4, 0)
    known, unknown = found.topics
    assert known.topic_id == topic_id
    assert known.partitions[0].isr == (now.leader,)
    assert known.partitions[0].partition_epoch == now.partition_epoch + 1
    assert unknown.partitions[0].error == 100


def test_a_broker_that_leaves_hears_what_it_still_leads(cluster: EndpointCluster) -> None:
    tp = made_topic(cluster)
    leader = cluster.loop.context.leaderships[tp].leader
    epoch = cluster.loop.context.registered[leader].epoch
    asked = m.ControlledShutdownRequest(leader, epoch)
    frame = CONTROLLED_SHUTDOWN.encode_request(3, asked, correlation=4, client="1")
    found = CONTROLLED_SHUTDOWN.decode_response(3, answer(node_of(cluster), frame[4:])[4:])[1]
    assert found == m.ControlledShutdownResponse(0, ())
    assert cluster.loop.context.leaderships[tp].leader != leader


def test_producer_ids_come_in_blocks_that_do_not_overlap(cluster: EndpointCluster) -> None:
    epoch = cluster.loop.context.registered[BrokerId(2)].epoch
    asked = m.AllocateProducerIdsRequest(2, epoch)
    frame = ALLOCATE_PRODUCER_IDS.encode_request(0, asked, correlation=4, client="1")
    node = node_of(cluster)
    first, second = (
        ALLOCATE_PRODUCER_IDS.decode_response(0, answer(node, frame[4:])[4:])[1] for _ in range(2)
    )
    assert (first.first, first.length) == (0, 1000)
    assert second.first == 1000


@pytest.mark.parametrize("payload", [b"", b"\0\x38", struct.pack(">hhih", 7, 0, 1, 0)])
def test_what_is_no_request_ends_the_connection(cluster: EndpointCluster, payload: bytes) -> None:
    with pytest.raises(MalformedMessage):
        answer(node_of(cluster), payload)


def test_a_produce_without_acknowledgement_is_not_waited_for() -> None:
    header = struct.pack(">hhih", 0, 7, 1, 1) + b"c"
    no_transaction = struct.pack(">h", -1)
    assert expects_no_answer(header + no_transaction + struct.pack(">h", 0))
    assert not expects_no_answer(header + no_transaction + struct.pack(">h", -1))
    flexible = struct.pack(">hhih", 0, 9, 1, 1) + b"c\0" + b"\0"
    assert expects_no_answer(flexible + struct.pack(">h", 0))
    assert not expects_no_answer(struct.pack(">hhih", 3, 9, 1, 0))


def made_topic(cluster: EndpointCluster) -> TopicPartition:
    from kedge.model import ReplicaAssignment
    from kedge.store.port import Create
    from kedge.store.znodes import TopicAssignment, encode_topic, topic_path

    tp = TopicPartition("t", 0)
    replicas = ReplicaAssignment((BrokerId(3), BrokerId(2)))
    record = TopicAssignment({0: replicas})
    cluster.admin.batch([Create(topic_path("t"), encode_topic(record))])
    cluster.until(lambda: tp in cluster.loop.context.leaderships)
    return tp
