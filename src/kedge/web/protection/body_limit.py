"""Bodies of limited size: by their declared length, and by what arrives without one."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kedge.errors import MalformedInput, RequestTooLarge
from kedge.web.protection.asgi import header, refuse


class BodyLimit:
    """Reads the whole body, at most so many bytes of it, before the request is passed on."""

    def __init__(self, app: ASGIApp, *, bytes_max: int) -> None:
        self._app, self._max = app, bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = header(scope, "content-length")
        if declared and not declared.isdigit():
            error = MalformedInput("Content-Length is not a number")
            await refuse(error, scope, receive, send)
            return
        if declared and int(declared) > self._max:
            await self._refuse(scope, receive, send)
            return
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client has gone
            body += message.get("body", b"")
            if len(body) > self._max:
                await self._refuse(scope, receive, send)
                return
            if not message.get("more_body", False):
                break
        await self._app(scope, _replayed(bytes(body), receive), send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = RequestTooLarge(
            f"The body is larger than {self._max} bytes",
            hint="[limits] body_bytes sets the limit",
        )
        await refuse(error, scope, receive, send)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body as one message, then what the connection says."""
    pending = [body]

    async def replay() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return replay
