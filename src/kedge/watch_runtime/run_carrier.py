"""Runs of proposals: each begun once, carried out on a thread, continued by the server that leads.

The run of a proposal is found again by its name in the journal (`proposal ID`). The marker that it
has begun is stored before, in the transaction that checks the proposal's version. Where the journal
has no run although no thread works on it, the marker is removed: nothing was moved, and the rules
decide anew. A server that was replaced could still be on its way to the journal, so the marker is
checked again once the runs are locked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread

from kedge.apply import (
    Pacing,
    Run,
    RunOptions,
    RunStore,
    Waiting,
    cancel,
    carry_out,
    propose_apply,
    propose_resume,
    settle,
)
from kedge.apply.outcome import LeftAtOnce
from kedge.cluster.port import Cluster, Election
from kedge.errors import (
    ElectionNotNeeded,
    KedgeError,
    ReassignmentInProgress,
    RunLeft,
    Unavailable,
    WriterFenced,
)
from kedge.execution import Limits, RunState, Steering
from kedge.watch.effects import Refused, RunPhase, RunSeen
from kedge.watch.policy import Policy
from kedge.watch.proposals import Proposal
from kedge.watch_runtime.watch_store import WatchStore

LEAVE_S = 30.0  # a run that is left ends its current request to the cluster first
YIELD_S = 60.0  # for so long a command that asked for a run has the runs of the cluster for itself
OpenCluster = Callable[[], AbstractContextManager[Cluster]]
OpenRuns = Callable[[Cluster], AbstractContextManager[RunStore]]
ENDS = {
    RunState.DONE: RunPhase.DONE,
    RunState.CANCELLED: RunPhase.FAILED,
    RunState.ROLLED_BACK: RunPhase.FAILED,
    RunState.ROLLING_BACK: RunPhase.FAILED,
}


class RunCarrier:
    """Carries out the runs of one cluster's proposals."""

    def __init__(
        self,
        store: WatchStore,
        open_cluster: OpenCluster,
        open_runs: OpenRuns,
        now: Callable[[], float],
        *,
        interval_s: float = 1.0,
        on_note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._store, self._open_cluster, self._open_runs = store, open_cluster, open_runs
        self._now, self._interval_s, self._note = now, interval_s, on_note
        self._stopping, self._leaving = Event(), Event()
        self._resumes_at = 0.0  # on the monotonic clock
        self._thread: Thread | None = None
        self._carried = ""
        self._fault = ""

    def stop(self, *, at_once: bool = False) -> None:
        """Stop after the moves under way have ended, or at once; the run can be continued."""
        self._stopping.set()
        if at_once:
            self._leaving.set()
        self._join(LEAVE_S if at_once else None)

    def _join(self, timeout_s: float | None) -> None:
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _sleep(self, seconds: float) -> None:
        if self._leaving.wait(seconds):
            raise LeftAtOnce

    @property
    def at_work_on(self) -> str:
        """The proposal that is being carried out; empty if none is."""
        return self._carried if self._thread is not None and self._thread.is_alive() else ""

    @property
    def _waiting(self) -> Waiting:
        return Waiting(self._sleep)

    # ---- starting -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Create what runs are kept in before the first one, while all brokers are up.

        Topics that are created once a broker is down may get replicas on it: KRaft places them
        there where a rack has no other broker, and the repair of its loss would leave them behind.
        """
        try:
            with self._open() as (_, runs):
                if not runs.all():
                    with runs.held():
                        pass  # the lease of the runs is in the topic that the runs need
        except KedgeError as fault:
            self._note(f"what runs are kept in is not created yet: {fault.what}")

    def start(self, proposal: Proposal, policy: Policy) -> Refused | None:
        """Begin the run of a proposal, or continue it."""
        if self.at_work_on:
            return None if self.at_work_on == proposal.id else Refused("busy", final=False)
        if self._stopping.is_set() or time.monotonic() < self._resumes_at:
            return Refused("an operator acts on the runs of this cluster", final=False)
        if not self._store.begin_run(proposal, self._now()):
            return Refused("the proposal has changed meanwhile", final=False)
        self._carried, self._fault = proposal.id, ""
        work = self._elect if proposal.plan is None else self._carry
        self._thread = Thread(target=work, args=(proposal, policy), name="watch-run", daemon=True)
        self._thread.start()
        return None

    def _elect(self, proposal: Proposal, policy: Policy) -> None:
        del policy
        try:
            with self._open_cluster() as cluster:
                if not self._store.begin_run(proposal, self._now()):
                    return
                answers = cluster.elect_leaders(Election.PREFERRED, list(proposal.elect))
            faults = [
                f"{tp}: {each.what}"
                for tp, each in sorted(answers.items())
                if each is not None and not isinstance(each, ElectionNotNeeded)
            ]
            self._store.end_election(proposal.id, "; ".join(faults[:3]))
        except WriterFenced as fenced:
            self._note(f"proposal {proposal.id}: {fenced.what}")
        except KedgeError as fault:
            self._fault = str(fault)

    def _carry(self, proposal: Proposal, policy: Policy) -> None:
        try:
            with self._open() as (cluster, runs), runs.held():
                guarded = runs.guarded(cluster)
                settle(guarded, runs, self._waiting, self._note, finish_cancels=True)
                if self._store.begin_run(proposal, self._now()):
                    self._carry_out(guarded, runs, proposal, policy)
        except LeftAtOnce:
            self._note(f"proposal {proposal.id}: its run is left as it is, and can be continued")
        except RunLeft as left:
            self._resumes_at = time.monotonic() + YIELD_S
            self._note(f"proposal {proposal.id}: {left.what}")
        except (ReassignmentInProgress, Unavailable, WriterFenced) as fault:
            self._note(f"proposal {proposal.id}: {fault.what}")  # looked at again at a sample
        except KedgeError as fault:
            self._fault = str(fault)

    def _carry_out(
        self, cluster: Cluster, runs: RunStore, proposal: Proposal, policy: Policy
    ) -> None:
        assert proposal.plan is not None
        options, mine = options_of(proposal, policy), self._run_of(runs, proposal)
        if mine is not None and runs.state_of(mine) in ENDS:
            return
        proposed = (
            propose_apply(cluster, runs, proposal.plan, options, name_of(proposal))
            if mine is None
            else propose_resume(cluster, runs, mine.name, options)
        )
        pacing = Pacing(
            interval_s=self._interval_s,
            sleep=self._sleep,
            now=self._now,
            stopping=self._stopping.is_set,
            on_note=self._note,
        )
        carry_out(cluster, runs, proposed, pacing)

    @contextmanager
    def _open(self) -> Generator[tuple[Cluster, RunStore]]:
        with self._open_cluster() as cluster, self._open_runs(cluster) as runs:
            yield cluster, runs

    # ---- observing ------------------------------------------------------------------------------

    def observe(self, proposal: Proposal) -> RunSeen:
        """How far the run of a proposal is; one that has failed is cancelled first."""
        if self.at_work_on == proposal.id:
            return RunSeen(RunPhase.AT_WORK)
        begun, elected = self._store.begun_run(proposal.id)
        if not begun:
            return RunSeen(RunPhase.ABSENT)
        fault = self._fault if self._carried == proposal.id else ""
        if proposal.plan is None:
            return self._not_begun(proposal, fault) if elected is None else _election_seen(elected)
        with self._open() as (cluster, runs):
            run = self._run_of(runs, proposal)
            if run is None:
                return self._not_begun(proposal, fault)
            return self._seen(cluster, runs, run, fault)

    def _not_begun(self, proposal: Proposal, fault: str) -> RunSeen:
        """It has failed before it began, or its beginning is taken back."""
        if fault:
            return RunSeen(RunPhase.FAILED, fault)
        self._store.take_back_run(proposal.id)
        return RunSeen(RunPhase.ABSENT)

    def _seen(self, cluster: Cluster, runs: RunStore, run: Run, fault: str) -> RunSeen:
        state = runs.state_of(run)
        if state in ENDS:
            ended = "" if state is RunState.DONE else f"the run was {state}"
            return RunSeen(ENDS[state], fault or ended)
        try:
            with runs.held(patient=False):
                if state is RunState.FAILED or fault:
                    return self._cancelled(runs.guarded(cluster), run, fault)
        except ReassignmentInProgress:
            return RunSeen(RunPhase.AT_WORK)
        return RunSeen(RunPhase.INTERRUPTED)

    def sees_other_process(self) -> bool:
        """Whether another process acts on the runs; False also where that cannot be known."""
        if self.at_work_on:
            return False
        with self._open() as (_, runs):
            return runs.has_process() is True

    def _cancelled(self, cluster: Cluster, run: Run, fault: str) -> RunSeen:
        """A run that cannot go on is ended, so that nothing of it stays behind."""
        why = fault or run.record().why or "moves of the run could not end"
        cancel(cluster, run, self._waiting)
        return RunSeen(RunPhase.FAILED, why)

    def _run_of(self, runs: RunStore, proposal: Proposal) -> Run | None:
        named = name_of(proposal)
        found = [run for run in runs.all() if runs.record_of(run).plan_file == named]
        return found[-1] if found else None


def name_of(proposal: Proposal) -> str:
    """The name that the run of a proposal has in its journal."""
    return f"proposal {proposal.id}"


def options_of(proposal: Proposal, policy: Policy) -> RunOptions:
    """How a run goes: the pace of the policy, and its windows unless it was approved at once."""
    at_once = proposal.approval is not None and proposal.approval.at_once
    windows = () if at_once else policy.budget.windows
    limits = Limits(policy.throttle, policy.moves_per_broker)
    return RunOptions(limits=limits, steering=Steering(windows=windows))


def _election_seen(elected: str) -> RunSeen:
    return RunSeen(RunPhase.FAILED if elected else RunPhase.DONE, elected)
