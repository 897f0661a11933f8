"""The commands about runs, as the command line carries them out, without a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from kedge.apply import (
    Pacing,
    Proposal,
    RunOptions,
    RunStore,
    cancel,
    carry_out,
    close,
    propose_apply,
    propose_cancel,
    propose_resume,
    propose_rollback,
    settle,
)
from kedge.apply.jobs import Job
from kedge.cluster.port import Cluster
from kedge.execution import Action, Limits
from kedge.plan import Plan

PREDICTED_S = 60.0


class Command(StrEnum):
    """What an operator can type after a process was killed."""

    RESUME = "resume"
    CANCEL = "cancel"
    ROLLBACK = "rollback"


class Desk:
    """A process with its cluster, its runs and how it waits."""

    def __init__(
        self, cluster: Cluster, runs: RunStore, pacing: Pacing, options: RunOptions
    ) -> None:
        self._cluster, self._runs = runs.guarded(cluster), runs
        self._pacing, self._options = pacing, options

    def apply(self, plan: Plan, job: Job | None = None) -> None:
        """Carry a plan out; that of a job is prepared once its run has begun."""
        job = job or Job()
        pacing = replace(self._pacing, on_run=lambda run: job.prepare(self._cluster, run))
        self._act(
            lambda: propose_apply(self._cluster, self._runs, plan, self._options, "plan.json"),
            pacing,
        )

    def do(self, command: Command) -> None:
        """Resume, cancel or roll back the latest run; a refusal is raised."""
        cluster, runs = self._cluster, self._runs
        proposing: dict[Command, Callable[[], Proposal]] = {
            Command.RESUME: lambda: propose_resume(cluster, runs, None, self._to_continue()),
            Command.CANCEL: lambda: propose_cancel(cluster, runs, None),
            Command.ROLLBACK: lambda: propose_rollback(cluster, runs, None, self._options),
        }
        self._act(proposing[command])

    def _to_continue(self) -> RunOptions:
        """As the run was steered last."""
        run = self._runs.chosen(None)
        record = (self._runs.rollback_of(run) or run).record()
        return RunOptions(Limits(record.rate, record.each_way), steering=record.steering)

    def _act(self, propose: Callable[[], Proposal], pacing: Pacing | None = None) -> None:
        cluster, waiting = self._cluster, self._pacing.waiting
        with self._runs.held():
            settle(cluster, self._runs, waiting, self._pacing.on_note, finish_cancels=False)
            proposal = replace(propose(), predicted_s=PREDICTED_S)
            match proposal.action:
                case Action.CLOSE:
                    assert proposal.run is not None
                    assert not close(cluster, proposal.run, waiting).unreleased
                case Action.CANCEL | Action.CANCEL_ROLLBACK:
                    assert proposal.run is not None
                    done = cancel(cluster, proposal.run, waiting)
                    assert not done.reverting
                    assert not done.unreleased
                case _:
                    _, outcome = carry_out(cluster, self._runs, proposal, pacing or self._pacing)
                    assert outcome.complete, outcome
                    assert not outcome.unreleased
