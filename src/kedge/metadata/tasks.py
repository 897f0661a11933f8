"""The periodic tasks of the active controller, as due dates.

A task that has more to do comes back after ten milliseconds, so that requests get their turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kedge.metadata.activation import WriteNoOp
from kedge.metadata.elections import ElectPreferred, ElectUnclean
from kedge.metadata.heartbeats import FenceStaleBroker

Task: TypeAlias = WriteNoOp | FenceStaleBroker | ElectPreferred | ElectUnclean

AGAIN_AFTER_MS = 10


@dataclass(frozen=True, slots=True)
class Periods:
    """How often each task runs, in milliseconds; None is never."""

    no_op_ms: float | None = 500
    session_ms: float = 9_000
    preferred_ms: float | None = 300_000
    unclean_ms: float | None = 300_000

    def by_task(self) -> Mapping[Task, float]:
        """The tasks that run, with their periods."""
        periods: dict[Task, float | None] = {
            WriteNoOp(): self.no_op_ms,
            FenceStaleBroker(): max(1, self.session_ms / 8),
            ElectPreferred(): self.preferred_ms,
            ElectUnclean(): self.unclean_ms,
        }
        return {task: period for task, period in periods.items() if period is not None}


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each task is due next."""

    periods: Mapping[Task, float]
    due_ms: Mapping[Task, float]

    @staticmethod
    def begun(periods: Periods, now_ms: float) -> Schedule:
        """The schedule of a controller that has just become active."""
        by_task = periods.by_task()
        return Schedule(by_task, {task: now_ms + period for task, period in by_task.items()})

    def next_due(self, now_ms: float) -> Task | None:
        """The task that has been due for longest."""
        late = [(at, type(task).__name__, task) for task, at in self.due_ms.items() if at <= now_ms]
        return min(late)[2] if late else None

    def ran(self, task: Task, now_ms: float, *, more: bool) -> Schedule:
        """A task has run; it comes back soon if it has more to do."""
        following = now_ms + (AGAIN_AFTER_MS if more else self.periods[task])
        return Schedule(self.periods, {**self.due_ms, task: following})
