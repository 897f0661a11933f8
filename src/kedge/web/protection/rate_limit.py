"""Limits of requests per client, and of failed sign-ins, by token buckets in memory."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kedge.errors import TooManyRequests
from kedge.web.protection.asgi import answered_status, client_of, header, refuse

CLIENTS_MAX = 10_000


class Buckets:
    """One bucket per client: it fills at a rate, and holds a minute's worth."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._clock = float(per_minute), clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def _level(self, client: str) -> float:
        now = self._clock()
        level, at = self._levels.get(client, (self._size, now))
        return min(self._size, level + (now - at) * self._size / 60)

    def has(self, client: str) -> bool:
        """Whether the client has a request left."""
        return self._level(client) >= 1

    def take(self, client: str) -> bool:
        """Take one; False where none is left."""
        level = self._level(client)
        taken = level >= 1
        self._levels[client] = (level - 1 if taken else level, self._clock())
        self._levels.move_to_end(client)
        if len(self._levels) > CLIENTS_MAX:
            self._levels.popitem(last=False)
        return taken


class RateLimit:
    """Refuses clients that send too much, or that try too many credentials."""

    def __init__(self, app: ASGIApp, *, requests: Buckets, failures: Buckets) -> None:
        self._app, self._requests, self._failures = app, requests, failures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = client_of(scope)
        if not self._requests.take(client):
            hint = "wait a minute; [limits] requests_per_minute sets the limit"
            await refuse(TooManyRequests("Too many requests", hint=hint), scope, receive, send)
            return
        presents = bool(header(scope, "authorization")) or scope["path"].startswith(
            ("/api/v1/session", "/oidc/")
        )
        if presents and not self._failures.has(client):
            error = TooManyRequests("Too many failed sign-ins", hint="wait a minute")
            await refuse(error, scope, receive, send)
            return

        async def counted(message: Message) -> None:
            started = presents and message["type"] == "http.response.start"
            if started and answered_status(scope, message) == 401:
                self._failures.take(client)
            await send(message)

        await self._app(scope, receive, counted)
