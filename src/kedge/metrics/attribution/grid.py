"""The fixed grid of intervals of results, and spreading what was measured over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.metrics.attribution.samples import Floats, Ints

DEFAULT_GRID_MS: Final = 60_000
_SLIVER: Final = 10


@dataclass(frozen=True, slots=True)
class Steps:
    """Amounts, each of which came about evenly between two moments."""

    row: Ints  # which broker or partition, as a position
    start: Ints
    end: Ints
    amount: Floats

    @staticmethod
    def of(parts: list[Steps]) -> Steps:
        """All steps of several lists."""
        if not parts:
            none = np.empty(0, np.int64)
            return Steps(none, none, none, np.empty(0, np.float64))
        return Steps(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate([part.amount for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Grid:
    """Intervals of equal length, aligned to 1970; each has its end and not its start."""

    first_ms: int
    step_ms: int
    count: int

    @staticmethod
    def around(start_ms: int, end_ms: int, step_ms: int) -> Grid:
        """The intervals that a span of time touches.

        What reaches less than a tenth of an interval further counts with its neighbour: samples
        are a little late, and a row for a few seconds would say little.
        """
        if step_ms <= 0:
            raise ValueError(f"intervals of {step_ms} ms: a length above 0 is needed")
        sliver = step_ms // _SLIVER
        first = (start_ms + sliver) // step_ms
        last = max(-(-(end_ms - sliver) // step_ms), first + 1)
        return Grid(first * step_ms, step_ms, last - first)

    @property
    def edges(self) -> Ints:
        """Start of each interval, and the end of the last."""
        return self.first_ms + self.step_ms * np.arange(self.count + 1, dtype=np.int64)

    def at(self, ts: Ints) -> Ints:
        """The interval of each moment, as a position; outside of the grid the nearest one."""
        inside = -(-(ts - self.first_ms) // self.step_ms) - 1
        return np.clip(inside, 0, self.count - 1)

    def overlap(self, start: int, end: int) -> Floats:
        """How many ms of each interval lie between two moments; slivers count with neighbours."""
        edges = self.edges
        edges[0], edges[-1] = min(edges[0], start), max(edges[-1], end)
        covered = np.minimum(edges[1:], end) - np.maximum(edges[:-1], start)
        return np.maximum(covered, 0).astype(np.float64)

    def spread(self, steps: Steps, rows: int) -> Floats:
        """Sum of the steps by row and interval, each split in proportion to its overlap."""
        first = self.at(steps.start + 1)
        pieces = np.maximum(self.at(steps.end) - first, 0) + 1
        which = np.repeat(np.arange(len(pieces)), pieces)
        cell = first[which] + np.arange(len(which)) - (np.cumsum(pieces) - pieces)[which]
        low = self.first_ms + cell * self.step_ms
        start, end = steps.start[which], steps.end[which]
        inside = np.minimum(end, low + self.step_ms) - np.maximum(start, low)
        share = np.where(pieces[which] == 1, 1.0, np.maximum(inside, 0))
        # a step that reaches over the edge of the grid keeps its whole amount
        share /= np.bincount(which, weights=share, minlength=len(pieces))[which]
        target = steps.row[which] * self.count + cell
        shares = steps.amount[which] * share
        flat = np.bincount(target, weights=shares, minlength=rows * self.count)
        return flat.astype(np.float64, copy=False).reshape(rows, self.count)
