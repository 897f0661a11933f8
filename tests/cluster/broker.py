"""A broker of few words: it answers what a test tells it to, over a real socket."""

from __future__ import annotations

import contextlib
import io
import socket
import struct
import threading
from collections.abc import Callable, Generator, Mapping
from typing import Any

from kafka.protocol.metadata.api_versions import ApiVersionsResponse

from kedge.cluster import client_messages
from kedge.protocol import messages
from kedge.protocol.messages import ApiVersionsRequest, MetadataRequest, MetadataResponse

Answer = Callable[[Any], Any]

CLOSE = object()  # hang up instead of answering
SILENCE = object()  # answer nothing at all

VERSIONS_MAX = 2  # of the question for versions: an old broker, so that clients must ask twice

REQUESTS: dict[int, Any] = {
    kind.API_KEY: kind
    for module in (messages, client_messages)
    for name, kind in vars(module).items()
    if name.endswith("Request")
}


class ScriptedBroker:
    """Listens on a free port; `answers` has a function for each kind of request it knows."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.answers: dict[Any, Answer] = {MetadataRequest: lambda _: self.metadata()}
        self.seen: list[Any] = []
        self.controller = 1
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def asked(self, kind: Any) -> list[Any]:
        """The requests of one kind, in order."""
        return [request for request in self.seen if type(request) is kind]

    def metadata(self, topics: Any = (), *, others: Mapping[int, int] | None = None) -> Any:
        """Who is there: this broker, and others by their ports."""
        kind = MetadataResponse
        ports = {1: self.port, **(others or {})}
        return kind(
            throttle_time_ms=0,
            brokers=[
                kind.MetadataResponseBroker(node_id=node, host="127.0.0.1", port=port, rack=None)
                for node, port in ports.items()
            ],
            cluster_id="scripted",
            controller_id=self.controller,
            topics=list(topics),
            authorized_operations=set(),
            error_code=0,
        )

    def close(self) -> None:
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def hang_up(self) -> None:
        """Close every connection, as brokers do with those that are idle."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                self._one(connection)
        connection.close()

    def _one(self, connection: socket.socket) -> None:
        size = struct.unpack(">i", _exactly(connection, 4))[0]
        frame = _exactly(connection, size)
        key, version, correlation = struct.unpack(">hhi", frame[:8])
        if key == ApiVersionsRequest.API_KEY:
            answer: Any = self._versions() if version <= VERSIONS_MAX else self._too_new()
            version = 0 if version > VERSIONS_MAX else version
        else:
            request = REQUESTS[key].decode(io.BytesIO(frame), version=version, header=True)
            self.seen.append(request)
            answer = self.answers[REQUESTS[key]](request)
        if answer is SILENCE:
            return
        if answer is CLOSE:
            raise EOFError
        if isinstance(answer, bytes):
            connection.sendall(answer)
            return
        answer.API_VERSION = version
        answer.with_header(correlation_id=correlation)
        connection.sendall(bytes(answer.encode(framed=True, header=True)))

    def _versions(self) -> Any:
        kind = ApiVersionsResponse
        keys = [
            kind.ApiVersion(api_key=known.API_KEY, min_version=0, max_version=known.max_version)
            for known in self.answers
        ]
        return kind(error_code=0, api_keys=keys, throttle_time_ms=0)

    def _too_new(self) -> Any:
        kind = ApiVersionsResponse
        own = kind.ApiVersion(
            api_key=ApiVersionsRequest.API_KEY, min_version=0, max_version=VERSIONS_MAX
        )
        return kind(error_code=35, api_keys=[own], throttle_time_ms=0)


@contextlib.contextmanager
def scripted_broker() -> Generator[ScriptedBroker]:
    """A broker for the time of a `with` block."""
    broker = ScriptedBroker()
    try:
        yield broker
    finally:
        broker.close()


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        piece = connection.recv(count - len(received))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)
