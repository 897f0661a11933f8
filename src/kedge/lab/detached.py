"""Starting a lab in a process of its own that outlives the terminal.

The process is forked before anything heavy is imported and before there is any thread, which is
what makes forking safe, and quick: the caller's interpreter is ready already. What comes of the
start is told through a pipe, so that the caller ends when the lab can be used, or says why not.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kedge.errors import InvalidRequest, KedgeError, Unavailable, Unsatisfiable
from kedge.lab.private_files import open_private

START_S_MAX = 60.0

Started = Callable[[dict[str, Any]], None]
Serve = Callable[[Started], None]  # calls its argument once it is ready, returns at the end


def start_detached(serve: Serve, log: Path) -> dict[str, Any]:
    """Run `serve` in a new process; what it said when it was ready. Its refusal is raised here."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _be_the_lab(serve, log, writing)
    os.close(writing)
    try:
        answer = _read_all(reading)
    finally:
        os.close(reading)
    os.waitpid(pid, 0)  # the one between us and the lab, which ends at once
    return _judged(answer, log)


def _be_the_lab(serve: Serve, log: Path, writing: int) -> None:
    """In the new process: leave the terminal, serve, and never return."""
    code = 1
    try:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        say_into(Path(os.devnull))

        def ready(about: dict[str, Any]) -> None:
            _tell(writing, {"ok": about})

        serve(ready)
        code = 0
    except KedgeError as refusal:
        mine = isinstance(refusal, InvalidRequest | Unsatisfiable)
        _tell(writing, {"error": refusal.what, "hint": refusal.hint, "mine": mine})
    except BaseException as fault:
        _tell(writing, {"error": f"the lab stumbled: {fault!r}", "hint": f"see {log}"})
        raise
    finally:
        os._exit(code)


def say_into(log: Path) -> None:
    """Nothing comes in any more, and what is said goes to a file."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    said = open_private(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream, file in enumerate((nothing, said, said)):
        os.dup2(file, stream)
    os.close(nothing)
    os.close(said)


def _tell(writing: int, value: dict[str, Any]) -> None:
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


def _judged(data: bytes, log: Path) -> dict[str, Any]:
    try:
        answer: Any = json.loads(data)
    except ValueError:
        raise Unavailable("the lab ended before it was ready", hint=f"see {log}") from None
    if "ok" in answer:
        return answer["ok"]
    kind = InvalidRequest if answer.get("mine") else Unavailable
    raise kind(answer["error"], hint=answer["hint"])
