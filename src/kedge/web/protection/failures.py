"""Requests that fail unexpectedly are answered as problems, with the headers of every answer."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kedge.web.problems import failure_of
from kedge.web.protection.asgi import refuse


class Failures:
    """Answers for what has raised. An answer that has begun cannot be taken back: it breaks off."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            if begun:
                raise
            await refuse(failure_of(error, scope["state"]["request_id"]), scope, receive, send)
