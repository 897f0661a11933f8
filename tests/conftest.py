"""What holds for every test."""

import os
from collections.abc import Callable, Generator

import pytest
from hypothesis import settings

from tests.postgres import Postgres, postgres

# Speed is measured in bench/, never judged in a test: a busy machine is no failure.
# The same examples each time, so that a failure tells of a change and not of luck; others are
# looked for on purpose: `KEDGE_EXPLORE=1 make test`.
settings.register_profile("kedge", deadline=None, derandomize="KEDGE_EXPLORE" not in os.environ)
settings.load_profile("kedge")


@pytest.fixture(scope="session")
def postgres_server() -> Generator[Postgres]:
    """A PostgreSQL server that the tests of one process share."""
    with postgres() as server:
        yield server


@pytest.fixture(
    scope="session",
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)],
)
def new_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], str]:
    """Makes an empty database and returns its URL: each test runs on SQLite and on PostgreSQL."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres_server")
        return server.new_database
    return lambda: f"sqlite:///{tmp_path_factory.mktemp('database') / 'kedge.db'}"
