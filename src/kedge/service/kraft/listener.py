"""The port of a controller: frames in, frames out, in sequence on each connection.

A listener with SASL wraps what answers each connection: nothing but ApiVersions is answered before
the other side has authenticated.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from kedge.endpoint.authentication import AuthenticatedNode
from kedge.endpoint.dispatch import Answer, Node
from kedge.errors import MalformedMessage
from kedge.protocol import frame_length
from kedge.service.kraft.security import ListenerSecurity

FRAME_BYTES_MAX = 100 << 20  # socket.request.max.bytes

Respond = Callable[[bytes], Awaitable[bytes]]
Complain = Callable[[str, str], None]


class _Plain:
    """The node behind a listener, as the endpoint's authentication calls it."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    async def answer(self, payload: bytes) -> Answer:
        return Answer(await self._respond(payload))


class Listener:
    """Accepts connections; each has a task that answers one request after the other."""

    def __init__(self, respond: Respond, complain: Complain, security: ListenerSecurity) -> None:
        self._node = _Plain(respond)
        self._complain = complain
        self._security = security
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The port that was bound."""
        assert self._server is not None
        return self._server.sockets[0].getsockname()[1]

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._connections)

    async def open(self, host: str, port: int) -> None:
        """Listen."""
        self._server = await asyncio.start_server(
            self._serve, host, port, ssl=self._security.server
        )

    async def close(self) -> None:
        """Stop listening, and drop all connections."""
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._answer_all(incoming, outgoing)
        except MalformedMessage as problem:
            self._complain("request refused", str(problem))
        except (OSError, EOFError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            with contextlib.suppress(OSError, RuntimeError):
                outgoing.transport.abort()

    async def _answer_all(
        self, incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter
    ) -> None:
        node: Node = self._node
        if self._security.users is not None:
            node = AuthenticatedNode(node, self._security.users)
        while True:
            prefix = await incoming.readexactly(4)
            payload = await incoming.readexactly(frame_length(prefix, bytes_max=FRAME_BYTES_MAX))
            answer = await node.answer(payload)
            outgoing.write(answer.frame)
            await outgoing.drain()
            if answer.ends_connection:
                outgoing.close()  # what was written goes out first
                await outgoing.wait_closed()
                return
