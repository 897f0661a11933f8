"""Carries a proposal out with progress on the terminal; an interrupt stops the run cleanly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.events import event_stream
from kedge.cli.options import Output, note

if TYPE_CHECKING:
    from kedge.apply import Proposal, Run, RunStore
    from kedge.cluster.port import Cluster
    from kedge.execution.adaptive_throttle import Signals
    from kedge.report.watched_run import Ran

MoreSignals = Callable[["Signals"], "Signals"]


@dataclass(frozen=True, slots=True)
class Watching:
    """How a run is observed and shown: seconds between two reads, where events go, the form of the
    output, and what a throttle that adapts heeds besides the cluster."""

    interval_s: float
    events: str = ""
    output: Output = Output.TABLE
    predicted_s: float | None = None
    more_signals: MoreSignals | None = None


def carried_out(
    cluster: Cluster,
    runs: RunStore,
    proposal: Proposal,
    watching: Watching,
    *,
    on_run: Callable[[Run], None] = lambda _run: None,
) -> Ran:
    """Run to the end, with progress on stderr and events where they are wanted."""
    from kedge.apply import Pacing
    from kedge.cli.interrupts import stop_requests
    from kedge.cli.live_progress import run_progress
    from kedge.report.watched_run import RunListener, carry_out_watched

    with (
        event_stream(watching.events, watching.output) as send,
        stop_requests() as stopping,
        run_progress() as show,
    ):
        pacing = Pacing(interval_s=watching.interval_s, stopping=stopping)
        if watching.more_signals is not None:
            pacing = replace(pacing, more_signals=watching.more_signals)
        listener = RunListener(send, show, note, on_run)
        seconds = watching.predicted_s
        return carry_out_watched(cluster, runs, proposal, pacing, listener, predicted_s=seconds)


def show_outcome(ran: Ran, output: Output) -> None:
    """How a run ended, on stdout."""
    from kedge.report.run_summary import ended_row, summary_lines
    from kedge.report.runs import outcome_lines

    if output is Output.JSON:
        echo_json(ended_row(ran.run.name, ran.outcome, ran.summary))
    else:
        echo_lines([*outcome_lines(ran.outcome, ran.run.name), *summary_lines(ran.summary)])


def end_run(cluster: Cluster, run: Run, output: Output) -> int:
    """End a run that has moved nothing: its throttles are removed."""
    from kedge.apply import Waiting, close
    from kedge.report.runs import cancelled_lines, cancelled_row

    done = close(cluster, run, Waiting())
    if output is Output.JSON:
        echo_json({**cancelled_row(done, run.name), "complete": True})
    else:
        echo_lines(cancelled_lines(done, run.name))
    return 0
