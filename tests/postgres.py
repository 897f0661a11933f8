"""A PostgreSQL server of the tests' own: on a free port of this machine, in a temporary directory.

The server refuses to run as root: there it runs as the user that its package made.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

USER = "kedge"
PACKAGED_USER = "postgres"
START_S = 120


@dataclass
class Postgres:
    """A server at work."""

    port: int
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def new_database(self) -> str:
        """The URL of an empty database."""
        import psycopg

        name = f"kedge_{os.getpid()}_{next(self._numbers)}"
        at = f"host=127.0.0.1 port={self.port} user={USER} dbname=postgres"
        with psycopg.connect(at, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{name}"


@contextmanager
def postgres() -> Generator[Postgres]:
    """A server during a `with` block."""
    programs = _programs()
    with TemporaryDirectory(prefix="kedge-postgres-") as folder:
        runs_as = PACKAGED_USER if os.geteuid() == 0 else None
        if runs_as is not None:
            os.chown(folder, pwd.getpwnam(runs_as).pw_uid, -1)
        data, port = Path(folder) / "data", free_port()

        def run(*command: str) -> None:
            subprocess.run(
                [str(programs / command[0]), *command[1:]],
                check=True,
                user=runs_as,
                cwd=folder,
                stdout=subprocess.DEVNULL,
                timeout=START_S,
            )

        run("initdb", "-D", str(data), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder}"
        log = str(Path(folder) / "log")
        run("pg_ctl", "-D", str(data), "-w", "-t", str(START_S), "-l", log, "-o", options, "start")
        try:
            yield Postgres(port)
        finally:
            run("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")


def _programs() -> Path:
    """Where the server's programs are; Debian keeps them out of the path."""
    on_path = shutil.which("initdb")
    found = [Path(on_path)] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "PostgreSQL is not installed: apt-get install postgresql"
    return found[-1].parent


def free_port() -> int:
    """A port of this machine that no process listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
