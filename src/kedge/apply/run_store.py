"""Keeps runs on disk: a directory for each cluster, in it one directory per run.

    <state>/<cluster id>/2026-11-16T01-30-00.123456Z-3f9c/
        plan.json        what is carried out, as it was reviewed
        journal.jsonl    see `execution.journal`; every line is on disk before it is acted upon
        requests.jsonl   see `execution.requests`; what other processes request of the run
    <state>/<cluster id>/lock    held by the process that acts, and names it

The lock is the system's (flock): it ends with its process, however that ends. Processes on other
machines are kept out by a lease in the cluster, where it has one (`directory_lease`).
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from kedge.apply.directory_lease import DirectoryLease
from kedge.apply.run_port import Run, RunStore, new_run_name
from kedge.apply.this_process import is_alive, owner_from_text, owner_text, this_process
from kedge.cluster.log_port import ClusterClock
from kedge.cluster.port import Cluster
from kedge.errors import ReassignmentInProgress
from kedge.execution import RunRecord, RunState, read_journal
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
    clock: Callable[[], float] = field(default=time.time, compare=False)

    @property
    def name(self) -> str:
        """The run's id."""
        return self.directory.name

    def now(self) -> float:
        """The time that the journal gets."""
        return self.clock()

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

    def begin(self, line: bytes) -> None:
        """Write the first line; a run whose first line is not whole has not begun."""
        write_atomically(self.directory / JOURNAL, line)

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


def _write_over(descriptor: int, text: str) -> None:
    """Give a file a short text. The lock does not depend on it, so a full disk is no matter."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)


class Runs(RunStore):
    """The runs of one cluster in a directory."""

    def __init__(self, state: Path, cluster_id: str, lease: DirectoryLease | None = None) -> None:
        # Cluster ids are text from outside.
        self._directory = state / path_component(cluster_id)
        self._lease = lease
        self.cluster_id = cluster_id
        self._read: dict[str, tuple[int, RunRecord]] = {}

    @property
    def place(self) -> str:
        """The directory."""
        return str(self._directory)

    def all(self) -> list[RunFiles]:
        """Every run, oldest first."""
        if not self._directory.is_dir():
            return []
        found = (each for each in self._directory.iterdir() if (each / JOURNAL).is_file())
        return [self.files(each) for each in sorted(found)]

    def files(self, directory: Path) -> RunFiles:
        """The run in a directory."""
        return RunFiles(directory)

    def record_of(self, run: Run) -> RunRecord:
        """The record of a run; journals only grow, so one of the same size is read once."""
        path = self._directory / run.name / JOURNAL
        with with_path_context(path):
            size = path.stat().st_size
        if run.name not in self._read or self._read[run.name][0] != size:
            self._read[run.name] = size, run.record()
        return self._read[run.name][1]

    def begin(self, plan: Plan, record: RunRecord) -> RunFiles:
        """A new run: its plan and the first line of its journal."""
        directory = self._directory / new_run_name(record)
        with with_path_context(directory):
            directory.mkdir(parents=True, mode=0o700)
        run = self.files(directory)
        write_atomically(directory / PLAN, plan_to_json(plan))
        run.begin(begun(record))
        return run

    def has_process(self) -> bool | None:
        """Whether a process acts on the runs: on this machine by the lock, else by the lease.

        A run goes on without the lease where the log cannot be used: then the lock alone tells.
        """
        here = self._locker_lives()
        if here:
            return True
        leased = None if self._lease is None else self._lease.has_process()
        return here if leased is None else leased

    def _locker_lives(self) -> bool | None:
        """Whether the process that has locked the runs lives; None where that is not known."""
        try:
            return is_alive(owner_from_text((self._directory / LOCK).read_text()))
        except (OSError, ValueError, TypeError):  # not locked, or by a version that wrote nothing
            return None

    def clock(self) -> ClusterClock | None:
        """The clock of a lab."""
        return None if self._lease is None else self._lease.clock()

    def guarded(self, cluster: Cluster) -> Cluster:
        """The cluster: no process takes the lock from one that lives, but perhaps the lease."""
        return cluster if self._lease is None else self._lease.guarded(cluster)

    @contextmanager
    def held(self, *, patient: bool = True) -> Generator[None]:
        """No other process acts on the cluster's runs within the block.

        On this machine by the lock; on others by the lease.
        """
        with (
            self._locked(),
            nullcontext() if self._lease is None else self._lease.held(patient=patient),
        ):
            yield

    @contextmanager
    def _locked(self) -> Generator[None]:
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
            _write_over(descriptor, owner_text(this_process()))
            yield
        finally:
            _write_over(descriptor, "")  # a process that is killed leaves its name
            os.close(descriptor)
