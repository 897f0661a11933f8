"""Clients that say exactly what a test wants, to one node."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, TypeVar

from kedge.protocol import APIS, Reader, decode
from kedge.protocol.messages import ApiMessage

M = TypeVar("M", bound="ApiMessage")

HOST = "127.0.0.1"


def newest(request: ApiMessage) -> int:
    schema: Any = request
    return APIS[schema.API_KEY].newest


def frame_of(request: ApiMessage, version: int, correlation: int, name: str) -> bytes:
    message: Any = request
    message.API_VERSION = version
    message.with_header(correlation_id=correlation, client_id=name)
    return message.encode(version=version, header=True, framed=True)


def answer_in(payload: bytes, expect: type[M], version: int, correlation: int) -> M:
    """The answer in a frame, which must be to this request and whole."""
    schema: Any = expect
    api = APIS[schema.API_KEY]
    reader = Reader(payload)
    assert reader.int32() == correlation
    if api.is_flexible(version) and api.name != "ApiVersions":
        assert reader.varint() == 0
    found = decode(expect, version, reader)
    assert reader.remaining == 0
    return found


class Client:
    """One connection."""

    def __init__(self, port: int, *, name: str = "test", timeout_s: float = 20.0) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=timeout_s)
        self._name = name
        self._correlation = 0

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, request: ApiMessage, expect: type[M], version: int | None = None) -> M:
        """The answer to a request, in its newest version unless told."""
        chosen = newest(request) if version is None else version
        self.send(request, chosen)
        return answer_in(self.receive(), expect, chosen, self._correlation)

    def send(self, request: ApiMessage, version: int) -> None:
        self._correlation += 1
        self.socket.sendall(frame_of(request, version, self._correlation, self._name))

    def receive(self) -> bytes:
        """The payload of the next frame."""
        return self.take(int.from_bytes(self.take(4), "big"))

    def take(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self.socket.recv(size - len(found))
            if not more:
                raise ConnectionError("the server has closed the connection")
            found += more
        return found

    def is_closed(self) -> bool:
        """Whether the server ends the connection (and says nothing before)."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True


class AsyncClient:
    """One connection of many that share a thread."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation = 0

    @staticmethod
    async def connect(port: int) -> AsyncClient:
        return AsyncClient(*await asyncio.open_connection(HOST, port))

    async def ask(self, request: ApiMessage, expect: type[M]) -> M:
        self._correlation += 1
        version = newest(request)
        self._writer.write(frame_of(request, version, self._correlation, "many"))
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        payload = await self._reader.readexactly(size)
        return answer_in(payload, expect, version, self._correlation)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()
