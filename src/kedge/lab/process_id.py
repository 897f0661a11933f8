"""Who runs a lab, and how that process is ended.

A process is known by its id *and* the moment it started: an id alone may belong to somebody else
by now, and nobody else is ever ended.
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from kedge.errors import KedgeError, Unavailable
from kedge.files import read_bytes
from kedge.lab.control import order
from kedge.lab.folder import LabFolder
from kedge.lab.private_files import write_private

END_S_MAX = 15.0
KILL_S_MAX = 5.0
PID_BYTES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that cannot be taken for another."""

    pid: int
    started: int  # ticks after the machine's start

    @staticmethod
    def of(pid: int) -> ProcessId | None:
        """The process of that id, if there is one."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        fields = stat.rpartition(")")[2].split()  # the name before may hold anything
        return None if fields[0] in ("Z", "X") else ProcessId(pid, int(fields[19]))

    @property
    def is_alive(self) -> bool:
        """Whether this very process runs."""
        return ProcessId.of(self.pid) == self

    def end(self, sent: signal.Signals) -> None:
        """Send it a signal, if it is still the same process."""
        if self.is_alive:
            os.kill(self.pid, sent)


def write_pid(folder: Path) -> None:
    """Say who runs the lab."""
    me = ProcessId.of(os.getpid())
    assert me is not None
    write_private(folder / "lab.pid", json.dumps([me.pid, me.started]).encode())


def read_pid(folder: Path) -> ProcessId | None:
    """Who runs the lab; nobody if that process is gone."""
    try:
        pid, started = orjson.loads(read_bytes(folder / "lab.pid", PID_BYTES_MAX))
        found = ProcessId(int(pid), int(started))
    except (KedgeError, ValueError, TypeError, OverflowError):
        return None
    return found if found.is_alive else None


def end_lab(folder: LabFolder) -> ProcessId | None:
    """End the lab of a directory, first by asking; who it was, None if nobody runs it."""
    running = read_pid(folder.path)
    if running is None:
        return None
    try:
        order(folder.control, "down", timeout_s=5.0)
    except KedgeError:
        running.end(signal.SIGTERM)
    if not _ends(running, END_S_MAX):
        running.end(signal.SIGKILL)
        if not _ends(running, KILL_S_MAX):
            raise Unavailable(f"process {running.pid} does not end")
    return running


def _ends(process: ProcessId, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while process.is_alive and time.monotonic() < deadline:
        time.sleep(0.01)
    return not process.is_alive
