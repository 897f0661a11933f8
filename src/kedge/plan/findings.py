"""The finding of a check: severity, place and text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether a plan may still be executed."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a check; `kind` groups similar ones, `place` is in the plan file."""

    kind: str
    place: str
    what: str
    severity: Severity = Severity.ERROR

    @property
    def fatal(self) -> bool:
        """Whether the plan must not be executed."""
        return self.severity is Severity.ERROR

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


def warning(kind: str, place: str, what: str) -> Finding:
    """A finding with which the plan may be executed."""
    return Finding(kind, place, what, Severity.WARNING)
