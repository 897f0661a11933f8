"""Refusals of changes, and of credentials, are written to the audit wherever they come from."""

from __future__ import annotations

import logging

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kedge.database import reason_of
from kedge.web.audit import Audit, AuditEntry, AuditOutcome
from kedge.web.protection.asgi import answered_status, client_of, header, is_change
from kedge.web.protection.rate_limit import Buckets

log = logging.getLogger("kedge.web")
SIGN_IN = "/oidc/callback"  # credentials that come as the address of a page


class RefusalAudit:
    """Writes an entry for each refused change that nothing else has audited.

    A flood of refusals would fill the audit: each client gets so many entries a minute.
    """

    def __init__(self, app: ASGIApp, *, audit: Audit, entries: Buckets) -> None:
        self._app, self._audit, self._entries = app, audit, entries

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def audited(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._write(scope, answered_status(scope, message))
            await send(message)

        await self._app(scope, receive, audited)

    async def _write(self, scope: Scope, status: int) -> None:
        """Write before the answer is sent: a client that reads a refusal finds it in the audit."""
        if not _is_worth_it(scope, status) or not self._entries.take(client_of(scope)):
            return
        entry = _entry(scope, status)
        try:
            await run_in_threadpool(self._audit.write, entry)
        except SQLAlchemyError as error:  # the refusal is answered in any case
            told = (entry.who, entry.source, entry.action, status, reason_of(error))
            log.error("Not in the audit: %s from %s, %s, status %d: %s", *told)


def _is_worth_it(scope: Scope, status: int) -> bool:
    if status < 400 or scope["state"].get("audited"):
        return False
    presents = bool(header(scope, "authorization")) or scope["path"] == SIGN_IN
    return is_change(scope) or status == 403 or (status == 401 and presents)


def _entry(scope: Scope, status: int) -> AuditEntry:
    state = scope["state"]
    return AuditEntry(
        who=state.get("who", "not signed in"),
        source=client_of(scope),
        action=f"{scope['method']} {scope['path']}",
        outcome=AuditOutcome.REFUSED if status < 500 else AuditOutcome.FAILED,
        status=status,
        cluster=scope.get("path_params", {}).get("cluster"),
        target=scope["path"],
        detail=state.get("refusal", ""),
        request_id=state.get("request_id", ""),
    )
