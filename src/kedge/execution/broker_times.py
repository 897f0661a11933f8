"""Times that a metrics system reports of brokers, and when they are out of bounds.

A time is out of bounds when it is several times what it was before the run, and long at all:

    produce requests, 99th percentile    before 20 ms, now 300 ms    out of bounds
                                         before 2 ms, now 30 ms      in bounds: short
                                         before 400 ms, now 450 ms   in bounds: not by the run

Brokers keep percentiles of the last minutes, so a time falls some minutes after its cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

MANY_TIMES = 3.0


class TimeKind(StrEnum):
    """What a broker spends time on, as a phrase."""

    PRODUCE = "produce requests take"
    QUEUE = "produce requests wait in the queue for"
    FLUSH = "flushes to disk take"

    @property
    def short_s(self) -> float:
        """A time of this kind that is short, whatever it was before."""
        return _SHORT_S[self]


_SHORT_S = {TimeKind.PRODUCE: 0.25, TimeKind.QUEUE: 0.1, TimeKind.FLUSH: 0.5}


class Place(NamedTuple):
    """What is measured where: the broker as the metrics system names it."""

    kind: TimeKind
    where: str


Times = Mapping[Place, float]  # seconds


def out_of_bounds(now: Times, before: Times) -> str:
    """The time that is farthest out of its bounds, as a phrase; empty where all are in bounds."""
    worst, most = "", 1.0
    for place, seconds in sorted(now.items()):
        bound = max(place.kind.short_s, MANY_TIMES * before.get(place, 0.0))
        if seconds / bound > most:
            most = seconds / bound
            worst = f"{place.kind} {_time_text(seconds)} on {place.where}"
            if before.get(place):
                worst += f", {_time_text(before[place])} before the run"
    return worst


def _time_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
