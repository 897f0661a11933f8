"""The tables: migrations that make what the classes say, and errors in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from kedge.errors import InvalidRequest, StoreUnavailable
from kedge.web.database import open_database, shown_url
from kedge.web.database.tables import Table


def test_migrations_make_the_tables_that_the_classes_describe(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'a.db'}")
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Table.metadata) == []
    database.close()


def test_a_second_start_finds_the_tables(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    open_database(url).close()
    open_database(url).close()


@pytest.mark.parametrize("url", ["mysql://host/x", "nonsense", "sqlite"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="sqlite:///file"):
        open_database(url)


def test_a_place_that_cannot_be_written_is_one_sentence() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        open_database("sqlite:////proc/nowhere/a.db")


def test_a_password_is_not_shown() -> None:
    assert "hidden" not in shown_url("postgresql://kedge:hidden@host/kedge")
