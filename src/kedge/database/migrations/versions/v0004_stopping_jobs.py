"""Jobs are stopped through any server; the table of leases, which nothing used, is gone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column, with a default for servers that do not know of it yet."""
    column = sa.Column("stopping", sa.Boolean(), server_default=sa.false(), nullable=False)
    op.add_column("jobs", column)
    op.drop_table("leases")
