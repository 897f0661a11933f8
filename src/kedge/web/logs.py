"""Structured logs of the server: one JSON object per line on stderr."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

import orjson

FIELDS = ("request_id", "cluster", "job")


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, source, text; and the trace of an error."""
        document = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "source": record.name,
            "text": record.getMessage(),
        }
        document |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            document["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(document, default=str).decode()


def configure_logs(level: int = logging.INFO) -> None:
    """Send the logs of the server to stderr; libraries log warnings only."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("kedge").setLevel(level)
