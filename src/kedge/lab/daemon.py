"""Starts a lab as a background process, records its process id, and ends it.

The process is forked before threads exist and before heavy modules are imported: forking is then
safe, and quick because the caller's interpreter is already running. The new process reports the
result of its start through a pipe, so the caller returns when the lab is ready, or with its error.

A process is identified by its id and its start time: the id alone may have been reused since.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from kedge.errors import InvalidRequest, KedgeError, Unavailable, Unsatisfiable
from kedge.files import read_bytes
from kedge.lab.control_socket import send_command
from kedge.lab.private_files import open_private, write_private

if TYPE_CHECKING:
    from kedge.lab.lab_dir import LabDir

START_S_MAX = 60.0
END_S_MAX = 15.0
KILL_S_MAX = 5.0
PID_BYTES_MAX = 1_000

Ready = Callable[[dict[str, Any]], None]
Serve = Callable[[Ready], None]  # calls its argument once it is ready, returns at the end

# ---- start --------------------------------------------------------------------------------------


def start_detached(serve: Serve, log: Path) -> dict[str, Any]:
    """Run `serve` in a new process; returns what it passes to `ready`, raises its error."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _run_detached(serve, log, writing)
    os.close(writing)
    try:
        report = _read_all(reading)
    finally:
        os.close(reading)
    os.waitpid(pid, 0)  # the intermediate process, which ends at once
    return _start_result(report, log)


def _run_detached(serve: Serve, log: Path, writing: int) -> None:
    """In the new process: detach from the terminal, serve, and never return."""
    code = 1
    try:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        redirect_output(Path(os.devnull))

        def ready(about: dict[str, Any]) -> None:
            _report(writing, {"ok": about})

        serve(ready)
        code = 0
    except KedgeError as refusal:
        is_callers_fault = isinstance(refusal, InvalidRequest | Unsatisfiable)
        _report(writing, {"error": refusal.what, "hint": refusal.hint, "mine": is_callers_fault})
    except BaseException as fault:
        _report(writing, {"error": f"internal error of the lab: {fault!r}", "hint": f"see {log}"})
        raise
    finally:
        os._exit(code)


def redirect_output(log: Path) -> None:
    """Close standard input, and append standard output and error to a file."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = open_private(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream, file in enumerate((nothing, output, output)):
        os.dup2(file, stream)
    os.close(nothing)
    os.close(output)


def _report(writing: int, value: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(writing, json.dumps(value).encode())
        os.close(writing)


def _read_all(reading: int) -> bytes:
    data = b""
    while select.select([reading], [], [], START_S_MAX)[0]:
        part = os.read(reading, 65_536)
        if not part:
            break
        data += part
    return data


def _start_result(data: bytes, log: Path) -> dict[str, Any]:
    try:
        report: Any = json.loads(data)
    except ValueError:
        raise Unavailable("the lab ended before it was ready", hint=f"see {log}") from None
    if "ok" in report:
        return report["ok"]
    kind = InvalidRequest if report.get("mine") else Unavailable
    raise kind(report["error"], hint=report["hint"])


# ---- process id ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process by its id and start time."""

    pid: int
    started: int  # clock ticks after boot

    @staticmethod
    def of(pid: int) -> ProcessId | None:
        """The running process with that id; None if there is none."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        fields = stat.rpartition(")")[2].split()  # the name before it may contain anything
        return None if fields[0] in ("Z", "X") else ProcessId(pid, int(fields[19]))

    @property
    def is_alive(self) -> bool:
        """Whether this same process is running."""
        return ProcessId.of(self.pid) == self

    def end(self, sent: signal.Signals) -> None:
        """Send a signal, if the id still belongs to the same process."""
        if self.is_alive:
            os.kill(self.pid, sent)


def write_pid(directory: Path) -> None:
    """Record the current process as the one that runs the lab."""
    me = ProcessId.of(os.getpid())
    assert me is not None
    write_private(directory / "lab.pid", json.dumps([me.pid, me.started]).encode())


def read_pid(directory: Path) -> ProcessId | None:
    """The process that runs the lab; None if it has ended."""
    try:
        pid, started = orjson.loads(read_bytes(directory / "lab.pid", PID_BYTES_MAX))
        found = ProcessId(int(pid), int(started))
    except (KedgeError, ValueError, TypeError, OverflowError):
        return None
    return found if found.is_alive else None


# ---- end ----------------------------------------------------------------------------------------


def end_lab(lab_dir: LabDir) -> ProcessId | None:
    """End the lab of a directory by command, SIGTERM or SIGKILL; None if no process runs it."""
    running = read_pid(lab_dir.path)
    if running is None:
        return None
    try:
        send_command(lab_dir.control, "down", timeout_s=5.0)
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
