"""Taking connections on a port, also when the process runs out of file descriptors.

Without a free descriptor a connection cannot even be refused: it stays in the system's queue. The
port is then left alone for a moment and tried again, and one line in the log says so however long
it lasts.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable

from kedge.endpoint.connection import ClientReader

_LOG = logging.getLogger(__name__)

_BACKLOG = 128
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_GONE = frozenset({errno.ECONNABORTED, errno.EPROTO, errno.EINTR, errno.EAGAIN})

Taken = Callable[[socket.socket], None]


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # of a name with both, the IPv4 address, as Java's servers do
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
    """Hands over every connection that comes in on a listening socket."""

    def __init__(self, listening: socket.socket, taken: Taken, *, retry_s: float) -> None:
        self._listening = listening
        self._taken = taken
        self._retry_s = retry_s
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listening.getsockname()[1])

    async def close(self) -> None:
        """Stop listening."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._listening.close()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        is_short = False
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listening)
            except OSError as error:
                if error.errno in _GONE:
                    continue
                if error.errno not in _NO_ROOM:
                    _LOG.error("port %d takes no connections any more: %s", self.port, error)
                    return
                if not is_short:
                    _LOG.warning("port %d cannot take connections: %s", self.port, error.strerror)
                is_short = True
                await asyncio.sleep(self._retry_s)
                continue
            if is_short:
                _LOG.warning("port %d takes connections again", self.port)
                is_short = False
            self._taken(connection)
            await asyncio.sleep(0)  # sock_accept does not suspend while others wait in the queue


async def open_streams(connection: socket.socket) -> tuple[ClientReader, asyncio.StreamWriter]:
    """Streams on a connection that was accepted."""
    loop = asyncio.get_running_loop()
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reader = ClientReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
