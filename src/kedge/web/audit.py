"""The audit: every change and every refusal, with who, what, from where, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Insert, delete, insert, select

from kedge.database import Database
from kedge.model.printable import printable
from kedge.web.tables import AuditRow

MASK = "********"
SECRET_NAMES = ("password", "secret", "token", "jaas", "key.pem", "credential", "keystore.key")
TEXT_MAX = 1_000


class AuditOutcome(StrEnum):
    """How a request ended."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change, or the refusal of one."""

    who: str
    source: str
    action: str
    outcome: AuditOutcome
    status: int
    cluster: str | None = None
    target: str = ""
    detail: str = ""
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    request_id: str = ""


class Audit:
    """The audit of a database: only ever appended to, but for what is older than its retention."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, entry: AuditEntry) -> None:
        """Append an entry, with secrets masked and texts of limited length."""
        with self._database.begin() as session:
            session.execute(self._added(entry))

    def write_in(self, connection: Connection, entry: AuditEntry) -> None:
        """Append an entry in the transaction of the change itself."""
        connection.execute(self._added(entry))

    def _added(self, entry: AuditEntry) -> Insert:
        return insert(AuditRow).values(
            at=self._database.clock(),
            who=_text(entry.who, 200),
            source=_text(entry.source, 64),
            action=_text(entry.action, 200),
            cluster=None if entry.cluster is None else _text(entry.cluster, 100),
            target=_text(entry.target, 300),
            outcome=str(entry.outcome),
            status=entry.status,
            detail=_text(entry.detail, TEXT_MAX),
            before=None if entry.before is None else masked(entry.before),
            after=None if entry.after is None else masked(entry.after),
            request_id=entry.request_id,
        )

    def entries(
        self, *, cluster: str | None = None, before_id: int | None = None, limit: int = 100
    ) -> list[AuditRow]:
        """The newest entries first; of one cluster, and older than one, where given."""
        wanted = select(AuditRow).order_by(AuditRow.id.desc()).limit(limit)
        if cluster is not None:
            wanted = wanted.where(AuditRow.cluster == cluster)
        if before_id is not None:
            wanted = wanted.where(AuditRow.id < before_id)
        with self._database.read() as session:
            return list(session.scalars(wanted))

    def forget_before(self, at: float) -> None:
        """Delete what is older than the retention."""
        with self._database.begin() as session:
            session.execute(delete(AuditRow).where(AuditRow.at < at))


def masked(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same document with the values of secret names masked, at every depth."""
    return {
        name: MASK
        if any(word in name.lower() for word in SECRET_NAMES) and not isinstance(value, bool)
        else _masked_value(value)
        for name, value in document.items()
    }


def _masked_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return masked(value)  # pyright: ignore[reportUnknownArgumentType]
    return [_masked_value(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def _text(text: str, longest: int) -> str:
    shown = printable(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
