"""Passes requests on to a real broker, byte for byte, and its answers back.

Clients send the controller's node any request that they would send to a broker. What the controller
does not answer itself is answered by a broker.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kedge.brokers.wire_forms import Address
from kedge.protocol import FRAME_BYTES_MAX, PREFIX_BYTES, Reader, frame_length, framed

CONNECT_S = 3.0
ANSWER_S = 600.0  # some requests wait for minutes
IDLE_MAX = 16

_PRODUCE = 0
_PRODUCE_FLEXIBLE = 9
_PRODUCE_WITH_TRANSACTIONS = 3


class Connection(NamedTuple):
    """An open connection to a broker."""

    at: Address
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Relay:
    """Connections to brokers that carry one request at a time and are reused."""

    def __init__(self, brokers: Callable[[], Sequence[Address]]) -> None:
        self._brokers = brokers
        self._idle: list[Connection] = []
        self.passed = 0

    async def answer(self, payload: bytes) -> bytes:
        """A broker's framed answer; empty where the client expects none.

        Raises ConnectionError when no broker can be reached, or one disconnects before it answers:
        its outcome is unknown then, so the request is not sent again.
        """
        connection = await self._take()
        try:
            connection.writer.write(framed(payload))
            await connection.writer.drain()
            if expects_no_answer(payload):
                self._reuse(connection)
                return b""
            async with asyncio.timeout(ANSWER_S):
                prefix = await connection.reader.readexactly(PREFIX_BYTES)
                size = frame_length(prefix, bytes_max=8 * FRAME_BYTES_MAX)
                body = await connection.reader.readexactly(size)
        except BaseException:
            connection.writer.transport.abort()
            raise
        self.passed += 1
        self._reuse(connection)
        return prefix + body

    async def close(self) -> None:
        """Close all idle connections."""
        for connection in self._idle:
            connection.writer.transport.abort()
            with contextlib.suppress(OSError):
                await connection.writer.wait_closed()
        self._idle.clear()

    async def _take(self) -> Connection:
        brokers = list(self._brokers())
        while self._idle:
            connection = self._idle.pop()
            if (
                connection.at in brokers
                and not connection.reader.at_eof()
                and not connection.writer.is_closing()
            ):
                return connection
            connection.writer.transport.abort()
        for at in brokers:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    return Connection(at, *await asyncio.open_connection(*at))
        raise ConnectionRefusedError("no broker can be reached")

    def _reuse(self, connection: Connection) -> None:
        if len(self._idle) < IDLE_MAX:
            self._idle.append(connection)
        else:
            connection.writer.transport.abort()


def expects_no_answer(payload: bytes) -> bool:
    """Whether this is a Produce without acknowledgement, which brokers do not answer."""
    key, version = struct.unpack_from(">hh", payload)
    if key != _PRODUCE:
        return False
    reader = Reader(payload)
    reader.take(8)
    reader.text(compact=False)
    flexible = version >= _PRODUCE_FLEXIBLE
    if flexible:
        for _ in range(reader.varint()):
            reader.varint()
            reader.take(reader.varint())
    if version >= _PRODUCE_WITH_TRANSACTIONS:
        reader.text(compact=flexible)
    return reader.int16() == 0
