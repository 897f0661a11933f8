"""A process without a free descriptor accepts connections again as soon as it has one."""

from __future__ import annotations

import json
import logging
import resource
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kedge.endpoint import Limits
from kedge.lab.control_socket import ControlServer
from kedge.protocol.messages import ApiVersionsRequest
from tests.endpoint.client import HOST, frame_of
from tests.endpoint.endpoint_cluster import endpoint_cluster


@contextmanager
def no_descriptors() -> Generator[None]:
    """This process can open nothing: poll() needs a limit of one, and that one is taken."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_port_accepts_connections_again_and_the_log_has_two_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        caplog.at_level(logging.WARNING),
        endpoint_cluster(
            brokers=1, limits=Limits(connections_max=10, accept_retry_s=0.01)
        ) as cluster,
        socket.socket() as client,
    ):
        client.settimeout(10)
        with no_descriptors():
            client.connect((HOST, cluster.ports[cluster.controller]))
            cluster.until(lambda: "Too many open files" in caplog.text)
            client.settimeout(0.2)  # many attempts later
            client.sendall(frame_of(ApiVersionsRequest(), 3, 1, "test"))
            with pytest.raises(TimeoutError):
                client.recv(1)
        client.settimeout(10)
        assert client.recv(1) != b""
        # threads of servers that other tests share have no descriptors either, and say so
        own = [record for record in caplog.records if record.name.startswith("kedge.endpoint")]
        said = [record.getMessage().split(" ", 2)[2] for record in own]
        assert said == [
            "cannot accept connections: Too many open files",
            "accepts connections again",
        ]


def test_the_control_socket_of_a_lab_goes_on_when_there_are_descriptors(tmp_path: Path) -> None:
    server = ControlServer(tmp_path / "sock", lambda order: order["do"])
    try:
        with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
            with no_descriptors():
                # some kernels reserve a descriptor in the accept that waits for the first one
                for caller in (first, second):
                    caller.connect(str(tmp_path / "sock"))
                    caller.sendall(b'{"do":"hello"}\n')
                second.settimeout(0.3)
                with pytest.raises(TimeoutError):
                    second.recv(100)
            for caller in (first, second):
                caller.settimeout(10)
                assert json.loads(caller.recv(100)) == {"ok": "hello"}
    finally:
        server.stop()
