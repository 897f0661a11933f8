"""Sign in with a token, sign out, and what the page needs to know of its session."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from kedge import __version__
from kedge.web.access.accounts import OIDC, SESSION_S, NewSession
from kedge.web.access.authentication import cookie_name, has_session
from kedge.web.access.roles import Principal
from kedge.web.api.requests import Account, ServicesOf, answer
from kedge.web.audit import AuditEntry, AuditOutcome
from kedge.web.protection.asgi import client_of
from kedge.web.services import Services

router = APIRouter(prefix="/api/v1/session", tags=["session"])


class SignIn(BaseModel):
    """A token to sign a browser in with."""

    model_config = ConfigDict(extra="forbid")
    token: str = Field(min_length=1, max_length=500)


@router.get("")
def show_session(principal: Account, services: ServicesOf) -> Response:
    """The account, its roles, and the CSRF token for changes."""
    return answer(_session_row(principal, services, principal.csrf))


@router.get("/options")
def sign_in_options(request: Request, services: ServicesOf) -> Response:
    """How one can sign in, and whether this browser is; needs no account."""
    signed_in = has_session(request, services.accounts, secure=services.settings.secure)
    oidc = services.settings.oidc is not None
    return answer({"signed_in": signed_in, "oidc": oidc, "version": __version__})


@router.post("", status_code=201)
def sign_in(body: SignIn, request: Request, services: ServicesOf) -> Response:
    """Sign a browser in with a token: a session cookie that scripts cannot read."""
    principal = services.accounts.by_token(body.token)
    made = services.accounts.create_session(principal, "token")
    response = answer(_session_row(principal, services, made.csrf), 201)
    _begin(request, services, principal, made, response)
    return response


@router.delete("", status_code=204)
def sign_out(principal: Account, request: Request, services: ServicesOf) -> Response:
    """End the session of this browser."""
    services.accounts.end_session(principal)
    _write(request, services, principal, "session.end")
    response = Response(status_code=204)
    response.delete_cookie(
        cookie_name(secure=services.settings.secure), secure=services.settings.secure, path="/"
    )
    return response


def begin_session(
    request: Request, services: Services, principal: Principal, response: Response
) -> None:
    """Sign a browser in, with an answer that is there already."""
    made = services.accounts.create_session(principal, OIDC)
    _begin(request, services, principal, made, response)


def _begin(
    request: Request,
    services: Services,
    principal: Principal,
    made: NewSession,
    response: Response,
) -> None:
    _write(request, services, principal, "session.begin")
    _set_cookie(response, services, made.cookie)


def _set_cookie(response: Response, services: Services, cookie: str) -> None:
    """The session's cookie: for this host and this site's own pages only."""
    secure = services.settings.secure
    response.set_cookie(
        cookie_name(secure=secure),
        cookie,
        max_age=int(SESSION_S),
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def _session_row(principal: Principal, services: Services, csrf: str) -> dict[str, Any]:
    return {
        "name": principal.name,
        "grants": {cluster: str(role) for cluster, role in principal.grants.items()},
        "csrf": csrf,
        "read_only": services.settings.read_only,
        "version": __version__,
    }


def _write(request: Request, services: Services, principal: Principal, action: str) -> None:
    entry = AuditEntry(
        who=principal.name,
        source=client_of(request.scope),
        action=action,
        outcome=AuditOutcome.DONE,
        status=200,
        request_id=request.state.request_id,
    )
    services.audit.write(entry)
