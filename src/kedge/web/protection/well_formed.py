"""Requests with texts that no database can keep are refused: NUL, and JSON that is not UTF-8.

The JSON parser of Python takes more than the standard (RFC 8259): halves of surrogate pairs, NaN,
infinite numbers, UTF-16. None of it could be written into an answer or a table again.
"""

from __future__ import annotations

from typing import Any, cast

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kedge.errors import MalformedInput
from kedge.web.protection.asgi import refuse

NUL = "\0"
ENCODED_NUL = b"%00"
ESCAPED_NUL = rb"\u0000"  # also a backslash and then letters, so the texts themselves decide


class WellFormed:
    """Refuses what is not well-formed; bodies come as one message, as `BodyLimit` sends them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        first = await receive()
        try:
            _check_address(scope)
            check_body(first.get("body", b""))
        except MalformedInput as error:
            await refuse(error, scope, receive, send)
            return
        await self._app(scope, _again(first, receive), send)


def check_body(body: bytes) -> None:
    """Refuse a body that is neither empty nor JSON, or that has a NUL in a text.

    Raises:
        MalformedInput: with the reason.
    """
    if not body:
        return
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedInput(f"not JSON ({error})", place="body") from error
    if ESCAPED_NUL in body and _has_nul(document):
        raise MalformedInput("a text has a NUL character", place="body")


def _check_address(scope: Scope) -> None:
    if NUL in scope["path"] or ENCODED_NUL in scope["query_string"]:
        raise MalformedInput("The address has a NUL character")


def _has_nul(document: Any) -> bool:
    """Whether a text or name has a NUL, at any depth: a body may be deeper than Python's stack."""
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, str) and NUL in value:
            return True
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            pending += [*members, *members.values()]
        elif isinstance(value, list):
            pending += cast("list[Any]", value)
    return False


def _again(first: Message, receive: Receive) -> Receive:
    """The message that was taken, then what the connection says."""
    pending = [first]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
