"""The structured log of the controller process: one JSON object per line."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any, TextIO, cast

from kedge.model.printable import printable
from kedge.runtime import LogEntry

LISTED_MAX = 5  # items of a list in one entry; the rest is counted
TEXT_MAX = 400  # characters of one text


class JsonLines(logging.Handler):
    """Writes the program's log records and the controller's entries in one form."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream or sys.stderr

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record of the program."""
        fields: dict[str, Any] = {"where": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = repr(record.exc_info[1])
        self._write(record.levelname.lower(), record.getMessage(), fields)

    def sink(self, entry: LogEntry) -> None:
        """Write an entry of the controller."""
        details = {name: shortened(value) for name, value in entry.details.items()}
        self._write(entry.severity, entry.what, {"event": entry.event, **details})

    def note(self, what: str, **details: Any) -> None:
        """Write a message with details."""
        self._write("info", what, details)

    def _write(self, severity: str, what: str, fields: Mapping[str, Any]) -> None:
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        line = {"time": f"{stamp}.{int(now * 1000) % 1000:03d}Z", "severity": severity}
        text = json.dumps({**line, "what": cut(what), **fields}, default=str, ensure_ascii=False)
        self._stream.write(printable(text) + "\n")
        self._stream.flush()


def shortened(value: Any) -> Any:
    """A value for the log: of a long list its first items and its length."""
    if not isinstance(value, list | tuple | set | frozenset):
        return value if isinstance(value, int | float | bool) else cut(str(value))
    every = cast("Collection[object]", value)
    more = [f"… {len(every)} in all"] if len(every) > LISTED_MAX else []
    return [cut(str(each)) for each in islice(every, LISTED_MAX)] + more


def cut(text: str) -> str:
    """A text for the log: of a long one its beginning and its length."""
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}… ({len(text)} characters)"
