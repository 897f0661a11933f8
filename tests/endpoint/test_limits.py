"""What strangers can do to the server: nothing but lose their own connection."""

from __future__ import annotations

import gc
import random
import resource
import socket

import pytest

from kedge.endpoint import Limits
from kedge.endpoint.limits import connections_for
from kedge.errors import InvalidRequest
from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    MetadataRequest,
    MetadataResponse,
)
from tests.endpoint.client import HOST, Client, frame_of
from tests.endpoint.endpoint_cluster import EndpointCluster, endpoint_cluster
from tests.endpoint.load import resident_bytes
from tests.endpoint.requests import counted, placed


def answers(cluster: EndpointCluster, node: int = 1) -> bool:
    with Client(cluster.ports[BrokerId(node)]) as client:
        return client.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0


def hurl(port: int, data: bytes) -> None:
    """Send something and hang up, whatever the other side says."""
    with socket.create_connection((HOST, port), timeout=10) as stranger:
        try:
            stranger.sendall(data)
            stranger.settimeout(0.001)
            stranger.recv(64)
        except OSError:
            pass


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: kedge\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",  # a TLS hello
        b"\x00\x00\x00\x00",  # an empty frame
        b"\xff\xff\xff\xff",  # a frame of minus one byte
        b"\x7f\xff\xff\xff",  # a frame of two gigabytes
        b"\x00\x00\x00\x02\x00\x12",  # half a header
        b"\x00\x00\x00\x0a\x03\xe7\x00\x00\x00\x00\x00\x01\xff\xff",  # request 999
        b"\x00\x00\x00\x0a\x00\x03\x00\x63\x00\x00\x00\x01\xff\xff",  # Metadata, version 99
        b"\x00\x00\x00\x0e\x00\x03\x00\x00\x00\x00\x00\x01\xff\xff\x7f\xff\xff\xff",
    ],
)
def test_what_is_no_request_ends_its_connection_and_nothing_else(data: bytes) -> None:
    with endpoint_cluster(brokers=1) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as stranger:
            stranger.socket.sendall(data)
            assert stranger.is_closed()
        assert answers(cluster)


def test_random_bytes_on_every_port_leave_the_server_up_and_its_memory_flat() -> None:
    rng = random.Random(20)
    with endpoint_cluster() as cluster:

        def rounds(count: int) -> int:
            for _ in range(count):
                for port in cluster.ports.values():
                    hurl(port, rng.randbytes(rng.randrange(200)))
                    whole = b"\x00\x12\x00\x03" + rng.randbytes(rng.randrange(60))
                    frame = len(whole).to_bytes(4, "big") + whole
                    hurl(port, frame)
                    hurl(port, frame[: rng.randrange(len(frame))])
            cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
            gc.collect()
            return resident_bytes()

        before = rounds(20)
        after = rounds(100)
        assert after - before < 4 << 20
        assert all(answers(cluster, node) for node in (1, 2, 3))


