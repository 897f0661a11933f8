"""Carries a proposal out and passes on what it reports: events, live figures, a summary."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING

from kedge.apply import carry_out
from kedge.apply.cluster_time import keeps_time, speed_of
from kedge.apply.rate_file import learning_rates
from kedge.errors import KedgeError
from kedge.execution import RunState
from kedge.execution.flows import NO_FLOWS, FlowMeter, Flows
from kedge.report.elapsed import Elapsed
from kedge.report.run_events import (
    Row,
    failed_event,
    finished_event,
    note_event,
    progress_event,
    started_event,
)
from kedge.report.run_summary import RunSummary, Took, summary_of, throttles_since

if TYPE_CHECKING:
    from kedge.apply import Outcome, Pacing, Proposal, Run, RunStore
    from kedge.cluster.log_port import ClusterClock
    from kedge.cluster.port import Cluster
    from kedge.execution import Progress, Work


def _nothing(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class RunListener:
    """Where the reports of a run go."""

    send: Callable[[Row], None] = _nothing
    show: Callable[[Progress, Flows, Elapsed], None] = _nothing
    note: Callable[[str], None] = _nothing
    on_run: Callable[[Run], None] = _nothing


@dataclass(frozen=True, slots=True)
class Ran:
    """A run to its end, or as far as it came."""

    run: Run
    outcome: Outcome
    summary: RunSummary


def carry_out_watched(
    cluster: Cluster,
    runs: RunStore,
    proposal: Proposal,
    pacing: Pacing,
    listener: RunListener,
    *,
    predicted_s: float | None = None,
) -> Ran:
    """Run to the end. `pacing` decides how the run waits and when it stops."""
    began, began_at, lab_began = pacing.clock(), time.time(), runs.clock()
    expected_s = predicted_s if keeps_time(lab_began) and isfinite(predicted_s or 0.0) else None
    proposal = replace(proposal, predicted_s=expected_s)
    speed = speed_of(lab_began)
    observer = _Observer(proposal, listener, lambda: speed * (pacing.clock() - began))
    pacing = observer.listening(replace(pacing, speed=speed))
    try:
        with learning_rates(runs, pacing) as measured:
            run, outcome = carry_out(cluster, runs, proposal, measured)
    except KedgeError as error:
        listener.send(failed_event(observer.name, str(error)))
        raise
    took = Took(pacing.clock() - began, _lab_seconds(lab_began, runs.clock()), observer.paused_s)
    rate = None if proposal.judged is None else proposal.judged.options.limits.rate
    throttles = throttles_since(began_at, rate, run.record().rate_changes)
    summary = summary_of(observer.first, observer.last, took, throttles, expected_s)
    listener.send(finished_event(run.name, outcome, summary))
    return Ran(run, outcome, summary)


def _lab_seconds(before: ClusterClock | None, after: ClusterClock | None) -> float | None:
    """The time that has passed in a lab; None where the cluster has our time."""
    return None if before is None or after is None else after.seconds - before.seconds


@dataclass
class _Observer:
    """Turns the calls of an executor into events and figures."""

    proposal: Proposal
    listener: RunListener
    elapsed_s: Callable[[], float]  # in the time of the cluster
    meter: FlowMeter = field(default_factory=FlowMeter)
    state: RunState = RunState.PLANNED
    in_state_since_s: float = 0.0
    paused_s: float = 0.0
    name: str | None = None
    first: Progress | None = None
    last: Progress | None = None
    flows: Flows | None = None

    def listening(self, pacing: Pacing) -> Pacing:
        """The same pacing, whose reports come here."""
        return replace(
            pacing,
            on_run=self._begin,
            on_state=self._entered,
            on_work=self._observed,
            on_progress=self._progress,
            on_note=self._note,
        )

    def _begin(self, run: Run) -> None:
        self.name = run.name
        self.listener.on_run(run)
        assert self.proposal.judged is not None, "this action carries something out"
        expected_s = self.proposal.predicted_s
        self.listener.send(started_event(run, self.proposal.judged, expected_s))

    def _entered(self, state: RunState) -> None:
        now_s = self.elapsed_s()
        if self.state is RunState.PAUSED:
            self.paused_s += now_s - self.in_state_since_s
        self.state, self.in_state_since_s = state, now_s

    def _observed(self, work: Work) -> None:
        self.flows = self.meter.at(self.elapsed_s(), work)

    def _progress(self, progress: Progress) -> None:
        self.first, self.last = self.first or progress, progress
        flows = self.flows or NO_FLOWS
        at_work_s = max(0.0, self.elapsed_s() - self.paused_s)
        elapsed = Elapsed(at_work_s, self.proposal.predicted_s)
        self.listener.show(progress, flows, elapsed)
        self.listener.send(progress_event(progress, flows, elapsed))

    def _note(self, text: str) -> None:
        self.listener.note(text)
        self.listener.send(note_event(text))
