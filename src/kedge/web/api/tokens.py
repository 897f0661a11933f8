"""Tokens: made, listed and revoked by administrators. A secret is shown once."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from kedge.errors import UnknownResource
from kedge.web.access.roles import EVERY_CLUSTER, Role
from kedge.web.api.requests import Account, Change, Done, ServicesOf, answer, changes
from kedge.web.services import Services
from kedge.web.tables import TokenRow

router = APIRouter(prefix="/api/v1/tokens", tags=["tokens"])

DAY_S = 86_400


class CreateToken(BaseModel):
    """A token for a program or a person: a name, roles by cluster, and how long it is valid."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=100, pattern=r"^[\w .@-]+$")
    grants: dict[str, Role] = Field(min_length=1, max_length=100)
    days: int | None = Field(default=None, ge=1, le=3650)


@router.get("")
def list_tokens(principal: Account, services: ServicesOf) -> Response:
    """Every token that is valid, without its secret."""
    principal.require_everywhere(Role.ADMIN)
    return answer({"tokens": [token_row(row) for row in services.accounts.tokens()]})


@router.post("", status_code=201)
def create_token(
    body: CreateToken,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.ADMIN, "token.create")],
) -> Response:
    """A new token; its secret is in this answer and nowhere else."""

    def act() -> Done:
        _known_clusters(services, body.grants)
        expires_at = None if body.days is None else time.time() + body.days * DAY_S
        made = services.accounts.create_token(
            body.name, body.grants, by=change.principal.name, expires_at=expires_at
        )
        row = {"id": made.id, "name": body.name, "grants": dict(body.grants)}
        shown = {**row, "token": made.secret}
        return Done(shown, 201, f"token {made.id}", after=row, kept=row)

    return change.make(act, f"token {body.name}")


@router.delete("/{token}")
def revoke_token(
    token: Annotated[str, Path(min_length=1, max_length=16)],
    services: ServicesOf,
    change: Annotated[Change, changes(Role.ADMIN, "token.revoke")],
) -> Response:
    """End a token and the sessions that it has signed in."""

    def act() -> Done:
        row = token_row(services.accounts.revoke_token(token))
        return Done({"revoked": token}, target=f"token {token}", before=row)

    return change.make(act, f"token {token}")


def _known_clusters(services: Services, grants: dict[str, Role]) -> None:
    for name in grants:
        if name != EVERY_CLUSTER and name not in services.registry.settings:
            raise UnknownResource(f"No cluster {name!r} is known")


def token_row(row: TokenRow) -> dict[str, Any]:
    """A token for programs, without its secret."""
    return {
        "id": row.id,
        "name": row.name,
        "grants": row.grants,
        "created_at": row.created_at,
        "created_by": row.created_by,
        "expires_at": row.expires_at,
        "used_at": row.used_at,
    }
