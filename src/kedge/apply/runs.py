"""Runs on disk: for each cluster a directory, in it one directory per run.

    <state>/<cluster id>/2026-11-16T01-30-00Z-3f9c/
        plan.json        what is carried out, as it was reviewed
        journal.jsonl    see `execution.journal`; every line is on disk before it is acted upon
    <state>/<cluster id>/lock    held by the process that acts

The lock is the system's (flock): it ends with its process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from kedge.errors import InvalidRequest, ReassignmentInProgress
from kedge.execution import RunState, read_journal
from kedge.execution.journal import begun
from kedge.files import path_component, read_bytes, said_of, write_atomically
from kedge.plan import Plan, parse_plan, plan_to_json

PLAN, JOURNAL, LOCK = "plan.json", "journal.jsonl", "lock"


def default_state() -> Path:
    """Where runs are kept unless somebody says otherwise."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "kedge" / "runs"


@dataclass(frozen=True, slots=True)
class RunFiles:
    """One run on disk."""

    directory: Path

    @property
    def name(self) -> str:
        """What people call it."""
        return self.directory.name

    def plan(self) -> Plan:
        """The plan as it was reviewed."""
        path = self.directory / PLAN
        data = read_bytes(path)
        with said_of(path):
            return parse_plan(data)

    def state(self) -> RunState:
        """What the journal tells."""
        path = self.directory / JOURNAL
        data = read_bytes(path)
        with said_of(path):
            return read_journal(data)

    def write(self, line: bytes) -> None:
        """Append a line to the journal; on disk when this returns."""
        path = self.directory / JOURNAL
        with said_of(path), path.open("ab+") as journal:
            _drop_cut_line(path, journal)
            journal.write(line)
            journal.flush()
            os.fsync(journal.fileno())


def _drop_cut_line(path: Path, journal: BinaryIO) -> None:
    """A line that a crash has cut short must not run into the next one."""
    size = journal.seek(0, os.SEEK_END)
    if size and os.pread(journal.fileno(), 1, size - 1) != b"\n":
        journal.truncate(path.read_bytes().rfind(b"\n") + 1)


class Runs:
    """The runs of one cluster."""

    def __init__(self, state: Path, cluster_id: str) -> None:
        # Cluster ids are text from outside.
        self._directory = state / path_component(cluster_id)

    def all(self) -> list[RunFiles]:
        """Every run, oldest first."""
        if not self._directory.is_dir():
            return []
        found = (each for each in self._directory.iterdir() if (each / JOURNAL).is_file())
        return [RunFiles(each) for each in sorted(found)]

    def last(self) -> RunFiles:
        """The latest run."""
        runs = self.all()
        if not runs:
            raise InvalidRequest(
                f"no plan was applied from here to this cluster (looked in {self._directory})",
                hint="start one with kedge apply, or name its directory with --state",
            )
        return runs[-1]

    def unfinished(self) -> list[RunFiles]:
        """Runs that have not ended, or whose throttles were not removed."""
        return [run for run in self.all() if (s := run.state()).ending is None or s.lease]

    def begin(self, plan: Plan, cluster_id: str, rate: int | None, each_way: int) -> RunFiles:
        """A new run: its plan and the first line of its journal."""
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ")
        directory = self._directory / f"{moment}-{token_hex(2)}"
        with said_of(directory):
            directory.mkdir(parents=True, mode=0o700)
        run = RunFiles(directory)
        write_atomically(directory / PLAN, plan_to_json(plan))
        run.write(begun(cluster_id, rate, each_way))
        return run

    @contextmanager
    def held(self) -> Generator[None]:
        """Nobody else on this machine acts on the cluster's runs within the block."""
        path = self._directory / LOCK
        with said_of(path):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            os.close(descriptor)
            raise ReassignmentInProgress(
                "another kedge on this machine is carrying a plan out on this cluster",
                hint="kedge status shows how far it is",
            ) from taken
        try:
            yield
        finally:
            os.close(descriptor)
