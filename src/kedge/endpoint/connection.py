"""One client's connection: frames in, frames out, one request at a time and in order.

What does not read as a request ends the connection, as it does at a broker; so does a client that
sends nothing for long, sends half a frame, or does not take its answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from kedge.endpoint.dispatch import Answer, Answering
from kedge.endpoint.limits import ByteBudget, Limits
from kedge.errors import MalformedMessage
from kedge.protocol import PREFIX_BYTES, frame_length

_LOG = logging.getLogger(__name__)

_ENDED = (asyncio.IncompleteReadError, ConnectionError, TimeoutError, MalformedMessage)


class Connection:
    """Serves one client until one side has had enough."""

    def __init__(
        self,
        dispatcher: Answering,
        limits: Limits,
        budget: ByteBudget,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._budget = budget
        self._reader = reader
        self._writer = writer

    async def serve(self) -> None:
        """Answer requests until the connection ends; nothing is raised."""
        try:
            while True:
                await self._serve_one()
        except _ENDED as ended:
            _LOG.debug("a connection ended: %r", ended)
        except Exception:
            _LOG.exception("a request could not be answered")
        finally:
            await self.close()

    async def close(self) -> None:
        """End the connection; what was not yet sent is dropped."""
        self._writer.transport.abort()
        with contextlib.suppress(ConnectionError, TimeoutError):
            await self._writer.wait_closed()

    async def _serve_one(self) -> None:
        async with asyncio.timeout(self._limits.idle_s):
            prefix = await self._reader.readexactly(PREFIX_BYTES)
        size = frame_length(prefix, bytes_max=self._limits.frame_bytes_max)
        answer = await self._answer(await self._read_frame(size))
        async with asyncio.timeout(self._limits.frame_s):
            self._writer.write(answer.frame)
            await self._writer.drain()
        if answer.throttle_ms:
            # a client that was asked to wait and does not is not read from
            await asyncio.sleep(min(answer.throttle_ms / 1000, self._limits.throttle_s_max))

    async def _answer(self, payload: bytes) -> Answer:
        """The answer, unless the client goes away meanwhile: some are willing to wait for days."""
        answering = asyncio.ensure_future(self._dispatcher.answer(payload))
        try:
            while not (await asyncio.wait({answering}, timeout=self._limits.look_s))[0]:
                if self._reader.at_eof():
                    raise ConnectionResetError("the client did not wait for its answer")
            return answering.result()
        finally:
            answering.cancel()

    async def _read_frame(self, size: int) -> bytes:
        async with asyncio.timeout(self._limits.frame_s):
            taken = await self._budget.take(size)
            try:
                return await self._reader.readexactly(size)
            finally:
                await self._budget.give_back(taken)
