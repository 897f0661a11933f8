"""One client's connection: frames in, frames out, one request at a time and in order.

What does not read as a request ends the connection, as it does at a broker; so does a client that
sends nothing for long, sends half a frame, or does not take its answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Generator

from kedge.endpoint.dispatch import Answer, Answering
from kedge.endpoint.limits import Buffered, ByteBudget, Limits, is_counted
from kedge.errors import MalformedMessage
from kedge.protocol import PREFIX_BYTES, frame_length

_LOG = logging.getLogger(__name__)

_ENDED = (asyncio.IncompleteReadError, ConnectionError, TimeoutError, MalformedMessage)
_CHUNK_BYTES = 64 << 10


class ClientReader(asyncio.StreamReader):
    """A stream that tells whether its client has closed it, with bytes still to be read or not."""

    has_ended = False

    def feed_eof(self) -> None:
        self.has_ended = True
        super().feed_eof()


class Connection:
    """Serves one client until one side ends it."""

    def __init__(
        self,
        dispatcher: Answering,
        limits: Limits,
        budget: ByteBudget,
        reader: ClientReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._budget = budget
        self._reader = reader
        self._writer = writer
        self.on_first_answer: Callable[[], object] | None = None

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

    def abort(self) -> None:
        """End the connection at once; `serve` returns soon after."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """End the connection; what was not yet sent is dropped."""
        self.abort()
        with contextlib.suppress(ConnectionError, TimeoutError):
            await self._writer.wait_closed()

    async def _serve_one(self) -> None:
        async with asyncio.timeout(self._limits.idle_s):
            prefix = await self._reader.readexactly(PREFIX_BYTES)
        size = frame_length(prefix, bytes_max=self._limits.frame_bytes_max)
        with self._buffered(size) as frame:
            answer = await self._answer(await self._read_frame(size, frame))
        async with asyncio.timeout(self._limits.frame_s):
            self._writer.write(answer.frame)
            await self._writer.drain()
        if self.on_first_answer is not None:
            self.on_first_answer()
            self.on_first_answer = None
        if answer.ends_connection:
            raise ConnectionResetError("the client could not be authenticated")
        if answer.throttle_ms:
            # a client that was asked to wait and does not is not read from
            await asyncio.sleep(min(answer.throttle_ms / 1000, self._limits.throttle_s_max))

    async def _answer(self, payload: bytes) -> Answer:
        """The answer, unless the client goes away meanwhile: some are willing to wait for days."""
        answering = asyncio.ensure_future(self._dispatcher.answer(payload))
        try:
            while not (await asyncio.wait({answering}, timeout=self._limits.look_s))[0]:
                if self._reader.has_ended or self._writer.is_closing():
                    raise ConnectionResetError("the client did not wait for its answer")
            return answering.result()
        finally:
            answering.cancel()

    @contextlib.contextmanager
    def _buffered(self, size: int) -> Generator[Buffered | None]:
        """Count a large frame for as long as it is read and answered."""
        if not is_counted(size):
            yield None
            return
        frame = self._budget.begin(self.abort)
        try:
            yield frame
        finally:
            self._budget.end(frame)

    async def _read_frame(self, size: int, frame: Buffered | None) -> bytes:
        async with asyncio.timeout(self._limits.frame_s):
            if frame is None:
                return await self._reader.readexactly(size)
            data = bytearray()
            while len(data) < size:
                chunk = await self._reader.read(min(_CHUNK_BYTES, size - len(data)))
                if not chunk:
                    raise asyncio.IncompleteReadError(b"", size)
                data += chunk
                self._budget.add(frame, len(chunk))
        self._budget.arrived(frame)
        return bytes(data)
