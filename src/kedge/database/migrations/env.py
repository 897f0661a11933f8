"""Runs migrations on the connection that the server has opened."""

from __future__ import annotations

from alembic import context


def run() -> None:
    """Bring the database of the given connection up to date."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, render_as_batch=True)
    context.run_migrations()


run()
