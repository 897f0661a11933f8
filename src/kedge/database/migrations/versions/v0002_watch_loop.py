"""The tables of the watch loop: lead, policies, samples, proposals, findings, runs, events.

A database that `kedge watch` made before there were migrations has them: those are kept.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

TIME = sa.Float(precision=53)


def upgrade() -> None:
    """Make the tables that are not there yet."""
    present = set(sa.inspect(op.get_bind()).get_table_names())
    for name, make in TABLES.items():
        if name not in present:
            make(name)


def _lead(name: str) -> None:
    op.create_table(
        name,
        sa.Column("cluster", sa.String(length=100), primary_key=True),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("until", TIME, nullable=False),
    )


def _policies(name: str) -> None:
    op.create_table(
        name,
        sa.Column("cluster", sa.String(length=100), primary_key=True),
        sa.Column("text", sa.Text(), nullable=False),
    )


def _samples(name: str) -> None:
    op.create_table(
        name,
        sa.Column("cluster", sa.String(length=100), primary_key=True),
        sa.Column("at", TIME, primary_key=True),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )


def _proposals(name: str) -> None:
    op.create_table(
        name,
        sa.Column("cluster", sa.String(length=100), primary_key=True),
        sa.Column("id", sa.String(length=60), primary_key=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
        sa.Column("waits_for", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )
    op.create_index("watch_proposals_by_state", name, ["cluster", "state"])


def _findings(name: str) -> None:
    op.create_table(
        name,
        sa.Column("cluster", sa.String(length=100), primary_key=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )


def _runs(name: str) -> None:
    op.create_table(
        name,
        sa.Column("cluster", sa.String(length=100), primary_key=True),
        sa.Column("proposal", sa.String(length=60), primary_key=True),
        sa.Column("begun_at", TIME, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
    )


def _events(name: str) -> None:
    op.create_table(
        name,
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("cluster", sa.String(length=100), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("delivered_at", TIME, nullable=True),
    )
    op.create_index("watch_events_to_deliver", name, ["cluster", "delivered_at"])


TABLES = {
    "watch_lead": _lead,
    "watch_policies": _policies,
    "watch_samples": _samples,
    "watch_proposals": _proposals,
    "watch_findings": _findings,
    "watch_runs": _runs,
    "watch_events": _events,
}
