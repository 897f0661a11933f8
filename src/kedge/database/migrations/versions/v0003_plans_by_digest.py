"""Plans have the digest of their file, so that a client finds the plan that a file holds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; plans that were kept before have none."""
    op.add_column("plans", sa.Column("sha256", sa.String(length=64), nullable=True))
    op.create_index(op.f("ix_plans_sha256"), "plans", ["sha256"])
