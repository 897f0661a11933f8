"""Keeps runs on disk: a directory for each cluster, in it one directory per run.

    <state>/<cluster id>/2026-11-16T01-30-00.123456Z-3f9c/
        plan.json        what is carried out, as it was reviewed
        journal.jsonl    see `execution.journal`; every line is on disk before it is acted upon
        requests.jsonl   see `execution.requests`; what other processes request of the run
    <state>/<cluster id>/lock    held by the process that acts

The lock is the system's (flock): it ends with its process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from kedge.errors import InvalidRequest, ReassignmentInProgress
from kedge.execution import ENDED, RunKind, RunRecord, RunState, Setting, read_journal
from kedge.execution.journal import begun, entered
from kedge.files import path_component, read_bytes, with_path_context, write_atomically
from kedge.plan import Plan, parse_plan, plan_to_json

PLAN, JOURNAL, REQUESTS, LOCK = "plan.json", "journal.jsonl", "requests.jsonl", "lock"


def default_state() -> Path:
    """Where runs are kept unless `--state` names another place."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "kedge" / "runs"


@dataclass(frozen=True)
class RunFiles:
    """One run on disk."""

    directory: Path
    now: Callable[[], float] = field(default=time.time, compare=False)

    @property
    def name(self) -> str:
        """The run's id."""
        return self.directory.name

    def plan(self) -> Plan:
        """The plan as it was reviewed."""
        path = self.directory / PLAN
        data = read_bytes(path)
        with with_path_context(path):
            return parse_plan(data)

    def record(self) -> RunRecord:
        """The record that the journal gives."""
        path = self.directory / JOURNAL
        data = read_bytes(path)
        with with_path_context(path):
            return read_journal(data)

    def write(self, line: bytes) -> None:
        """Append a line to the journal; on disk when this returns."""
        path = self.directory / JOURNAL
        with with_path_context(path), path.open("ab+") as journal:
            _drop_cut_line(path, journal)
            journal.write(line)
            journal.flush()
            os.fsync(journal.fileno())

    def enter(self, state: RunState, *, moved: int | None = None) -> None:
        """Write that the run enters a state."""
        self.write(entered(state, at=self.now(), moved=moved))

    def send_request(self, line: bytes) -> None:
        """Append a request to the run, from any process; on disk when this returns.

        It begins with a line feed, which ends a line that another process has not finished.
        """
        path = self.directory / REQUESTS
        with with_path_context(path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o600)
            try:
                os.write(descriptor, b"\n" + line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def requests(self) -> list[bytes]:
        """All requests of the run so far, in order; a line that was cut short is left out."""
        path = self.directory / REQUESTS
        if not path.exists():
            return []
        *whole, _cut_short = read_bytes(path).split(b"\n")
        return [line for line in whole if line]


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
        self.cluster_id = cluster_id
        self._read: dict[Path, tuple[int, RunRecord]] = {}

    def all(self) -> list[RunFiles]:
        """Every run, oldest first."""
        if not self._directory.is_dir():
            return []
        found = (each for each in self._directory.iterdir() if (each / JOURNAL).is_file())
        return [RunFiles(each) for each in sorted(found)]

    def record_of(self, run: RunFiles) -> RunRecord:
        """The record of a run; journals only grow, so one of the same size is read once."""
        path = run.directory / JOURNAL
        with with_path_context(path):
            size = path.stat().st_size
        if run.directory not in self._read or self._read[run.directory][0] != size:
            self._read[run.directory] = size, run.record()
        return self._read[run.directory][1]

    # ---- which run a command is about -----------------------------------------------------------

    def chosen(self, run_id: str | None) -> RunFiles:
        """The run with this id, or the latest; of a rollback, the run that it undoes."""
        runs = self.all()
        if run_id is not None:
            return self._by_id(runs, run_id)
        if not runs:
            raise InvalidRequest(
                f"No run of this cluster found in {self._directory}",
                hint="start one with kedge apply, or name the directory of runs with --state",
            )
        undoes = self.record_of(runs[-1]).undoes
        return next((each for each in runs if each.name == undoes), runs[-1])

    def _by_id(self, runs: Sequence[RunFiles], run_id: str) -> RunFiles:
        fitting = [each for each in runs if each.name == run_id] or [
            each for each in runs if run_id in each.name
        ]
        if len(fitting) != 1:
            raise InvalidRequest(
                f"{len(fitting) or 'No'} {'runs fit' if fitting else 'run fits'} {run_id!r}",
                hint="kedge runs lists them",
            )
        return fitting[0]

    def rollback_of(self, run: RunFiles) -> RunFiles | None:
        """The latest rollback of a run, unless it was cancelled or itself rolled back."""
        undone = (RunState.CANCELLED, RunState.ROLLED_BACK)
        rollbacks = [e for e in self.all() if self.record_of(e).undoes == run.name]
        return next((e for e in reversed(rollbacks) if self.state_of(e) not in undone), None)

    def state_of(self, run: RunFiles) -> RunState:
        """The state of a run, its rollback considered."""
        rollback = self.rollback_of(run)
        if rollback is None:
            return self.record_of(run).state
        ended = self.record_of(rollback).state in ENDED
        return RunState.ROLLED_BACK if ended else RunState.ROLLING_BACK

    def own_settings(self) -> frozenset[Setting]:
        """Every throttle value that a run of this cluster has set and not removed."""
        return frozenset(setting for run in self.all() for setting in self.record_of(run).own)

    # ---- acting ---------------------------------------------------------------------------------

    def begin(self, plan: Plan, record: RunRecord) -> RunFiles:
        """A new run: its plan and the first line of its journal."""
        moment = datetime.fromtimestamp(record.begun_at, UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ")
        directory = self._directory / f"{moment}-{token_hex(2)}"
        with with_path_context(directory):
            directory.mkdir(parents=True, mode=0o700)
        run = RunFiles(directory)
        write_atomically(directory / PLAN, plan_to_json(plan))
        run.write(begun(record))
        return run

    @contextmanager
    def held(self) -> Generator[None]:
        """No other process on this machine acts on the cluster's runs within the block."""
        path = self._directory / LOCK
        with with_path_context(path):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            os.close(descriptor)
            raise ReassignmentInProgress(
                "Another kedge process on this machine is working on a run of this cluster",
                hint="kedge status shows how far it is",
            ) from held
        try:
            yield
        finally:
            os.close(descriptor)


def new_record(
    cluster_id: str,
    *,
    kind: RunKind = RunKind.APPLY,
    undoes: str | None = None,
    plan_file: str = "",
    rate: int | None,
    each_way: int,
) -> RunRecord:
    """The record of a run that begins now."""
    now = time.time()
    return RunRecord(cluster_id, kind, undoes, plan_file, rate, each_way, begun_at=now)
