"""`kedge status --watch`: a run that another process carries out, shown until it is at rest."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output, note
from kedge.errors import Unavailable

if TYPE_CHECKING:
    from kedge.apply.run_port import OwnerSeen
    from kedge.apply.run_status import RunStatus

SILENT_S = 60.0  # an owner renews its lease every few seconds


@dataclass(frozen=True, slots=True)
class WatchClock:
    """How a watch measures time and waits."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def watch_run(
    read: Callable[[], RunStatus],
    interval_s: float,
    output: Output,
    clock: WatchClock | None = None,
) -> None:
    """Show a run again and again: on a terminal in place, as JSON one line for each reading.

    What is on stdout in the end is the status of the run at rest, or of one that its process has
    left. While the cluster does not answer, the read is repeated.
    """
    from kedge.cli.live_progress import run_progress
    from kedge.execution import Pace
    from kedge.execution.flows import FlowMeter
    from kedge.report.runs import elapsed_of, status_lines, status_row

    clock = clock or WatchClock()
    meter, pace, owners = FlowMeter(), Pace(), _Owners(clock.now())
    with run_progress() as show:
        while True:
            status, now = _answered(read, interval_s, clock), clock.now()
            row = status_row(status, time.time())
            if output is Output.JSON:
                echo_json(row)
                sys.stdout.flush()
            if status.at_rest or owners.silent(status, now):
                break
            of_cluster = status.speed * now
            progress = status.work.progress(status.limits, pace, of_cluster)
            show(progress, meter.at(of_cluster, status.work), elapsed_of(status, time.time()))
            clock.sleep(interval_s)
    if not status.at_rest:
        note(_left_text(status))
    if output is not Output.JSON:
        echo_lines(status_lines(row))


def _answered(read: Callable[[], RunStatus], interval_s: float, clock: WatchClock) -> RunStatus:
    """The next reading; a note says once that the cluster does not answer."""
    noted = False
    while True:
        try:
            return read()
        except Unavailable as fault:
            if not noted:
                note(f"no response from the cluster ({fault.what}); retrying")
            noted = True
            clock.sleep(interval_s)


def _left_text(status: RunStatus) -> str:
    """That the process of a run is gone, and how to go on."""
    if status.owner is None:
        what = f"no process has been at work on run {status.name} for {SILENT_S:g} s"
    else:
        silent = f"{status.owner.name} has not renewed its lease for {SILENT_S:g} s"
        what = f"{silent}: no process is at work on run {status.name}"
    return f"{what}; continue it with kedge resume, or end it with kedge cancel"


@dataclass(slots=True)
class _Owners:
    """Since when no process has shown that it acts on the runs, by our clock."""

    since: float
    last: OwnerSeen | None = None

    def silent(self, status: RunStatus, now: float) -> bool:
        """False too where the store of runs does not know whether a process acts on them."""
        renewed = status.owner != self.last
        # A lease that is not renewed tells by itself, whatever the clocks of the machines are.
        unseen = status.owner is not None or status.has_process is False
        if renewed or not unseen:
            self.last, self.since = status.owner, now
        return unseen and now - self.since >= SILENT_S
