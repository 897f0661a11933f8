"""A broker's port on which requests of controllers are written down and answered as told."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from kedge.model import Broker, BrokerId, Endpoint
from kedge.protocol import broker_messages as m
from kedge.protocol.broker_apis import SENT_BY_CONTROLLERS

Answers = Callable[[int, Any], Any]


def fine(key: int, request: Any) -> Any:
    """All is well, for each partition."""
    if key == 6:
        return m.UpdateMetadataResponse(0)
    if key == 4:
        topics = [
            m.TopicErrors(t.topic_id, tuple(m.PartitionError(p.partition, 0) for p in t.partitions))
            for t in request.topics
        ]
        return m.LeaderAndIsrResponse(0, topics=tuple(topics))
    return m.StopReplicaResponse(
        0, tuple(m.PartitionError(p.partition, 0, t.topic) for t in request.topics for p in t[1])
    )


class FakeBroker:
    """Listens when told; what it heard is in `heard`, in order."""

    def __init__(self, answers: Answers = fine, *, broker: int = 1) -> None:
        self.heard: list[tuple[int, int, Any]] = []  # key, version, request
        self.connections = 0
        self.drop_after: int | None = None  # so many requests, then the connection breaks
        self.hold = threading.Event()  # cleared: answers wait
        self.hold.set()
        self._answers = answers
        self._server = socket.socket()
        self._server.bind(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._lines: list[socket.socket] = []
        self.broker = Broker(
            BrokerId(broker), endpoints=(Endpoint("PLAINTEXT", "127.0.0.1", self.port),)
        )

    def listen(self) -> FakeBroker:
        self._server.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def close(self) -> None:
        self.hold.set()
        for line in (self._server, *self._lines):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._server.accept()
                self.connections += 1
                self._lines.append(line)
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                payload = _receive(line, struct.unpack(">i", _receive(line, 4))[0])
                key = struct.unpack_from(">h", payload)[0]
                api = SENT_BY_CONTROLLERS[key]
                header, request = api.decode_request(payload)
                self.heard.append((key, header.version, request))
                if self.drop_after is not None and len(self.heard) >= self.drop_after:
                    self.drop_after = None
                    _hang_up(line)
                    return
                self.hold.wait()
                line.sendall(api.encode_response(header, self._answers(key, request)))


def _hang_up(line: socket.socket) -> None:
    """Close a connection once the other side has: what was answered so far arrives."""
    line.shutdown(socket.SHUT_WR)
    while line.recv(1 << 16):
        pass
    line.close()


def _receive(line: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        some = line.recv(size - len(found))
        if not some:
            raise EOFError
        found += some
    return found
