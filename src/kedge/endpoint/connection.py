"""One client's connection: accepted, then frames in and out, one request at a time and in order.

A frame that is no request ends the connection, as it does at a broker; so does a client that sends
nothing for long, sends half a frame, or does not read its answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable, Generator

from kedge.endpoint.dispatch import Answer, Node
from kedge.endpoint.limits import Buffered, ByteBudget, Limits, is_counted
from kedge.errors import MalformedMessage
from kedge.protocol import PREFIX_BYTES, frame_length

_LOG = logging.getLogger(__name__)

_ENDED = (asyncio.IncompleteReadError, ConnectionError, TimeoutError, MalformedMessage)
_CHUNK_BYTES = 64 << 10


class ClientReader(asyncio.StreamReader):
    """A stream that reports whether its client has closed it, even with bytes left to be read."""

    has_ended = False

    def feed_eof(self) -> None:
        self.has_ended = True
        super().feed_eof()


class Connection:
    """Serves one client until one side ends it."""

    def __init__(
        self,
        node: Node,
        limits: Limits,
        budget: ByteBudget,
        reader: ClientReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._node = node
        self._limits = limits
        self._budget = budget
        self._reader = reader
        self._writer = writer
        self.on_first_answer: Callable[[], object] | None = None

    async def serve(self) -> None:
        """Answer requests until the connection ends; raises nothing."""
        try:
            while True:
                await self._serve_one()
        except _ENDED as ended:
            _LOG.debug("connection closed: %r", ended)
        except Exception:
            _LOG.exception("request failed")
        finally:
            await self.close()

    def abort(self) -> None:
        """Close the connection at once; `serve` returns soon after."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close the connection; what was not yet sent is dropped."""
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
            # a client that does not wait by itself is not read from
            await asyncio.sleep(min(answer.throttle_ms / 1000, self._limits.throttle_s_max))

    async def _answer(self, payload: bytes) -> Answer:
        """The answer, unless the client disconnects first: some requests wait for days."""
        answering = asyncio.ensure_future(self._node.answer(payload))
        try:
            while not (await asyncio.wait({answering}, timeout=self._limits.disconnect_check_s))[0]:
                if self._reader.has_ended or self._writer.is_closing():
                    raise ConnectionResetError("the client did not wait for its answer")
            return answering.result()
        finally:
            answering.cancel()

    @contextlib.contextmanager
    def _buffered(self, size: int) -> Generator[Buffered | None]:
        """Count a large frame while it is read and answered."""
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


# ---- accepting -----------------------------------------------------------------------------------

_BACKLOG = 128
_NO_DESCRIPTOR = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_TRANSIENT = frozenset({errno.ECONNABORTED, errno.EPROTO, errno.EINTR, errno.EAGAIN})


def listening_socket(host: str, port: int) -> socket.socket:
    """A listening socket; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # of a name with both kinds of addresses the IPv4 one, as Java's servers do
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


class Acceptor:
    """Accepts connections on a listening socket, also when the process has no descriptor left.

    Without a free descriptor a connection cannot even be refused: it stays in the system's queue.
    The socket is tried again after a while, and the log has one line about it, however long it
    lasts.
    """

    def __init__(
        self,
        listening: socket.socket,
        accepted: Callable[[socket.socket], None],
        *,
        retry_s: float,
    ) -> None:
        self._listening = listening
        self._accepted = accepted
        self._retry_s = retry_s
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def port(self) -> int:
        """The port of the socket."""
        return int(self._listening.getsockname()[1])

    async def close(self) -> None:
        """Stop listening."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._listening.close()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        is_out_of_descriptors = False
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listening)
            except OSError as error:
                if error.errno in _TRANSIENT:
                    continue
                if error.errno not in _NO_DESCRIPTOR:
                    _LOG.error("port %d accepts no more connections: %s", self.port, error)
                    return
                if not is_out_of_descriptors:
                    _LOG.warning("port %d cannot accept connections: %s", self.port, error.strerror)
                is_out_of_descriptors = True
                await asyncio.sleep(self._retry_s)
                continue
            if is_out_of_descriptors:
                _LOG.warning("port %d accepts connections again", self.port)
                is_out_of_descriptors = False
            self._accepted(connection)
            await asyncio.sleep(0)  # sock_accept does not suspend while connections wait


async def open_streams(connection: socket.socket) -> tuple[ClientReader, asyncio.StreamWriter]:
    """Streams on an accepted connection."""
    loop = asyncio.get_running_loop()
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reader = ClientReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
