"""Sign-in at the identity provider: the browser goes there, and comes back with a code."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse

from kedge.errors import NotAuthenticated, UnknownResource
from kedge.web.access.oidc import SIGN_IN_S, OidcClient
from kedge.web.access.secrets import same
from kedge.web.api.requests import ServicesOf
from kedge.web.api.session import begin_session
from kedge.web.services import Services

router = APIRouter(prefix="/oidc", include_in_schema=False)

COOKIE = "kedge_sign_in"


@router.get("/begin")
def begin(request: Request, services: ServicesOf) -> RedirectResponse:
    """Send the browser to the provider; a cookie binds the sign-in to it."""
    started = _client(services).begin(_redirect_uri(request, services))
    response = RedirectResponse(started.url, 302)
    response.set_cookie(
        COOKIE,
        started.state,
        max_age=int(SIGN_IN_S),
        path="/oidc",
        secure=services.settings.secure,
        httponly=True,
        samesite="lax",  # the way back is a link from another site
    )
    return response


@router.get("/callback")
def callback(
    request: Request,
    services: ServicesOf,
    state: Annotated[str, Query(max_length=500)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
) -> RedirectResponse:
    """Check what the browser came back with, and sign it in."""
    if not code or not state or not same(state, request.cookies.get(COOKIE, "")):
        raise NotAuthenticated("The sign-in was not begun by this browser", hint="sign in again")
    principal = _client(services).finish(state, code, _redirect_uri(request, services))
    response = RedirectResponse("/", 303)
    begin_session(request, services, principal, response)
    response.delete_cookie(COOKIE, path="/oidc")
    return response


def _client(services: Services) -> OidcClient:
    if services.oidc is None:
        raise UnknownResource("This server has no identity provider")
    return services.oidc


def _redirect_uri(request: Request, services: Services) -> str:
    own = services.settings.public_url or f"{request.url.scheme}://{request.headers['host']}"
    return f"{own.rstrip('/')}/oidc/callback"
