"""What a check has to say: how bad, where, and what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether a plan may still be carried out."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check noticed; `kind` groups equal ones, `place` is in the plan file."""

    kind: str
    place: str
    what: str
    severity: Severity = Severity.ERROR

    @property
    def fatal(self) -> bool:
        """Whether the plan must not be carried out."""
        return self.severity is Severity.ERROR

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


def warning(kind: str, place: str, what: str) -> Finding:
    """A finding that does not stop anybody."""
    return Finding(kind, place, what, Severity.WARNING)
