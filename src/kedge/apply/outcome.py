"""How a run waits and reports, and how it ended."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kedge.apply.run_port import Run
from kedge.apply.throttles import Waiting
from kedge.errors import KedgeError
from kedge.execution import (
    Lease,
    MoveStatus,
    Progress,
    RateChange,
    RunState,
    Statuses,
    Work,
)
from kedge.execution.adaptive_throttle import Signals
from kedge.execution.rate_rise import WINDOW_S
from kedge.model import TopicPartition


def _nothing(*_: object) -> None:
    return None


class LeftAtOnce(BaseException):
    """The work is left as it is, as by kill -9: another process goes on from its journal.

    A `sleep` raises it. Not an `Exception`: nothing between the executor's wait and the code that
    leaves may handle it.
    """


@dataclass(frozen=True, slots=True)
class Pacing:
    """How a run waits and reports."""

    interval_s: float = 1.0
    patience_s: float = 300.0
    rise_s: float = WINDOW_S  # over which a higher throttle is set in steps; 0: at once
    throttled_until: float = -math.inf  # by `clock`: when the run before had its last throttle
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    speed: float = 1.0  # of the cluster's time beside `clock`: rates are per second of the cluster
    now: Callable[[], float] = time.time
    stopping: Callable[[], bool] = lambda: False
    on_run: Callable[[Run], None] = _nothing  # once it has begun or is found, before it acts
    on_state: Callable[[RunState], None] = _nothing  # at each observation, the state it was in
    on_work: Callable[[Work], None] = _nothing  # at each observation, before `on_progress`
    on_progress: Callable[[Progress], None] = _nothing
    on_note: Callable[[str], None] = _nothing
    more_signals: Callable[[Signals], Signals] = lambda signals: signals  # of how the cluster copes

    @property
    def waiting(self) -> Waiting:
        """How to wait for brokers."""
        return Waiting(self.sleep, self.clock)


@dataclass(slots=True)
class Notes:
    """What a run tells its operator."""

    tell: Callable[[str], None]
    _noted: set[str] = field(default_factory=set[str])

    def once(self, text: str) -> None:
        """Tell something that was not told before."""
        if text not in self._noted:
            self._noted.add(text)
            self.tell(text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    `left` are the partitions that still have to be moved, `skipped` those that others have moved,
    `refused` those that were set aside with the reason, `gone` those whose topic was deleted,
    `unreleased` the throttles that no broker has confirmed to be gone, `rate_changes` what became
    of the throttle on the way.
    """

    moved: int
    left: Statuses
    skipped: Statuses = field(default_factory=dict[TopicPartition, MoveStatus])
    refused: Mapping[TopicPartition, KedgeError] = field(
        default_factory=dict[TopicPartition, KedgeError]
    )
    gone: tuple[TopicPartition, ...] = ()
    stopped: bool = False
    unreleased: Lease = field(default_factory=Lease)
    rate_changes: tuple[RateChange, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every partition that exists is where the plan puts it."""
        return not self.left and not self.skipped and not self.refused
