"""The state-change log: structured entries, handed to whoever keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kedge.controller.effects import RecordPartitions, RecordReplicas, RecordWords
from kedge.errors import KedgeError


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One thing worth reading later: what happened, in which event, with which details."""

    event: str
    what: str
    severity: str = "info"  # or "warning", "error"
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


Sink = Callable[[LogEntry], None]


def nowhere(_entry: LogEntry) -> None:
    """A sink for those who do not want to know."""


def words_of(error: Exception) -> str:
    """An error in one line; of those that are not ours, the kind says as much as the text."""
    text = " ".join(str(error).split())
    if isinstance(error, KedgeError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def entries_of(
    event: str, record: RecordPartitions | RecordReplicas | RecordWords
) -> Iterator[LogEntry]:
    """One entry for all that moved, one for each that did not."""
    match record:
        case RecordWords(words):
            yield LogEntry(event, words)
        case RecordPartitions(target, moved, refused):
            if moved:
                details = {"state": target.value, "partitions": moved}
                yield LogEntry(event, f"{len(moved)} partitions → {target.value}", details=details)
            for tp, why in refused.items():
                yield LogEntry(event, f"{tp} ↛ {target.value}: {why}", "warning", {"tp": tp})
        case RecordReplicas(broker, target, moved, refused):
            if moved:
                details = {"state": target.value, "broker": broker, "partitions": moved}
                what = f"{len(moved)} replicas on broker {broker} → {target.value}"
                yield LogEntry(event, what, details=details)
            for tp, why in refused.items():
                what = f"{tp} on broker {broker} ↛ {target.value}: {why}"
                yield LogEntry(event, what, "warning", {"tp": tp, "broker": broker})
