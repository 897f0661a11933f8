"""Builds entries of the state-change log for a sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kedge.controller.effects import RecordMessage, RecordPartitions, RecordReplicas
from kedge.errors import KedgeError
from kedge.model import TopicPartition


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One log entry: what happened, in which event, with which details."""

    event: str
    what: str
    severity: str = "info"  # or "warning", "error"
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


Sink = Callable[[LogEntry], None]


def discard(_entry: LogEntry) -> None:
    """A sink that drops all entries."""


def error_message(error: Exception) -> str:
    """Return an error in one line; errors of other libraries with their type."""
    text = " ".join(str(error).split())
    if isinstance(error, KedgeError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def entries_of(
    event: str, record: RecordPartitions | RecordReplicas | RecordMessage
) -> Iterator[LogEntry]:
    """Yield one entry for all transitions that succeeded, one for all that failed."""
    match record:
        case RecordMessage(message):
            yield LogEntry(event, message)
        case RecordPartitions(target, moved, refused):
            if moved:
                details = {"state": target.value, "partitions": moved}
                yield LogEntry(event, f"{len(moved)} partitions → {target.value}", details=details)
            if refused:
                what = _refused(refused, "partitions", "", target.value)
                yield LogEntry(event, what, "warning", {"refused": _reasons(refused)})
        case RecordReplicas(broker, target, moved, refused):
            if moved:
                details = {"state": target.value, "broker": broker, "partitions": moved}
                what = f"{len(moved)} replicas on broker {broker} → {target.value}"
                yield LogEntry(event, what, details=details)
            if refused:
                what = _refused(refused, "replicas", f" on broker {broker}", target.value)
                details = {"broker": broker, "refused": _reasons(refused)}
                yield LogEntry(event, what, "warning", details)


def _refused(refused: Mapping[TopicPartition, str], noun: str, where: str, state: str) -> str:
    """Return the first rejected one with its reason, and how many others there are."""
    tp, why = next(iter(refused.items()))
    if len(refused) == 1:
        return f"{tp}{where} ↛ {state}: {why}"
    return f"{len(refused)} {noun}{where} ↛ {state}: {tp}: {why}; and {len(refused) - 1} more"


def _reasons(refused: Mapping[TopicPartition, str]) -> list[str]:
    return [f"{tp}: {why}" for tp, why in refused.items()]
