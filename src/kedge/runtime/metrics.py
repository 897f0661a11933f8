"""Counts events by type, with their queue and processing times."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Timing:
    """Times of one type of event, in milliseconds."""

    count: int = 0
    failures: int = 0
    waited_ms: float = 0.0
    waited_ms_max: float = 0.0
    took_ms: float = 0.0
    took_ms_max: float = 0.0

    def note(self, waited_ms: float, took_ms: float, *, failed: bool) -> None:
        """Add one event."""
        self.count += 1
        self.failures += failed
        self.waited_ms += waited_ms
        self.waited_ms_max = max(self.waited_ms_max, waited_ms)
        self.took_ms += took_ms
        self.took_ms_max = max(self.took_ms_max, took_ms)


@dataclass(slots=True)
class Metrics:
    """The loop's counters, by the event's name."""

    events: dict[str, Timing] = field(default_factory=dict[str, Timing])
    preempted: int = 0

    def note(self, name: str, waited_ms: float, took_ms: float, *, failed: bool) -> None:
        """Add one event of a type."""
        self.events.setdefault(name, Timing()).note(waited_ms, took_ms, failed=failed)
