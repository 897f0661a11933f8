"""Carries a proposal out with progress on the terminal; an interrupt stops the run cleanly."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.events import Send, event_stream
from kedge.cli.options import Output, note
from kedge.errors import KedgeError

if TYPE_CHECKING:
    from kedge.apply import Outcome, Pacing, Proposal, Run, RunStore
    from kedge.cli.live_progress import ShowRun
    from kedge.cluster.port import Cluster
    from kedge.execution import Progress, Work
    from kedge.execution.flows import FlowMeter, Flows
    from kedge.report.run_summary import RunSummary


@dataclass(frozen=True, slots=True)
class Watching:
    """How a run is shown: seconds between two reads, where events go, the form of the output."""

    interval_s: float
    events: str = ""
    output: Output = Output.TABLE
    predicted_s: float | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """A run to its end, or as far as it came."""

    run: Run
    outcome: Outcome
    summary: RunSummary


def carried_out(
    cluster: Cluster,
    runs: RunStore,
    proposal: Proposal,
    watching: Watching,
    *,
    on_run: Callable[[Run], None] = lambda _run: None,
) -> Ran:
    """Run to the end, with progress on stderr and events where they are wanted."""
    from kedge.apply import carry_out
    from kedge.apply.rate_file import learning_rates
    from kedge.cli.interrupts import stop_requests
    from kedge.cli.live_progress import run_progress
    from kedge.execution.flows import FlowMeter
    from kedge.report.run_events import failed_event, finished_event
    from kedge.report.run_summary import summary_of, throttles_since

    with (
        event_stream(watching.events, watching.output) as send,
        stop_requests() as stopping,
        run_progress() as show,
    ):
        observer = _Observer(proposal, send, show, on_run, FlowMeter())
        pacing = observer.pacing(watching.interval_s, stopping)
        began, began_at = pacing.clock(), time.time()
        try:
            with learning_rates(runs, pacing) as measured:
                run, outcome = carry_out(cluster, runs, proposal, measured)
        except KedgeError as error:
            send(failed_event(observer.name, str(error)))
            raise
        took = pacing.clock() - began
        first, last = observer.first, observer.last
        rate = None if proposal.judged is None else proposal.judged.options.limits.rate
        throttles = throttles_since(began_at, rate, run.record().rate_changes)
        summary = summary_of(first, last, took, throttles, watching.predicted_s)
        send(finished_event(run.name, outcome, summary))
    return Ran(run, outcome, summary)


@dataclass
class _Observer:
    """Passes what a run reports on to the terminal and to the events."""

    proposal: Proposal
    send: Send
    show: ShowRun
    on_run: Callable[[Run], None]
    meter: FlowMeter
    name: str | None = None
    first: Progress | None = None
    last: Progress | None = None
    flows: Flows | None = None

    def pacing(self, interval_s: float, stopping: Callable[[], bool]) -> Pacing:
        """How the run waits and reports."""
        from kedge.apply import Pacing

        return Pacing(
            interval_s=interval_s,
            stopping=stopping,
            on_run=self._begin,
            on_work=self._observed,
            on_progress=self._progress,
            on_note=self._note,
        )

    def _begin(self, run: Run) -> None:
        from kedge.report.run_events import started_event

        self.name = run.name
        self.on_run(run)
        assert self.proposal.judged is not None, "this action carries something out"
        self.send(started_event(run, self.proposal.judged))

    def _observed(self, work: Work) -> None:
        self.flows = self.meter.at(time.monotonic(), work)

    def _progress(self, progress: Progress) -> None:
        from kedge.execution.flows import NO_FLOWS
        from kedge.report.run_events import progress_event

        self.first, self.last = self.first or progress, progress
        flows = self.flows or NO_FLOWS
        self.show(progress, flows)
        self.send(progress_event(progress, flows))

    def _note(self, text: str) -> None:
        from kedge.report.run_events import note_event

        note(text)
        self.send(note_event(text))


def show_outcome(ran: Ran, output: Output) -> None:
    """How a run ended, on stdout."""
    from kedge.report.run_summary import summary_lines
    from kedge.report.runs import outcome_lines, outcome_row

    if output is Output.JSON:
        echo_json(outcome_row(ran.outcome, ran.run.name))
    else:
        echo_lines([*outcome_lines(ran.outcome, ran.run.name), *summary_lines(ran.summary)])


def end_run(cluster: Cluster, run: Run, output: Output) -> int:
    """End a run that has moved nothing: its throttles are removed."""
    from kedge.apply import Cancelled, Waiting, close
    from kedge.report.runs import cancelled_lines, cancelled_row

    done = Cancelled(unreleased=close(cluster, run, Waiting()))
    if output is Output.JSON:
        echo_json({**cancelled_row(done, run.name), "complete": True})
    else:
        echo_lines(cancelled_lines(done, run.name))
    return 0
