"""`kedge status --watch`: a run that another process carries out, shown until it is at rest."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output

if TYPE_CHECKING:
    from kedge.apply.run_status import RunStatus


def watch_run(read: Callable[[], RunStatus], interval_s: float, output: Output) -> None:
    """Show a run again and again: on a terminal in place, as JSON one line for each reading.

    What is on stdout in the end is the status of the run at rest.
    """
    from kedge.cli.live_progress import run_progress
    from kedge.execution import Pace
    from kedge.execution.flows import FlowMeter
    from kedge.report.runs import status_lines, status_row

    meter, pace = FlowMeter(), Pace()
    with run_progress() as show:
        while True:
            status, now = read(), time.monotonic()
            row = status_row(status, time.time())
            if output is Output.JSON:
                echo_json(row)
                sys.stdout.flush()
            if status.at_rest:
                break
            progress = status.work.progress(status.limits, pace, now)
            show(progress, meter.at(now, status.work))
            time.sleep(interval_s)
    if output is not Output.JSON:
        echo_lines(status_lines(row))
