"""SASL/PLAIN authentication of clients, before other requests are answered (KIP-43, KIP-152).

    client                              server
    ApiVersions                    ──▶  answered: clients choose their versions from it
    SaslHandshake PLAIN            ──▶  PLAIN is supported
    SaslAuthenticate \\0ada\\0secret  ──▶  accepted: requests are answered from here on
                                        or SASL_AUTHENTICATION_FAILED, and the connection ends

After a handshake of version 0 the token comes in a frame of its own, without a header. Every other
request ends the connection. Passwords are compared in constant time, stored nowhere else, and never
logged.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from typing import Any

from kedge.endpoint.dispatch import Answer, Node
from kedge.errors import MalformedMessage
from kedge.model.error_codes import ErrorCode
from kedge.protocol import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Reader,
    RequestHeader,
    decode_header,
    decode_request,
    encode_response,
    framed,
)
from kedge.protocol.messages import SaslAuthenticateResponse, SaslHandshakeResponse

MECHANISM = "PLAIN"
FAILED_DELAY_S = 0.1  # connection.failed.authentication.delay.ms
TOKEN_BYTES_MAX = 64 << 10

Users = Mapping[str, str]  # passwords by name


def is_known(token: bytes, users: Users) -> bool:
    """Whether a PLAIN token (RFC 4616) has a user's name and password. The authorization identity
    must be empty or the user itself."""
    parts = token.split(b"\0")
    if len(parts) != 3:
        return False
    acting_as, name, password = parts
    expected = users.get(name.decode(errors="replace"))
    is_right = hmac.compare_digest((expected or "").encode(), password)
    return is_right and bool(expected) and acting_as in (b"", name)


class AuthenticatedNode:
    """A node that answers one connection only after it has authenticated."""

    def __init__(self, node: Node, users: Users) -> None:
        self._node = node
        self._users = users
        self._is_known = False
        self._agreed: int | None = None  # the version of the handshake, after it

    async def answer(self, payload: bytes) -> Answer:
        """The answer; raises MalformedMessage for a request before authentication."""
        if self._is_known:
            return await self._node.answer(payload)
        if len(payload) > TOKEN_BYTES_MAX:
            raise MalformedMessage("a large request before authentication")
        if self._agreed == 0:
            return await self._bare_token(payload)
        reader = Reader(payload)
        header = decode_header(reader)
        if header.api is API_VERSIONS:
            return await self._node.answer(payload)
        request: Any = decode_request(header, reader)
        if header.api is SASL_HANDSHAKE and self._agreed is None:
            return self._handshake(header, request)
        if header.api is SASL_AUTHENTICATE and self._agreed is not None:
            return await self._authenticate(header, request.auth_bytes)
        raise MalformedMessage(f"{header.api.name} before authentication")

    def _handshake(self, header: RequestHeader, request: Any) -> Answer:
        is_offered = request.mechanism == MECHANISM
        error = ErrorCode.NONE if is_offered else ErrorCode.UNSUPPORTED_SASL_MECHANISM
        self._agreed = header.version if is_offered else None
        response = SaslHandshakeResponse(error_code=error, mechanisms=[MECHANISM])
        return Answer(encode_response(header, response), ends_connection=not is_offered)

    async def _authenticate(self, header: RequestHeader, token: bytes) -> Answer:
        if await self._check(token):
            response = SaslAuthenticateResponse(
                error_code=ErrorCode.NONE, error_message=None, auth_bytes=b"", session_lifetime_ms=0
            )
            return Answer(encode_response(header, response))
        response = SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
            error_message="Authentication failed: Invalid username or password",
            auth_bytes=b"",
            session_lifetime_ms=0,
        )
        return Answer(encode_response(header, response), ends_connection=True)

    async def _bare_token(self, token: bytes) -> Answer:
        if not await self._check(token):
            raise MalformedMessage("the client could not be authenticated")
        return Answer(framed(b""))

    async def _check(self, token: bytes) -> bool:
        self._is_known = is_known(token, self._users)
        if not self._is_known:
            await asyncio.sleep(FAILED_DELAY_S)  # slows down guessing
        return self._is_known
