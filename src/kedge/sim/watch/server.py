"""A server of the simulation: runs the real script of the loop, and dies or stalls at any yield."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kedge.errors import WriterFenced
from kedge.sim.watch.checkers import Checkers
from kedge.sim.watch.cluster import SimCluster, SimRun, Truth
from kedge.sim.watch.mutations import Mutation
from kedge.sim.watch.store import SimStore
from kedge.watch.effects import (
    Effect,
    FindOtherProcess,
    LoadFindings,
    LoadProposals,
    MakePlan,
    ObserveRun,
    Predict,
    ReadPolicy,
    RecordSample,
    Refused,
    RunPhase,
    RunSeen,
    StartRun,
    StoreFindings,
    StoreProposal,
    TakeSample,
    Unreachable,
)
from kedge.watch.loop import Memory, watch_once
from kedge.watch.planning import Planner, plan_for
from kedge.watch.policy import Policy
from kedge.watch.proposals import Cost
from kedge.watch.rules import Rule

UNFENCED_S = 600.0  # after so long a run of a stalled process is taken over


class SimServer:
    """One server process, across restarts."""

    def __init__(
        self,
        name: str,
        cluster: SimCluster,
        store: SimStore,
        checkers: Checkers,
        planner: Planner,
        mutation: Mutation,
    ) -> None:
        self.name, self._cluster, self._store = name, cluster, store
        self._checkers, self._planner, self._mutation = checkers, planner, mutation
        self.alive = True
        self.stalled = False
        self.stalled_at = 0.0
        self.unreachable = False
        self.epoch: int | None = None
        self.rules: Mapping[str, Rule] = mutation.rules()
        self._memory = Memory()
        self._script: Any = None
        self._pending: Effect | None = None
        self._truth: Truth | None = None
        self._policy: Policy | None = None
        self._other_process = False  # as the script has seen it
        self.due = 0.0

    # ---- life -----------------------------------------------------------------------------------

    def crash(self) -> None:
        """Die: the script, the memory and the work on runs are gone."""
        self.alive, self.stalled = False, False
        self._forget()
        self._memory = Memory()
        for run in self._cluster.runs.values():
            if run.owner is self:
                run.owner = None

    def restart(self) -> None:
        """Start again."""
        self.alive = True

    def stall(self) -> None:
        """Stop for a while, as a process does that the machine does not schedule."""
        self.stalled, self.stalled_at = True, self._cluster.now

    def wake(self) -> None:
        """Go on, at the same yield."""
        self.stalled = False

    def _forget(self) -> None:
        self._script, self._pending, self.epoch = None, None, None

    # ---- the script -----------------------------------------------------------------------------

    def lead(self) -> bool:
        """Take or renew the lead of the loop."""
        epoch = self._store.acquire(self.name, self._cluster.now)
        if epoch != self.epoch:
            self._forget()
            self.epoch = epoch
        return epoch is not None

    @property
    def in_script(self) -> bool:
        """Whether a script is at a yield."""
        return self._script is not None

    def start_script(self) -> None:
        """Begin with a sample."""
        self._script = watch_once(self._memory, self.rules)
        self._pending = next(self._script)

    def step(self, *, dies: str, on_step: Callable[[str], None]) -> None:
        """Execute the effect at the yield; `dies` before or after it, or not at all."""
        assert self._pending is not None
        effect = self._pending
        on_step(type(effect).__name__)
        if dies == "before":
            return self.crash()
        try:
            answer = self._execute(effect)
            if dies == "after":
                return self.crash()
            self._pending = self._script.send(answer)
        except WriterFenced:
            self._script.close()
            self._forget()
        except StopIteration:
            self._script = self._pending = None
        return None

    def _execute(self, effect: Effect) -> object:
        cluster, store = self._cluster, self._store
        match effect:
            case ReadPolicy():
                self._policy = store.policy
                return self._mutation.policy(store.policy)
            case TakeSample():
                if self.unreachable:
                    return Unreachable(cluster.now, "no broker could be reached")
                self._truth = cluster.truth()
                return cluster.observe()
            case RecordSample(sample, memory_s):
                self._fence()
                return store.record(sample, sample.at - memory_s)
            case LoadProposals(memory_s):
                return store.recent(cluster.now - memory_s)
            case LoadFindings():
                return store.findings
            case MakePlan():
                return plan_for(effect, self._planner)
            case Predict(plan, snapshot, policy):
                del snapshot
                copied = plan.summary.bytes_moved if plan.summary else 0
                moves = sum(len(change.added) for change in plan.changes)
                return Cost(copied or 0, moves, seconds=(copied or 0) / (policy.throttle or 100e6))
            case StoreProposal(proposal):
                self._fence()
                return store.replace(proposal)
            case StoreFindings(_, findings, waiting):
                self._fence()
                store.findings, store.waiting = findings, waiting
                return None
            case FindOtherProcess():
                self._other_process = cluster.is_held
                return self._other_process
            case StartRun():
                return self._start(effect)
            case ObserveRun(proposal):
                return self._observe(proposal.id)

    def _fence(self) -> None:
        if self._mutation.is_fenced:
            assert self.epoch is not None
            self._store.check(self.name, self.epoch, self._cluster.now)

    def _start(self, effect: StartRun) -> Refused | None:
        """Begin or continue a run; the marker of its beginning is written first."""
        self._fence()
        proposal = effect.proposal
        if proposal.id in self._cluster.runs:
            self._continue(self._cluster.runs[proposal.id])
            return None
        if proposal.id not in self._store.begun:
            self._checkers.on_start(proposal, self._other_process)
        if self._mutation.checks_version and not self._store.begin(proposal):
            return Refused("the proposal has changed", final=False)
        self._cluster.let_intruder_in()
        if not self._cluster.is_held:
            self._begin(effect)
        return None

    def _continue(self, run: SimRun) -> None:
        if not self._cluster.is_held and (run.owner is None or self._is_stale(run)):
            run.owner = self

    def _begin(self, effect: StartRun) -> None:
        assert self._truth is not None
        assert self._policy is not None
        self._checkers.on_begin(effect.proposal, self._policy, self._truth)
        self._cluster.begin(effect.proposal, effect.policy, self)

    def _is_stale(self, run: SimRun) -> bool:
        """Whether the process at work on a run has stalled for so long that it is replaced."""
        owner = run.owner
        return (
            isinstance(owner, SimServer)
            and owner.stalled
            and self._cluster.now - owner.stalled_at >= UNFENCED_S
        )

    def _observe(self, proposal_id: str) -> RunSeen:
        run = self._cluster.runs.get(proposal_id)
        if run is None:
            return self._not_begun(proposal_id)
        if run.ended:
            phase = RunPhase.DONE if run.ended == "done" else RunPhase.FAILED
            return RunSeen(phase, run.why, int(run.copied))
        interrupted = run.owner is None or self._is_stale(run)
        return RunSeen(RunPhase.INTERRUPTED if interrupted else RunPhase.AT_WORK)

    def _not_begun(self, proposal_id: str) -> RunSeen:
        """No run, so nothing was moved; the marker of its beginning may be there."""
        if proposal_id in self._store.begun:
            if not self._mutation.takes_back:
                return RunSeen(RunPhase.INTERRUPTED)
            self._fence()
            self._store.take_back(proposal_id)
        return RunSeen(RunPhase.ABSENT)
