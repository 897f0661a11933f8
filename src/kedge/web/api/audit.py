"""The audit: who changed what, from where, and what was refused."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from kedge.web.access.roles import Role
from kedge.web.api.requests import Account, ServicesOf, answer
from kedge.web.tables import AuditRow

router = APIRouter(prefix="/api/v1/audit", tags=["audit"])


@router.get("")
def list_audit(
    principal: Account,
    services: ServicesOf,
    cluster: Annotated[str | None, Query(max_length=63)] = None,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """The newest entries first: of one cluster for its administrators, of all for those of all."""
    if cluster is None:
        principal.require_everywhere(Role.ADMIN)
    else:
        principal.require(Role.ADMIN, cluster)
    rows = services.audit.entries(cluster=cluster, before_id=before, limit=limit)
    return answer({"entries": [audit_row(row) for row in rows]})


def audit_row(row: AuditRow) -> dict[str, Any]:
    """An entry for programs."""
    names = (
        *("id", "at", "who", "source", "action", "cluster", "target", "outcome", "status"),
        *("detail", "before", "after", "request_id"),
    )
    return {name: getattr(row, name) for name in names}
