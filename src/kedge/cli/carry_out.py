"""Carries a proposal out with progress on the terminal; an interrupt stops the run cleanly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output, note

if TYPE_CHECKING:
    from kedge.apply import Outcome, Proposal, RunFiles, Runs
    from kedge.cluster.port import Cluster


def carried_out(
    cluster: Cluster,
    runs: Runs,
    proposal: Proposal,
    *,
    interval_s: float,
    on_run: Callable[[RunFiles], None] = lambda _run: None,
) -> tuple[RunFiles, Outcome]:
    """Run to the end; returns the run and how it ended."""
    from kedge.apply import Pacing, carry_out
    from kedge.cli.interrupts import stop_requests
    from kedge.cli.live_progress import run_progress

    with stop_requests() as stopping, run_progress() as show:
        pacing = Pacing(
            interval_s=interval_s,
            stopping=stopping,
            on_run=on_run,
            on_progress=show,
            on_note=note,
        )
        return carry_out(cluster, runs, proposal, pacing)


def end_run(cluster: Cluster, run: RunFiles, output: Output) -> int:
    """End a run that has moved nothing: its throttles are removed."""
    from kedge.apply import Cancelled, Waiting, close
    from kedge.report.runs import cancelled_lines, cancelled_row

    done = Cancelled(unreleased=close(cluster, run, Waiting()))
    if output is Output.JSON:
        echo_json({**cancelled_row(done, run.name), "complete": True})
    else:
        echo_lines(cancelled_lines(done, run.name))
    return 0
