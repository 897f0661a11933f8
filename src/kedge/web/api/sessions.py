"""Sessions of browsers: listed and ended by administrators."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from kedge.web.access.accounts import Accounts, session_id_of
from kedge.web.access.roles import Role
from kedge.web.api.requests import Account, Change, Done, ServicesOf, answer, changes
from kedge.web.tables import SessionRow

router = APIRouter(prefix="/api/v1/sessions", tags=["session"])


class SessionShown(BaseModel):
    """A browser that is signed in: by whom, how, with which roles; times are seconds since 1970."""

    id: str
    name: str
    kind: str
    token_id: str | None
    grants: dict[str, Role]
    created_at: float
    expires_at: float


class SessionList(BaseModel):
    """Sessions that have not ended, oldest first."""

    sessions: list[SessionShown]


@router.get("", response_model=SessionList)
def list_sessions(principal: Account, services: ServicesOf) -> Response:
    """Every browser that is signed in, with the roles that it has now."""
    principal.require_everywhere(Role.ADMIN)
    accounts = services.accounts
    return answer({"sessions": [session_row(accounts, row) for row in accounts.sessions()]})


@router.delete("/{session}")
def revoke_session(
    session: Annotated[str, Path(min_length=1, max_length=16)],
    services: ServicesOf,
    change: Annotated[Change, changes(Role.ADMIN, "session.revoke")],
) -> Response:
    """Sign a browser out: its requests are refused at once, its streams within 15 seconds."""

    def act() -> Done:
        row = session_row(services.accounts, services.accounts.revoke_session(session))
        return Done({"revoked": session}, target=f"session {session}", before=row)

    return change.make(act, f"session {session}")


def session_row(accounts: Accounts, row: SessionRow) -> dict[str, Any]:
    """A session for programs, without its secrets."""
    return {
        "id": session_id_of(row.digest),
        "name": row.name,
        "kind": row.kind,
        "token_id": row.token_id,
        "grants": dict(accounts.grants_of_session(row)),
        "created_at": row.created_at,
        "expires_at": row.expires_at,
    }