def test_a_frame_longer_than_the_limit_is_not_read() -> None:
    with endpoint_cluster(brokers=1, limits=Limits(frame_bytes_max=1000)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as stranger:
            stranger.socket.sendall((1001).to_bytes(4, "big"))
            assert stranger.is_closed()
        assert answers(cluster)


def test_half_a_frame_is_waited_for_only_so_long() -> None:
    with endpoint_cluster(brokers=1, limits=Limits(frame_s=0.1)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as stranger:
            stranger.socket.sendall(b"\x00\x00\x00\x20\x00\x12")
            assert stranger.is_closed()
        assert answers(cluster)


def test_an_idle_connection_is_closed() -> None:
    with endpoint_cluster(brokers=1, limits=Limits(idle_s=0.1)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as quiet:
            assert quiet.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0
            assert quiet.is_closed()
        assert answers(cluster)


def test_there_is_room_for_so_many_connections_and_no_more() -> None:
    with endpoint_cluster(brokers=2, limits=Limits(connections_max=2)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as one, Client(cluster.ports[BrokerId(2)]) as two:
            for client in (one, two):
                assert client.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0
            with Client(cluster.ports[BrokerId(1)]) as third:
                assert third.is_closed()
            assert cluster.endpoint.endpoint.traffic.connections_refused == 1
        cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
        assert answers(cluster)


def large_request() -> MetadataRequest:
    topics = [MetadataRequest.MetadataRequestTopic(name=f"{n:0200}") for n in range(500)]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def test_a_large_frame_that_stalls_is_given_up_for_one_that_arrives() -> None:
    limits = Limits(buffered_bytes_max=200_000, frame_s=3600)
    with endpoint_cluster(brokers=1, limits=limits) as cluster:
        port = cluster.ports[BrokerId(1)]
        with Client(port) as stalled, Client(port) as other:
            stalled.socket.sendall((190_000).to_bytes(4, "big") + bytes(180_000))
            answer = other.ask(large_request(), MetadataResponse)
            assert len(answer.topics) == 500
            assert stalled.is_closed()
        assert answers(cluster)


def test_a_large_frame_takes_no_more_room_than_has_arrived_of_it() -> None:
    limits = Limits(buffered_bytes_max=200_000, frame_s=3600)
    with endpoint_cluster(brokers=1, limits=limits) as cluster:
        port = cluster.ports[BrokerId(1)]
        with Client(port) as slow, Client(port) as other:
            whole = frame_of(large_request(), 12, 1, "slow")
            slow.socket.sendall(whole[:1000])
            for _ in range(3):
                assert len(other.ask(large_request(), MetadataResponse).topics) == 500
            slow.socket.sendall(whole[1000:])
            assert slow.receive()[:4] == b"\0\0\0\1"


def test_the_number_of_connections_follows_from_the_limit_on_open_files() -> None:
    assert connections_for(1_000_000, 3) == 1000
    assert connections_for(256, 3) == 256 - 64 - 3
    assert connections_for(40, 3) == 17
    assert connections_for(4, 1000) == 8
    assert connections_for(resource.RLIM_INFINITY, 3) == 1000


def test_clients_that_only_connect_keep_no_others_out() -> None:
    with endpoint_cluster(brokers=1, limits=Limits(connections_max=3)) as cluster:
        port = cluster.ports[BrokerId(1)]
        with Client(port) as first:
            assert first.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0
            silent = [Client(port) for _ in range(2)]
            assert answers(cluster)
            assert silent[0].is_closed()
            for each in silent:
                each.socket.close()
            assert first.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0


def test_work_for_a_client_that_disconnected_is_stopped() -> None:
    with endpoint_cluster(brokers=1, limits=Limits(disconnect_check_s=0.01)) as cluster:
        topics = [counted(f"t{number}", 1, 1) for number in range(6_000)]
        with Client(cluster.ports[BrokerId(1)]) as client:
            client.send(CreateTopicsRequest(topics=topics, timeout_ms=600_000), 7)
            cluster.until(lambda: len(cluster.children("/brokers/topics")) > 0)
        cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
        assert answers(cluster)
        assert 0 < len(cluster.children("/brokers/topics")) < 6_000


def test_topics_whose_creation_did_not_begin_in_time_are_refused_and_not_created() -> None:
    with endpoint_cluster(brokers=1) as cluster, Client(cluster.ports[BrokerId(1)]) as client:
        request = CreateTopicsRequest(
            topics=[counted(f"t{number}", 1, 1) for number in range(3_000)], timeout_ms=1
        )
        found = client.ask(request, CreateTopicsResponse).topics
        assert {topic.error_code for topic in found} <= {0, ErrorCode.REQUEST_TIMED_OUT}
        late = {topic.name for topic in found if "did not begin" in (topic.error_message or "")}
        assert late
        assert set(cluster.children("/brokers/topics")) == {t.name for t in found} - late


def test_a_text_longer_than_kafka_allows_ends_the_connection() -> None:
    with endpoint_cluster(brokers=1) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as client:
            client.send(CreateTopicsRequest(topics=[counted("t" * 32_768, 1, 1)]), 7)
            assert client.is_closed()
        assert answers(cluster)


@pytest.mark.parametrize("version", [4, 7])
def test_an_error_text_that_does_not_fit_is_cut(version: int) -> None:
    with endpoint_cluster(brokers=1) as cluster, Client(cluster.ports[BrokerId(1)]) as client:
        name = "\N{GRINNING FACE}" * 8_000
        request = CreateTopicsRequest(topics=[counted(name, 1, 1)], timeout_ms=1000)
        (topic,) = client.ask(request, CreateTopicsResponse, version).topics
        assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert topic.name == name
        assert len((topic.error_message or "").encode()) < 32_768


def test_requests_with_too_many_elements_end_their_connection_only() -> None:
    body = b"\0\x03\0\x01\0\0\0\1\xff\xff" + (300_000).to_bytes(4, "big") + bytes(600_000)
    with endpoint_cluster(brokers=1) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as client:
            client.socket.sendall(len(body).to_bytes(4, "big") + body)
            assert client.is_closed()
        assert answers(cluster)


def test_a_request_ends_when_its_client_disconnects() -> None:
    with endpoint_cluster(brokers=1, limits=Limits(disconnect_check_s=0.02)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as client:
            request = CreateTopicsRequest(topics=[placed("t", [[9]])], timeout_ms=2**31 - 1)
            client.send(request, 7)
            cluster.until(lambda: "t" in cluster.children("/brokers/topics"))
        cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
        assert answers(cluster)


def test_a_node_listens_once() -> None:
    with endpoint_cluster(brokers=1) as cluster:
        with pytest.raises(InvalidRequest, match="already listens"):
            cluster.endpoint.open(BrokerId(1), HOST)
        cluster.endpoint.close_node(BrokerId(7))  # that is not there, and that is fine
        assert answers(cluster)


def test_requests_sent_at_once_are_answered_in_order() -> None:
    with endpoint_cluster(brokers=1) as cluster, Client(cluster.ports[BrokerId(1)]) as client:
        for _ in range(20):
            client.send(ApiVersionsRequest(), 0)
            client.send(MetadataRequest(topics=[]), 1)
        found = [int.from_bytes(client.receive()[:4], "big") for _ in range(40)]
        assert found == list(range(1, 41))


def test_a_stopped_node_ends_its_connections_and_can_come_back() -> None:
    with endpoint_cluster() as cluster:
        with Client(cluster.ports[BrokerId(2)]) as client:
            assert client.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0
            cluster.stop(2)
            assert client.is_closed()
        with pytest.raises(ConnectionRefusedError):
            Client(cluster.ports[BrokerId(2)])
        cluster.start(2)
        assert answers(cluster, 2)
