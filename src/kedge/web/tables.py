"""The tables of the server: accounts, audit, jobs, plans; one class each.

Times are seconds since 1970. What the server shows but never searches (grants, summaries, requests)
is JSON; plans, snapshots and predictions are compressed documents, as their files are.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    false,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Document = dict[str, Any]


class Table(DeclarativeBase):
    """The base of all tables."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        float: Float(53),
        bytes: LargeBinary(),
        dict[str, Any]: JSON(none_as_null=True),
        list[str]: JSON(none_as_null=True),
    }


class TokenRow(Table):
    """A token: its digest, never itself."""

    __tablename__ = "tokens"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    grants: Mapped[Document]
    created_at: Mapped[float]
    created_by: Mapped[str] = mapped_column(String(200))
    expires_at: Mapped[float | None]
    revoked_at: Mapped[float | None]
    used_at: Mapped[float | None]


class SessionRow(Table):
    """A browser that has signed in; the cookie's digest, never itself."""

    __tablename__ = "sessions"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(16))
    token_id: Mapped[str | None] = mapped_column(String(16))
    grants: Mapped[Document]  # of the token; those of groups are in the settings
    groups: Mapped[list[str] | None]
    csrf: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[float]
    expires_at: Mapped[float] = mapped_column(index=True)


class SignInRow(Table):
    """A sign-in at the identity provider that was begun and has not come back."""

    __tablename__ = "sign_ins"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    verifier: Mapped[str] = mapped_column(String(128))
    nonce: Mapped[str] = mapped_column(String(64))
    expires_at: Mapped[float]


class AuditRow(Table):
    """One change, or one refusal of a change."""

    __tablename__ = "audit"
    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    at: Mapped[float] = mapped_column(index=True)
    who: Mapped[str] = mapped_column(String(200))
    source: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(200))
    cluster: Mapped[str | None] = mapped_column(String(100), index=True)
    target: Mapped[str] = mapped_column(String(300))
    outcome: Mapped[str] = mapped_column(String(16))
    status: Mapped[int]
    detail: Mapped[str] = mapped_column(Text())
    before: Mapped[Document | None]
    after: Mapped[Document | None]
    request_id: Mapped[str] = mapped_column(String(32))


class AnswerRow(Table):
    """The answer to a request that changed something, under its idempotency key."""

    __tablename__ = "answers"
    who: Mapped[str] = mapped_column(String(200), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    status: Mapped[int | None]
    body: Mapped[bytes | None]
    at: Mapped[float] = mapped_column(index=True)


class SnapshotRow(Table):
    """A snapshot of a cluster that was kept."""

    __tablename__ = "snapshots"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    cluster: Mapped[str] = mapped_column(String(100), index=True)
    taken_at: Mapped[float]
    sha256: Mapped[str] = mapped_column(String(64))
    partitions: Mapped[int]
    brokers: Mapped[int]
    who: Mapped[str] = mapped_column(String(200))
    data: Mapped[bytes] = mapped_column(deferred=True)


class PlanRow(Table):
    """A plan, with the snapshot that it was made from."""

    __tablename__ = "plans"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    cluster: Mapped[str] = mapped_column(String(100), index=True)
    snapshot_id: Mapped[str] = mapped_column(ForeignKey("snapshots.id"))
    created_at: Mapped[float]
    who: Mapped[str] = mapped_column(String(200))
    summary: Mapped[Document]
    details: Mapped[Document]
    sha256: Mapped[str | None] = mapped_column(String(64), index=True)  # of the plan's file
    data: Mapped[bytes] = mapped_column(deferred=True)


class PredictionRow(Table):
    """What a plan was predicted to take."""

    __tablename__ = "predictions"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    cluster: Mapped[str] = mapped_column(String(100))
    plan_id: Mapped[str] = mapped_column(ForeignKey("plans.id"), index=True)
    created_at: Mapped[float]
    who: Mapped[str] = mapped_column(String(200))
    options: Mapped[Document]
    summary: Mapped[Document]
    data: Mapped[bytes] = mapped_column(deferred=True)


class JobRow(Table):
    """Work that takes longer than a request; `owner` is the server that does it.

    `stopping` tells that server to end it early, whichever server was asked to.
    """

    __tablename__ = "jobs"
    __table_args__ = (Index("jobs_by_cluster", "cluster", "created_at"),)
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    cluster: Mapped[str] = mapped_column(String(100))
    who: Mapped[str] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(16), index=True)
    request: Mapped[Document]
    progress: Mapped[Document]
    result: Mapped[Document | None]
    problem: Mapped[Document | None]
    run: Mapped[str | None] = mapped_column(String(100), index=True)
    owner: Mapped[str] = mapped_column(String(200))
    beat_at: Mapped[float]
    created_at: Mapped[float]
    ended_at: Mapped[float | None]
    stopping: Mapped[bool] = mapped_column(server_default=false())
