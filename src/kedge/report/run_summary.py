"""The summary of a run that has ended: bytes, time, rate, throttles, and what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from kedge.apply import Outcome
from kedge.execution import Progress, RateChange
from kedge.report.amounts import bytes_text, duration_text
from kedge.report.elapsed import rounded_if_finite
from kedge.report.runs import outcome_row


class Throttled(NamedTuple):
    """A throttle that a run had, from so many seconds after its beginning; None: unlimited."""

    after_s: float
    rate: int | None
    why: str = ""


class Took(NamedTuple):
    """The seconds that a run took, those that passed in a lab meanwhile, and those in which the run
    was paused, as outside of its windows (in the time of the cluster)."""

    seconds: float
    lab_seconds: float | None = None
    paused_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What one process has done of a run: from its first observation to its last.

    In a lab, rates and predictions are in its own time.
    """

    bytes_copied: int
    took: Took
    throttles: tuple[Throttled, ...] = ()
    predicted_seconds: float | None = None

    @property
    def cluster_seconds(self) -> float:
        """The time that passed in the cluster."""
        return self.took.seconds if self.took.lab_seconds is None else self.took.lab_seconds

    @property
    def bytes_per_second(self) -> float:
        """The average rate of all brokers together."""
        return self.bytes_copied / self.cluster_seconds if self.cluster_seconds else 0.0

    @property
    def over_prediction(self) -> float | None:
        """The time taken, without pauses, over the time predicted; None without a prediction that
        ends."""
        predicted = self.predicted_seconds
        at_work = max(0.0, self.cluster_seconds - self.took.paused_seconds)
        return at_work / predicted if predicted and isfinite(predicted) else None


def summary_of(
    first: Progress | None,
    last: Progress | None,
    took: Took,
    throttles: tuple[Throttled, ...],
    predicted_seconds: float | None = None,
) -> RunSummary:
    """The summary of what was done between two observations."""
    copied = 0 if first is None or last is None else last.bytes_done - first.bytes_done
    return RunSummary(max(0, copied), took, throttles, predicted_seconds)


def throttles_since(
    began_at: float, rate: int | None, changes: Sequence[RateChange]
) -> tuple[Throttled, ...]:
    """The throttle that a process began with, and its changes since (seconds since 1970)."""
    later = [each for each in changes if each.at >= began_at]
    return (
        Throttled(0.0, rate),
        *(Throttled(each.at - began_at, each.rate, each.why) for each in later),
    )


def summary_lines(summary: RunSummary) -> list[str]:
    """The summary for people."""
    if not summary.bytes_copied:
        return [f"nothing copied, {duration_text(summary.took.seconds)}"]
    rate = f"{bytes_text(summary.bytes_per_second)}/s on average"
    copied, took = bytes_text(summary.bytes_copied), duration_text(summary.took.seconds)
    if summary.took.lab_seconds is not None:
        took += f" ({duration_text(summary.took.lab_seconds)} of lab time)"
    lines = [f"{copied} copied in {took}, {rate}; {_throttle_text(summary.throttles)}"]
    if (share := summary.over_prediction) is not None:
        told = duration_text(summary.predicted_seconds or 0.0)
        paused = summary.took.paused_seconds
        besides = f", without {duration_text(paused)} in which it was paused" if paused >= 1 else ""
        lines.append(f"{told} were predicted: the run took {share:.2f} times that{besides}")
    return lines


def _throttle_text(throttles: Sequence[Throttled]) -> str:
    """The first and the last throttle; the changes between have lines of their own."""
    if not throttles or throttles[0].rate is None:
        return "no throttle"
    first, changes, last = throttles[0], len(throttles) - 1, throttles[-1].rate
    began = f"throttle {bytes_text(first.rate or 0)}/s"
    if not changes:
        return began
    times = "once" if changes == 1 else f"{changes} times"
    return f"{began}, changed {times}, to {bytes_text(last or 0)}/s at the end"


def summary_row(summary: RunSummary) -> dict[str, Any]:
    """The summary for programs."""
    return {
        "bytes_copied": summary.bytes_copied,
        "seconds": round(summary.took.seconds, 1),
        "lab_seconds": rounded_if_finite(summary.took.lab_seconds),
        "paused_seconds": round(summary.took.paused_seconds, 1),
        "bytes_per_second": round(summary.bytes_per_second, 1),
        "throttles": [each._asdict() for each in summary.throttles],
        "predicted_seconds": rounded_if_finite(summary.predicted_seconds),
    }


def ended_row(run: str, outcome: Outcome, summary: RunSummary) -> dict[str, Any]:
    """How a run ended, with its summary."""
    return {**outcome_row(outcome, run), "summary": summary_row(summary)}
