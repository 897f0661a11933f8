"""Opens a database, brings its tables up to date, and gives out transactions."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    extract,
    func,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from kedge.errors import InvalidRequest, StoreUnavailable

BUSY_MS = 10_000
RETRY_S = 0.02
CONNECT_S = 10  # psycopg alone would wait for two minutes
READS = "kedge_reads"  # the option of connections that take no lock for writing
MIGRATIONS = Path(__file__).parent / "migrations"
# any numbers that no other program of the database locks
MIGRATION_LOCK, FIRST_TOKEN_LOCK = 7_310_582_116, 7_310_582_117


class Database:
    """A database with all tables. A session is one transaction; so is a connection of `writes`."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self.engine, self.clock = engine, clock
        self._sessions = sessionmaker(engine, expire_on_commit=False)
        self._reading = engine.execution_options(**{READS: True})
        self._readers = sessionmaker(self._reading, expire_on_commit=False)

    @contextmanager
    def read(self) -> Generator[Session]:
        """A transaction that changes nothing; it waits for no other."""
        with self._readers.begin() as session:
            yield session

    @contextmanager
    def begin(self) -> Generator[Session]:
        """A transaction: committed at the end of the block, rolled back on an error."""
        with self._sessions.begin() as session:
            yield session

    @contextmanager
    def reads(self) -> Generator[Connection]:
        """As `read`, for statements on tables without classes."""
        with self._reading.begin() as connection:
            yield connection

    @contextmanager
    def writes(self) -> Generator[Connection]:
        """As `begin`, for statements on tables without classes."""
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def begin_alone(self, lock: int) -> Generator[Session]:
        """As `begin`; no other server has a transaction with the same lock meanwhile."""
        with self.begin() as session:
            _lock(session.connection(), lock)
            yield session

    def now(self) -> float:
        """The time of a clock that all servers of the database share.

        PostgreSQL's own; servers that share an SQLite file share a machine, and so its clock.
        """
        if self.engine.dialect.name != "postgresql":
            return self.clock()
        with self.reads() as connection:
            seconds = select(extract("epoch", func.clock_timestamp()))
            return float(connection.execute(seconds).scalar_one())

    def is_available(self) -> bool:
        """Whether the database answers."""
        try:
            with self.engine.connect() as connection:
                connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            return False
        return True

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(url: str) -> Database:
    """The database of a URL, with its tables; they are made or migrated here.

    Raises:
        InvalidRequest: not the URL of SQLite or PostgreSQL.
        StoreUnavailable: no connection, or the file cannot be written.
    """
    engine = _engine(url)
    try:
        _migrate(engine)
    except SQLAlchemyError as error:
        engine.dispose()
        raise StoreUnavailable(
            f"The database {shown_url(url)} cannot be used: {reason_of(error)}",
            hint="check --database, and that the server may write there",
        ) from error
    return Database(engine)


def shown_url(url: str) -> str:
    """A URL without its passwords, those among its parameters included."""
    try:
        parsed = make_url(url)
        secret = [name for name in parsed.query if "password" in name.lower()]
        return parsed.difference_update_query(secret).render_as_string(hide_password=True)
    except ArgumentError:
        return "(not a URL)"


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            raise InvalidRequest(
                f"{parsed.get_backend_name()} is no database that Kedge can use",
                hint="use sqlite:///file.db or postgresql://host/name",
            )
        if parsed.get_backend_name() == "sqlite":
            _make_private(parsed.database or "")
            return _sqlite(parsed.render_as_string(hide_password=False))
        return _postgresql(parsed)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise InvalidRequest(
            "The URL of the database cannot be read or its driver is not installed",
            hint="use sqlite:///file.db or postgresql://host/name (pip install 'kedge[postgres]')",
        ) from error


def _postgresql(url: URL) -> Engine:
    """PostgreSQL; one that does not answer is reported soon, unless the URL is more patient."""
    patience = {} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_S}
    return create_engine(url, pool_pre_ping=True, connect_args=patience)


def _sqlite(url: str) -> Engine:
    """SQLite with a journal that lets reads go on beside one write."""
    engine = create_engine(url, connect_args={"timeout": BUSY_MS / 1000})

    def prepare(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        _use_write_ahead_log(cursor)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
        # sqlite3 begins transactions late and lets reads in them go stale: we begin ourselves
        connection.isolation_level = None

    def begin(connection: Any) -> None:
        reads = connection.get_execution_options().get(READS, False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def _make_private(path: str) -> None:
    """Make the file of a new database, which its owner alone can read; it holds secrets.

    SQLite gives the files of its journal the same mode. A file that is there is not opened: to
    close it would end the locks that this process has on it.
    """
    if not path.startswith((":", "file:")):
        with suppress(OSError):  # SQLite opens the file, or says why not
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _use_write_ahead_log(cursor: Any) -> None:
    """Switch the journal; a new database of which another server does so at once is tried again.

    SQLite does not wait for the lock that the switch needs: it says at once that it is taken.
    """
    give_up = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() >= give_up:
                raise
            time.sleep(RETRY_S)
        else:
            return


def _migrate(engine: Engine) -> None:
    """Run the migrations that the database lacks; two servers that start at once take turns."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        _lock(connection, MIGRATION_LOCK)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _lock(connection: Connection, number: int) -> None:
    """Wait for a lock until the end of the transaction; writes to SQLite take turns in any case."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": number})


def reason_of(error: SQLAlchemyError) -> str:
    """The driver's sentence, without the statement and its values."""
    original = getattr(error, "orig", None)
    lines = str(original or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
