"""Which days a run must read for its models: those after the history of closed days.

The last two days are open: rows may still arrive for them. The days before are closed; a table has
their history. It is valid as long as none of them has changed and none was removed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from kedge.model.arrow import Table, arrow
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.tables.staged_run import StagedRun

PARTITION_HISTORY: Final = "gold/partition_history"
BROKER_HISTORY: Final = "gold/broker_history"
OPEN_DAYS: Final = 2
CLOSED, CLOSED_COUNT = "closed", "closed_days"  # columns: the last closed day, and how many


@dataclass(frozen=True, slots=True)
class DaysToRead:
    """Days to add to the history, in order, and open days; without `valid` there is no history."""

    valid: bool
    to_close: tuple[str, ...]
    open: tuple[str, ...]
    every: tuple[str, ...]

    @property
    def closed(self) -> tuple[str, ...]:
        """All days of the history after this run."""
        return self.every[: len(self.every) - len(self.open)]

    def anew(self) -> DaysToRead:
        """The days to read for a new history."""
        return replace(self, valid=False, to_close=self.closed)

    def marked(self, history: Table) -> Table:
        """The history with the days that are in it."""
        pa, size = arrow(), len(history)
        last = pa.repeat(pa.scalar(self.closed[-1]), size)
        count = pa.repeat(pa.scalar(len(self.closed), pa.int64()), size)
        return history.append_column(CLOSED, last).append_column(CLOSED_COUNT, count)


def plan_days(
    staged: StagedRun, history: str, manifest: Manifest, changed: Collection[str]
) -> DaysToRead:
    """The days that must be read after the changes of this run."""
    every = tuple(sorted(day for day, counts in manifest.days.items() if counts.rows))
    until = _closed_until(staged, history)
    before = [day for day in every if until is not None and day <= until[0]]
    stale = any(until is not None and day <= until[0] for day in changed)
    closed = every[: max(len(every) - OPEN_DAYS, 0)]
    valid = until is not None and not stale and len(before) == until[1] <= len(closed)
    to_close = tuple(day for day in closed if not valid or day not in before)
    return DaysToRead(valid, to_close, every[len(closed) :], every)


def _closed_until(staged: StagedRun, history: str) -> tuple[str, int] | None:
    if not staged.has(history):
        return None
    rows = staged.read(history, [CLOSED, CLOSED_COUNT]).slice(0, 1).to_pylist()
    return (rows[0][CLOSED], rows[0][CLOSED_COUNT]) if rows else None
