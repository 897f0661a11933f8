"""Who sends a request: a bearer token, or the session cookie of a browser."""

from __future__ import annotations

from fastapi import Request

from kedge.errors import NotAuthenticated, PermissionDenied
from kedge.web.access.accounts import Accounts
from kedge.web.access.roles import Principal
from kedge.web.access.secrets import same
from kedge.web.protection.asgi import is_change

CSRF_HEADER = "x-csrf-token"


def cookie_name(*, secure: bool) -> str:
    """The name of the session's cookie; with TLS no other host can set one of that name."""
    return "__Host-kedge" if secure else "kedge"


def authenticate(request: Request, accounts: Accounts, *, secure: bool) -> Principal:
    """The account of a request.

    Raises:
        NotAuthenticated: it has no valid token or cookie.
        PermissionDenied: a change that a cookie authenticates lacks the session's CSRF token.
    """
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        if scheme.lower() != "bearer" or not token.strip():
            raise NotAuthenticated("Authorization is not a bearer token")
        return _noted(request, accounts.by_token(token.strip()))
    cookie = request.cookies.get(cookie_name(secure=secure))
    if cookie is None:
        raise NotAuthenticated(
            "The request carries no token", hint="send Authorization: Bearer TOKEN, or sign in"
        )
    principal = _noted(request, accounts.by_cookie(cookie))
    if is_change(request.scope):
        given = request.headers.get(CSRF_HEADER, "")
        if not same(given, principal.csrf):
            raise PermissionDenied("The change lacks the CSRF token of its session")
    return principal


def has_session(request: Request, accounts: Accounts, *, secure: bool) -> bool:
    """Whether the cookie of a browser signs it in; tokens are not tried, so none is guessed."""
    cookie = request.cookies.get(cookie_name(secure=secure))
    try:
        return cookie is not None and bool(accounts.by_cookie(cookie))
    except NotAuthenticated:
        return False


def _noted(request: Request, principal: Principal) -> Principal:
    request.state.who = principal.name  # for the audit of refusals
    return principal
