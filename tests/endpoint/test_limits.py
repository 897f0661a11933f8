"""What strangers can do to the server: nothing but lose their own connection."""

from __future__ import annotations

import gc
import os
import random
import socket
import time
from pathlib import Path

import pytest

from kedge.endpoint import Limits
from kedge.errors import InvalidRequest
from kedge.model import BrokerId
from kedge.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    CreateTopicsRequest,
    MetadataRequest,
    MetadataResponse,
)
from tests.endpoint.client import HOST, Client
from tests.endpoint.lab import Lab, lab
from tests.endpoint.orders import placed


def answers(cluster: Lab, node: int = 1) -> bool:
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
    with lab(brokers=1) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as stranger:
            stranger.socket.sendall(data)
            assert stranger.is_closed()
        assert answers(cluster)


def test_random_bytes_on_every_port_leave_the_server_up_and_its_memory_flat() -> None:
    luck = random.Random(20)
    with lab() as cluster:

        def rounds(count: int) -> int:
            for _ in range(count):
                for port in cluster.ports.values():
                    hurl(port, luck.randbytes(luck.randrange(200)))
                    whole = b"\x00\x12\x00\x03" + luck.randbytes(luck.randrange(60))
                    frame = len(whole).to_bytes(4, "big") + whole
                    hurl(port, frame)
                    hurl(port, frame[: luck.randrange(len(frame))])
            cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
            gc.collect()
            return resident_bytes()

        before = rounds(20)
        after = rounds(100)
        assert after - before < 4 << 20
        assert all(answers(cluster, node) for node in (1, 2, 3))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_frame_longer_than_the_limit_is_not_read() -> None:
    with lab(brokers=1, limits=Limits(frame_bytes_max=1000)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as stranger:
            stranger.socket.sendall((1001).to_bytes(4, "big"))
            assert stranger.is_closed()
        assert answers(cluster)


def test_half_a_frame_is_waited_for_only_so_long() -> None:
    with lab(brokers=1, limits=Limits(frame_s=0.1)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as stranger:
            stranger.socket.sendall(b"\x00\x00\x00\x20\x00\x12")
            assert stranger.is_closed()
        assert answers(cluster)


def test_whoever_says_nothing_is_sent_away() -> None:
    with lab(brokers=1, limits=Limits(idle_s=0.1)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as quiet:
            assert quiet.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0
            assert quiet.is_closed()
        assert answers(cluster)


def test_there_is_room_for_so_many_connections_and_no_more() -> None:
    with lab(brokers=2, limits=Limits(connections_max=2)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as one, Client(cluster.ports[BrokerId(2)]) as two:
            for client in (one, two):
                assert client.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0
            with Client(cluster.ports[BrokerId(1)]) as third:
                assert third.is_closed()
            assert cluster.endpoint.endpoint.traffic.connections_refused == 1
        cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
        assert answers(cluster)


def test_large_frames_share_what_room_there_is() -> None:
    limits = Limits(buffered_bytes_max=200_000, frame_s=0.3)
    with lab(brokers=1, limits=limits) as cluster:
        port = cluster.ports[BrokerId(1)]
        with Client(port) as hog, Client(port) as other:
            hog.socket.sendall((150_000).to_bytes(4, "big") + b"\x00\x12")
            time.sleep(0.02)
            topics = [MetadataRequest.MetadataRequestTopic(name="n" * 200) for _ in range(500)]
            request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
            began = time.monotonic()
            answer = other.ask(request, MetadataResponse)
            # only when the hog's time was up
            assert time.monotonic() - began > 0.15
            assert len(answer.topics) == 1
            assert hog.is_closed()
        assert answers(cluster)


def test_nobody_waits_for_a_client_that_has_gone() -> None:
    with lab(brokers=1, limits=Limits(look_s=0.02)) as cluster:
        with Client(cluster.ports[BrokerId(1)]) as client:
            request = CreateTopicsRequest(topics=[placed("t", [[9]])], timeout_ms=2**31 - 1)
            client.send(request, 7)
            cluster.until(lambda: "t" in cluster.children("/brokers/topics"))
        cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
        assert answers(cluster)


def test_a_node_listens_once() -> None:
    with lab(brokers=1) as cluster:
        with pytest.raises(InvalidRequest, match="listening already"):
            cluster.endpoint.open(BrokerId(1), HOST)
        cluster.endpoint.close_node(BrokerId(7))  # that is not there, and that is fine
        assert answers(cluster)


def test_requests_sent_at_once_are_answered_in_order() -> None:
    with lab(brokers=1) as cluster, Client(cluster.ports[BrokerId(1)]) as client:
        for _ in range(20):
            client.send(ApiVersionsRequest(), 0)
            client.send(MetadataRequest(topics=[]), 1)
        found = [int.from_bytes(client.receive()[:4], "big") for _ in range(40)]
        assert found == list(range(1, 41))


def test_a_stopped_node_ends_its_connections_and_can_come_back() -> None:
    with lab() as cluster:
        with Client(cluster.ports[BrokerId(2)]) as client:
            assert client.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0
            cluster.stop(2)
            assert client.is_closed()
        with pytest.raises(ConnectionRefusedError):
            Client(cluster.ports[BrokerId(2)])
        cluster.start(2)
        assert answers(cluster, 2)
