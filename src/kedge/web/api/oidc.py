"""Sign-in at the identity provider: the browser goes there, and comes back with a code."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse

from kedge.errors import (
    KedgeError,
    NotAuthenticated,
    PermissionDenied,
    Unavailable,
    UnknownResource,
)
from kedge.web.access.oidc import SIGN_IN_S, OidcClient
from kedge.web.access.roles import Principal
from kedge.web.access.secrets import same
from kedge.web.api.requests import ServicesOf
from kedge.web.api.session import begin_session
from kedge.web.problems import status_of
from kedge.web.services import Services

router = APIRouter(prefix="/oidc", include_in_schema=False)

COOKIE = "kedge_sign_in"
AT_FAULT = ("server_error", "temporarily_unavailable")  # errors of RFC 6749 that a retry may mend
# what the page of the sign-in says; never a text of the provider
CODES: tuple[tuple[type[KedgeError], str], ...] = (
    (PermissionDenied, "no-role"),
    (NotAuthenticated, "refused"),
    (Unavailable, "provider"),
)


@router.get("/begin")
def begin(request: Request, services: ServicesOf) -> RedirectResponse:
    """Send the browser to the provider; a cookie binds the sign-in to it."""
    try:
        started = _client(services).begin(_redirect_uri(request, services))
    except KedgeError as error:
        return _failed(request, error)
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
    error: Annotated[str, Query(max_length=500)] = "",
) -> RedirectResponse:
    """Check what the browser came back with, and sign it in."""
    try:
        principal = _finished(request, services, state, code, error)
    except KedgeError as failure:
        return _failed(request, failure, denied=bool(error))
    response = RedirectResponse("/", 303)
    begin_session(request, services, principal, response)
    response.delete_cookie(COOKIE, path="/oidc")
    return response


def _finished(request: Request, services: Services, state: str, code: str, error: str) -> Principal:
    client = _client(services)
    if not state or not same(state, request.cookies.get(COOKIE, "")):
        raise NotAuthenticated("The sign-in was not begun by this browser", hint="sign in again")
    if error in AT_FAULT:
        raise Unavailable("The identity provider has failed", hint="try again")
    if error or not code:
        raise NotAuthenticated("The identity provider refuses the sign-in", hint="sign in again")
    return client.finish(state, code, _redirect_uri(request, services))


def _failed(request: Request, error: KedgeError, *, denied: bool = False) -> RedirectResponse:
    """The way back to the page of the sign-in, which says what went wrong; programs get the error.

    The audit and the limit of failed sign-ins take it for the refusal that it is.
    """
    code = next((code for kind, code in CODES if isinstance(error, kind)), None)
    if code is None or "text/html" not in request.headers.get("accept", ""):
        raise error
    request.state.refusal, request.state.refused_as = error.what, status_of(error)
    shown = "denied" if denied and code == "refused" else code
    response = RedirectResponse(f"/#/signin?problem={shown}", 303)
    response.delete_cookie(COOKIE, path="/oidc")
    return response


def _client(services: Services) -> OidcClient:
    if services.oidc is None:
        raise UnknownResource("This server has no identity provider")
    return services.oidc


def _redirect_uri(request: Request, services: Services) -> str:
    own = services.settings.public_url or f"{request.url.scheme}://{request.headers['host']}"
    return f"{own.rstrip('/')}/oidc/callback"
