"""Extends what partitions gained to the time that the samples of their topic span.

Brokers are sampled at different moments. At both ends of the samples, partitions of brokers that
were sampled a little later or earlier would seem to have gained less than others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.metrics.attribution.grid import Steps
from kedge.metrics.attribution.samples import Flags, Ints, Points

_NEAR: Final = 1.5  # times the usual time between samples: what begins later was not there before
_RATE_MS: Final = 60_000  # the rate at an end is that of so much time, at least


@dataclass(frozen=True, slots=True)
class Edges:
    """The first and the last sample of a topic, and how far from it a partition's may be."""

    first: int
    last: int
    near_ms: float
    rate_ms: int

    @staticmethod
    def of(points: Points) -> Edges:
        """The ends of the samples of one series."""
        if not len(points):
            return Edges(0, 0, 0.0, 1)
        usual = points.spacing()
        span = (int(points.ts.min()), int(points.ts.max()))
        return Edges(*span, _NEAR * usual, max(2 * usual, _RATE_MS))

    def extended(self, steps: Steps, ts: Ints) -> Steps:
        """The steps of one partition, sampled at `ts`, and what it gained before and after."""
        low, high = int(ts.min()), int(ts.max())
        before = self._gained(steps, self.first, low, steps.start < low + self.rate_ms)
        after = self._gained(steps, high, self.last, steps.end > high - self.rate_ms)
        return Steps.of([steps, *before, *after])

    def _gained(self, steps: Steps, start: int, end: int, near: Flags) -> list[Steps]:
        """What was gained between two moments, at the rate of the steps nearby."""
        if not 0 < end - start <= self.near_ms or not near.any():
            return []
        # idle time at the end counts as well: steps of nothing are left out
        time = max(int(steps.end[near].max() - steps.start[near].min()), self.rate_ms)
        amount = float(steps.amount[near].sum()) / time * (end - start)
        return [Steps(*(np.array([each]) for each in (steps.row[0], start, end, amount)))]
