"""The time that a run has taken so far, beside the time that was predicted for it."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

from kedge.report.amounts import duration_text


class Elapsed(NamedTuple):
    """Seconds since a prediction was made, and the seconds that it names; None: there is none.

    Both are in the time of the cluster, which passes faster than ours in some labs.
    """

    seconds: float
    predicted: float | None = None


def elapsed_text(elapsed: Elapsed | None) -> str:
    """How much of the predicted time has passed; nothing without a prediction."""
    if elapsed is None or elapsed.predicted is None:
        return ""
    return f"{duration_text(elapsed.seconds)} of {duration_text(elapsed.predicted)} predicted"


def elapsed_fields(elapsed: Elapsed) -> dict[str, Any]:
    """The same for programs."""
    return {
        "elapsed_seconds": round(elapsed.seconds, 1),
        "predicted_seconds": rounded_if_finite(elapsed.predicted),
    }


def rounded_if_finite(seconds: float | None) -> float | None:
    """Seconds for programs; None where something never ends."""
    return round(seconds, 1) if seconds is not None and isfinite(seconds) else None
