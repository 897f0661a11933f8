"""Connections to other controllers: one per peer, one request under way on each.

A connection begins with TCP, TLS, SASL/PLAIN and ApiVersions, in this sequence, as far as the
listener has them.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from typing import Any

from kedge.errors import MalformedMessage
from kedge.kraft_rpc.raft_calls import CLIENT, Call
from kedge.protocol import Reader, decode, frame_length
from kedge.protocol.broker_apis import BrokerApi
from kedge.protocol.messages import (
    ApiVersionsResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)
from kedge.service.kraft.security import MECHANISM, PLAINTEXT, ListenerSecurity

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


class Channel:
    """The connection to one peer; it is opened with the first call, and again after a failure."""

    def __init__(
        self, host: str, port: int, *, timeout_ms: int, security: ListenerSecurity = PLAINTEXT
    ) -> None:
        self.at = (host, port)
        self._security = security
        self._timeout_s = timeout_ms / 1000
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._versions: Versions | None = None
        self._calls = 0
        self._busy = False

    async def call(self, call: Call) -> tuple[int, Any]:
        """The version used and the response; raises one of CALL_FAILED."""
        self._calls += 1
        mine = self._calls
        if self._busy:
            self.close()  # the earlier request was not answered in time
        self._busy = True
        try:
            async with asyncio.timeout(self._timeout_s):
                version = (await self.versions()).newest(call.api)
                payload = await self._exchange(call.encoded(version, mine))
        except BaseException:
            if mine == self._calls:  # else a later call has the connection
                self.close()
            raise
        self._busy = False
        return version, call.api.decode_response(version, payload)[1]

    async def ask_versions(self) -> Versions:
        """What the peer supports, within the time of a request; raises one of CALL_FAILED."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self.versions()
        except BaseException:
            self.close()
            raise

    async def versions(self) -> Versions:
        """What the peer supports; asked once per connection."""
        if self._streams is None or self._versions is None:
            self._streams = await asyncio.open_connection(*self.at, ssl=self._security.client)
            await self._authenticate()
            asked = struct.pack(">i", len(_ASK_VERSIONS)) + _ASK_VERSIONS
            reader = Reader(await self._exchange(asked))
            reader.int32()
            self._versions = Versions(decode(ApiVersionsResponse, _API_VERSIONS, reader))
        return self._versions

    async def _authenticate(self) -> None:
        login = self._security.login
        if login is None:
            return
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
        reader = Reader(await self._exchange(struct.pack(">i", len(payload)) + payload))
        reader.int32()
        return decode(expect, version, reader)

    async def _exchange(self, frame: bytes) -> bytes:
        assert self._streams is not None
        incoming, outgoing = self._streams
        outgoing.write(frame)
        length = frame_length(await incoming.readexactly(4), bytes_max=FRAME_BYTES_MAX)
        return await incoming.readexactly(length)

    def close(self) -> None:
        """Drop the connection."""
        streams, self._streams, self._versions = self._streams, None, None
        self._busy = False
        if streams is not None:
            with contextlib.suppress(OSError, RuntimeError):
                streams[1].transport.abort()


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
