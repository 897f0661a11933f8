"""Requests as bytes, and connections that carry them: as little work as possible on this side."""

from __future__ import annotations

import socket
from typing import Any

from kedge.protocol.messages import ApiMessage

HOST = "127.0.0.1"


def frame_of(request: ApiMessage, version: int) -> bytes:
    """A framed request."""
    message: Any = request
    message.API_VERSION = version
    message.with_header(correlation_id=1, client_id="bench")
    frame: bytes = message.encode(version=version, header=True, framed=True)
    return frame


def connected(port: int, *, timeout_s: float = 30.0) -> socket.socket:
    """A connection to a node."""
    return socket.create_connection((HOST, port), timeout=timeout_s)


def exchange(line: socket.socket, frame: bytes) -> bytes:
    """Send a request and take its answer; raises ConnectionError."""
    line.sendall(frame)
    return _take(line, int.from_bytes(_take(line, 4), "big"))


def _take(line: socket.socket, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = line.recv(min(size, 1 << 20))
        if not part:
            raise ConnectionError("the server has closed the connection")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
