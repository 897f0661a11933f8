"""Requests that a page of another site has made a browser send are refused.

Browsers say where a request comes from: `Sec-Fetch-Site`, and `Origin` where they know only that.
Programs send neither. A change that a cookie authenticates also needs the session's CSRF token
(`access.authentication`), so one of the two protections may fail.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from kedge.errors import PermissionDenied
from kedge.web.protection.asgi import header, is_change, refuse

OWN_SITES = ("same-origin", "none")


class CrossSite:
    """Refuses requests of other sites' pages."""

    def __init__(self, app: ASGIApp, *, public_url: str) -> None:
        self._app, self._public = app, public_url.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        guarded = scope["type"] == "http" and (is_change(scope) or _is_api(scope))
        if guarded and not self._is_own(scope):
            error = PermissionDenied("The request comes from a page of another site")
            await refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        site = header(scope, "sec-fetch-site")
        if site and site not in OWN_SITES:
            return False
        origin = header(scope, "origin")
        own = {f"{scope['scheme']}://{header(scope, 'host')}", self._public}
        return not origin or origin in own


def _is_api(scope: Scope) -> bool:
    return scope["path"].startswith("/api/")
