"""The tables: migrations that make what the classes say, and errors in one sentence."""

from __future__ import annotations

import socket
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, create_engine, insert

from kedge.database import open_database, shown_url
from kedge.errors import InvalidRequest, StoreUnavailable
from kedge.watch.policy import Mode, Policy
from kedge.watch_runtime import WatchRecords, WatchStore
from kedge.watch_runtime.tables import METADATA, POLICIES
from kedge.web.access.accounts import Accounts
from kedge.web.tables import Table


def _all_tables() -> MetaData:
    """The tables of the server and those of the loop."""
    every = MetaData()
    for part in (Table.metadata, METADATA):
        for table in part.sorted_tables:
            table.to_metadata(every)
    return every


def test_tables_of_the_loop_that_were_made_before_migrations_are_kept(
    new_database: Callable[[], str],
) -> None:
    url = new_database()
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    METADATA.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(POLICIES).values(cluster="orders", text="mode = 'auto'"))
    engine.dispose()
    database = open_database(url)
    assert WatchRecords(database, "orders").policy().mode is Mode.AUTO
    database.close()


def test_migrations_make_the_tables_that_the_classes_describe(
    new_database: Callable[[], str],
) -> None:
    database = open_database(new_database())
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, _all_tables()) == []
    database.close()


def test_a_second_start_finds_the_tables(new_database: Callable[[], str]) -> None:
    url = new_database()
    open_database(url).close()
    open_database(url).close()


@pytest.mark.parametrize("url", ["mysql://host/x", "nonsense", "sqlite"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="sqlite:///file"):
        open_database(url)


def test_a_place_that_cannot_be_written_is_one_sentence() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        open_database("sqlite:////proc/nowhere/a.db")


def test_a_server_that_does_not_answer_is_reported_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kedge.database.engine.CONNECT_S", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="cannot be used"):
            open_database(f"postgresql://127.0.0.1:{silent.getsockname()[1]}/kedge")
    assert time.monotonic() - began < 20


def test_the_files_of_a_new_database_are_private_in_a_directory_that_others_read(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o755)
    database = open_database(f"sqlite:///{tmp_path / 'serve.db'}")
    store = WatchStore(database, "orders", "a")
    store.set_policy(Policy())
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    database.close()
    assert modes == dict.fromkeys(("serve.db", "serve.db-wal", "serve.db-shm"), 0o600)


def test_a_database_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "serve.db"
    path.touch(0o640)
    path.chmod(0o640)
    open_database(f"sqlite:///{path}").close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_password_is_not_shown() -> None:
    assert "hidden" not in shown_url("postgresql://kedge:hidden@host/kedge")
    by_parameter = "postgresql://host/kedge?password=hidden&sslPassword=hidden&sslmode=require"
    assert shown_url(by_parameter) == "postgresql://host/kedge?sslmode=require"


def test_servers_that_start_at_once_take_turns(new_database: Callable[[], str]) -> None:
    url = new_database()
    with ThreadPoolExecutor(4) as pool:
        for database in list(pool.map(lambda _: open_database(url), range(4))):
            assert WatchRecords(database, "orders").last_sample_at() is None
            database.close()


def test_policies_that_servers_store_at_once_replace_each_other(
    new_database: Callable[[], str],
) -> None:
    database = open_database(new_database())
    policies = [Policy(mode=mode) for mode in (Mode.AUTO, Mode.APPROVE)] * 8
    stores = [WatchStore(database, "orders", str(n)) for n in range(len(policies))]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(WatchStore.set_policy, stores, policies))
    assert WatchRecords(database, "orders").policy() in policies
    database.close()


def test_servers_that_start_at_once_make_one_first_token(new_database: Callable[[], str]) -> None:
    database = open_database(new_database())
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Accounts(database).first_token(), range(8)))
    assert sum(token is not None for token in made) == 1
    assert len(Accounts(database).tokens()) == 1
    database.close()
