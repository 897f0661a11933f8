"""Sessions of an identity provider keep groups, whose roles the settings give at each request."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column; sessions that began before without groups end, and people sign in again."""
    op.add_column("sessions", sa.Column("groups", sa.JSON(), nullable=True))
