"""Connections to other controllers: one per peer, one request under way on each.

A connection begins with TCP, TLS, SASL/PLAIN and ApiVersions, in this sequence, as far as the
listener has them.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kedge.errors import MalformedMessage
from kedge.kraft_rpc.raft_calls import CLIENT, Call
from kedge.protocol import Reader, decode, frame_length, framed
from kedge.protocol.broker_apis import BrokerApi
from kedge.protocol.messages import (
    ApiVersionsResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)
from kedge.service.kraft.security import MECHANISM, PLAINTEXT, ListenerSecurity, Login

T = TypeVar("T")

FRAME_BYTES_MAX = 64 << 20
_API_VERSIONS = 4  # from 3.9 on; earlier versions hide kraft.version, whose lowest level is 0
_SASL_HANDSHAKE, _SASL_AUTHENTICATE = (17, 1), (36, 1)  # keys and versions
_NAME = CLIENT.encode()
_ASK_VERSIONS = (
    struct.pack(">hhih", 18, _API_VERSIONS, 0, len(_NAME)) + _NAME + b"\0" + b"\x06kedge\x021\0"
)

# what is lost with the connection, or with a peer that speaks another language
CALL_FAILED = (OSError, EOFError, MalformedMessage, asyncio.IncompleteReadError, TimeoutError)


class AuthenticationRefused(OSError):
    """A peer that does not accept this node's login: as good as one that cannot be reached."""


class Versions:
    """What a peer has said that it supports."""

    def __init__(self, response: Any) -> None:
        self._ranges = {k.api_key: (k.min_version, k.max_version) for k in response.api_keys}
        self.features = {
            f.name: (f.min_version, f.max_version) for f in response.supported_features or ()
        }

    def newest(self, api: BrokerApi) -> int:
        """The newest version that both sides know."""
        low, high = self._ranges.get(api.key, (0, -1))
        version = min(high, api.newest)
        if version < max(low, api.oldest):
            raise MalformedMessage(f"the peer and this node share no version of {api.name}")
        return version


class _Connection:
    """One connection, from its first byte to its end; one exchange at a time."""

    def __init__(self, incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self.versions = Versions(ApiVersionsResponse(api_keys=[]))

    @classmethod
    async def opened(cls, at: tuple[str, int], security: ListenerSecurity) -> _Connection:
        """A connection that is authenticated and knows the peer's versions."""
        made = cls(*await asyncio.open_connection(*at, ssl=security.client))
        try:
            if security.login is not None:
                await made._authenticate(security.login)
            made.versions = await made._ask_versions()
        except BaseException:
            made.close()
            raise
        return made

    async def _authenticate(self, login: Login) -> None:
        named = struct.pack(">h", len(MECHANISM)) + MECHANISM.encode()
        answer = await self._plain_exchange(_SASL_HANDSHAKE, named, SaslHandshakeResponse)
        if not answer.error_code:
            token = struct.pack(">i", len(login.token)) + login.token
            answer = await self._plain_exchange(_SASL_AUTHENTICATE, token, SaslAuthenticateResponse)
        if answer.error_code:
            raise AuthenticationRefused(f"SASL/{MECHANISM}: error {answer.error_code}")

    async def _plain_exchange(self, api: tuple[int, int], body: bytes, expect: Any) -> Any:
        key, version = api
        payload = struct.pack(">hhih", key, version, 0, len(_NAME)) + _NAME + body
        return _decoded(expect, version, await self.exchange(framed(payload)))

    async def _ask_versions(self) -> Versions:
        answer = await self.exchange(framed(_ASK_VERSIONS))
        return Versions(_decoded(ApiVersionsResponse, _API_VERSIONS, answer))

    async def exchange(self, frame: bytes) -> bytes:
        """Send a frame, and wait for the next one."""
        self._outgoing.write(frame)
        length = frame_length(await self._incoming.readexactly(4), bytes_max=FRAME_BYTES_MAX)
        return await self._incoming.readexactly(length)

    def close(self) -> None:
        """Drop it; an exchange that waits fails."""
        with contextlib.suppress(OSError, RuntimeError):
            self._outgoing.transport.abort()


def _decoded(expect: Any, version: int, payload: bytes) -> Any:
    reader = Reader(payload)
    reader.int32()  # the correlation id
    return decode(expect, version, reader)


class Channel:
    """The connection to one peer; it is opened with the first call, and again after a failure.

    A later call takes the channel from an earlier one that has not been answered. That one may even
    wait for its connection to be opened: it must not put it in the place of the later one's.
    """

    def __init__(
        self, host: str, port: int, *, timeout_ms: int, security: ListenerSecurity = PLAINTEXT
    ) -> None:
        self.at = (host, port)
        self._security = security
        self._timeout_s = timeout_ms / 1000
        self._connection: _Connection | None = None
        self._newest = 0  # the number of the newest call
        self._is_busy = False

    async def call(self, call: Call) -> tuple[int, Any]:
        """The version used and the response; raises one of CALL_FAILED."""

        async def exchange(connection: _Connection, mine: int) -> tuple[int, bytes]:
            version = connection.versions.newest(call.api)
            return version, await connection.exchange(call.encoded(version, mine))

        version, payload = await self._use(exchange)
        return version, call.api.decode_response(version, payload)[1]

    async def versions(self) -> Versions:
        """What the peer supports; raises one of CALL_FAILED."""

        async def versions(connection: _Connection, mine: int) -> Versions:
            return connection.versions

        return await self._use(versions)

    async def _use(self, work: Callable[[_Connection, int], Awaitable[T]]) -> T:
        self._newest += 1
        mine = self._newest
        if self._is_busy:
            self.close()  # the earlier request was not answered in time
        self._is_busy = True
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await work(await self._connected(mine), mine)
        except BaseException:
            if mine == self._newest:  # else a later call has the channel
                self.close()
            raise
        if mine == self._newest:
            self._is_busy = False
        return found

    async def _connected(self, mine: int) -> _Connection:
        if self._connection is not None:
            return self._connection
        made = await _Connection.opened(self.at, self._security)
        if mine != self._newest:
            made.close()
            raise ConnectionAbortedError("a later request has taken the channel")
        self._connection = made
        return made

    def close(self) -> None:
        """Drop the connection."""
        connection, self._connection, self._is_busy = self._connection, None, False
        if connection is not None:
            connection.close()


class Channels:
    """All channels by peer and address."""

    def __init__(self, *, timeout_ms: int, security: ListenerSecurity = PLAINTEXT) -> None:
        self._timeout_ms = timeout_ms
        self._security = security
        self._by_peer: dict[tuple[str, int], Channel] = {}

    def to(self, peer: int, host: str, port: int, *, purpose: str = "raft") -> Channel:
        """The channel to a peer; a peer that has moved gets a new one."""
        key = (purpose, peer)
        found = self._by_peer.get(key)
        if found is None or found.at != (host, port):
            if found is not None:
                found.close()
            found = self._by_peer[key] = Channel(
                host, port, timeout_ms=self._timeout_ms, security=self._security
            )
        return found

    def close(self) -> None:
        """Drop all connections."""
        for channel in self._by_peer.values():
            channel.close()
