"""Only the server's own names: a name that an attacker lets point here is refused."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from kedge.errors import InvalidRequest
from kedge.web.protection.asgi import header, refuse
from kedge.web.settings import LOOPBACK, ServerSettings

ANY_ADDRESS = ("0.0.0.0", "::")


def own_hosts(settings: ServerSettings) -> frozenset[str] | None:
    """The names that requests may use; None for all, on a server of all addresses without one."""
    public = urlsplit(settings.public_url).hostname
    if settings.host in ANY_ADDRESS and public is None:
        return None
    names = {*LOOPBACK, settings.host.lower()} | ({public} if public else set[str]())
    return frozenset(names - set(ANY_ADDRESS))


class TrustedHosts:
    """Refuses requests to other names."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str] | None) -> None:
        self._app, self._hosts = app, None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and self._hosts is not None:
            name = _host_name(header(scope, "host"))
            if name not in self._hosts:
                error = InvalidRequest(
                    "This server does not answer under that name",
                    hint="set public_url to the name that browsers use",
                )
                await refuse(error, scope, receive, send)
                return
        await self._app(scope, receive, send)


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
