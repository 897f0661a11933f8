"""A real ZooKeeper server for tests and benchmarks."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Generator
from pathlib import Path

from jvm import KAFKA_3_9, free_port, java

SERVER = "org.apache.zookeeper.server.ZooKeeperServerMain"

# ticks of 250 ms allow sessions of half a second, so that tests see one expire without waiting
CONFIG = """\
tickTime=250
maxSessionTimeout=60000
dataDir={data}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
maxClientCnxns=0
"""


@contextlib.contextmanager
def zookeeper(directory: Path, *, port: int = 0) -> Generator[str]:
    """A server for the time of a `with` block; yields its address. Its data stays in place."""
    port = port or free_port()
    config = directory / "zoo.cfg"
    config.write_text(CONFIG.format(data=directory / "data", port=port))
    with java(KAFKA_3_9, SERVER, str(config), cwd=directory):
        _await_service(port, timeout_s=60)
        yield f"127.0.0.1:{port}"


def _await_service(port: int, *, timeout_s: float) -> None:
    """Wait until the server says that it serves: it listens some time before."""
    deadline = time.monotonic() + timeout_s
    while b"Mode:" not in _status(port):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no ZooKeeper at 127.0.0.1:{port}")
        time.sleep(0.05)


def _status(port: int) -> bytes:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"srvr")
            return b"".join(iter(lambda: connection.recv(4096), b""))
    except OSError:
        return b""
