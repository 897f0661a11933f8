"""Measures runs that any process carries out: rates and flows from one read to the next.

The process at work on a run may be the loop, another server or a command line. What it has copied
is seen on the cluster, so that the figures of its page need nothing from that process.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from kedge.apply.run_status import RunStatus
from kedge.execution.flows import FlowMeter
from kedge.execution.progress import Pace
from kedge.report.elapsed import Elapsed
from kedge.report.run_events import progress_event
from kedge.report.runs import elapsed_of

KEPT = 20  # runs whose rates are remembered
STALE_S = 60.0  # a rate over a longer time says nothing of the present


class RunMeter:
    """The rates and flows of one run."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pace, self._flows = Pace(), FlowMeter()
        self._read_at = 0.0

    def row(self, status: RunStatus, at: float) -> dict[str, Any]:
        """The progress that a process at work would report, by what was read of the run at a time.

        `at` are seconds since 1970.
        """
        now = self._clock()
        if now - self._read_at > STALE_S:
            self._pace, self._flows = Pace(), FlowMeter()
        self._read_at = now
        of_cluster = status.speed * now
        progress = status.work.progress(status.limits, self._pace, of_cluster)
        flows = self._flows.at(of_cluster, status.work)
        return progress_event(progress, flows, _elapsed(status, at))


def _elapsed(status: RunStatus, at: float) -> Elapsed:
    """The time since the prediction of the run, or since its beginning where there is none."""
    since_begun = Elapsed(status.speed * max(0.0, at - status.record.begun_at))
    return elapsed_of(status, at) or since_begun


class RunMeters:
    """The meters of the runs that were read last."""

    def __init__(self) -> None:
        self._meters: OrderedDict[str, RunMeter] = OrderedDict()

    def of(self, run: str) -> RunMeter:
        """The meter of a run."""
        meter = self._meters.setdefault(run, RunMeter())
        self._meters.move_to_end(run)
        if len(self._meters) > KEPT:
            self._meters.popitem(last=False)
        return meter
