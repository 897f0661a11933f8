"""`--events`: what a run does, as a stream of JSON lines in a file or on stdout."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Annotated, Any

import typer

from kedge.cli.options import Output, note
from kedge.errors import InvalidRequest

STDOUT = "-"

EventsOption = Annotated[
    str,
    typer.Option("--events", help="Write events as JSON lines to this file, or to stdout (-)"),
]
Send = Callable[[dict[str, Any]], None]


def check_events(target: str, output: Output) -> None:
    """Refuse events on stdout beside a report for people, and a file that cannot be written."""
    if target == STDOUT and output is not Output.JSON:
        raise InvalidRequest("--events - writes JSON to stdout", hint="add --output json")
    if target not in ("", STDOUT):
        _opened(target).close()


def _opened(target: str) -> FileIO:
    from kedge.files import with_path_context

    path = Path(target)
    with with_path_context(path):
        return path.open("ab", buffering=0)


@contextmanager
def event_stream(target: str, output: Output) -> Generator[Send]:
    """A function that writes an event, with the time; without a target it writes nothing.

    Events are appended to a file. On stdout they come before the outcome, which is the last line.
    """
    if not target:
        yield lambda _event: None
        return
    check_events(target, output)
    if target == STDOUT:
        yield _Stream(_to_stdout).send
        return
    with _opened(target) as stream:
        yield _Stream(stream.write).send


def _to_stdout(line: bytes) -> None:
    sys.stdout.write(line.decode())
    sys.stdout.flush()


class _Stream:
    """A run goes on when its reader is gone or the disk is full: a note says so once."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._broken = False

    def send(self, event: dict[str, Any]) -> None:
        import orjson

        if self._broken:
            return
        kind = {"event": event["event"], "at": round(time.time(), 3)}
        try:
            self._write(orjson.dumps(kind | event, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as fault:
            self._broken = True
            note(f"no more events are written: {fault.strerror or fault}")
