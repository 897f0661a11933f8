"""Passing requests on to a real broker, byte for byte, and its answers back.

A node that is a controller and no broker is a node all the same: clients ask it whatever they
would ask any broker. What is not the controller's own business is answered by a broker that is.
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
ANSWER_S = 600.0  # some requests wait for minutes on purpose
IDLE_MAX = 16

_PRODUCE = 0
_PRODUCE_FLEXIBLE = 9
_PRODUCE_WITH_TRANSACTIONS = 3


class Line(NamedTuple):
    """An open connection to a broker."""

    at: Address
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Relay:
    """Connections to brokers that carry one request at a time, kept for the next one."""

    def __init__(self, brokers: Callable[[], Sequence[Address]]) -> None:
        self._brokers = brokers
        self._idle: list[Line] = []
        self.passed = 0

    async def answer(self, payload: bytes) -> bytes:
        """A broker's framed answer; empty where the client wants none.

        Raises ConnectionError when no broker can be reached, or one is lost before it answers:
        nobody knows then whether it did what was asked, so it is not asked twice.
        """
        line = await self._take()
        try:
            line.writer.write(framed(payload))
            await line.writer.drain()
            if wants_no_answer(payload):
                self._keep(line)
                return b""
            async with asyncio.timeout(ANSWER_S):
                prefix = await line.reader.readexactly(PREFIX_BYTES)
                size = frame_length(prefix, bytes_max=8 * FRAME_BYTES_MAX)
                body = await line.reader.readexactly(size)
        except BaseException:
            line.writer.transport.abort()
            raise
        self.passed += 1
        self._keep(line)
        return prefix + body

    async def close(self) -> None:
        """End all connections that are idle."""
        for line in self._idle:
            line.writer.transport.abort()
            with contextlib.suppress(OSError):
                await line.writer.wait_closed()
        self._idle.clear()

    async def _take(self) -> Line:
        brokers = list(self._brokers())
        while self._idle:
            line = self._idle.pop()
            if line.at in brokers and not line.reader.at_eof() and not line.writer.is_closing():
                return line
            line.writer.transport.abort()
        for at in brokers:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    return Line(at, *await asyncio.open_connection(*at))
        raise ConnectionRefusedError("no broker can be reached to pass a request on to")

    def _keep(self, line: Line) -> None:
        if len(self._idle) < IDLE_MAX:
            self._idle.append(line)
        else:
            line.writer.transport.abort()


def wants_no_answer(payload: bytes) -> bool:
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
