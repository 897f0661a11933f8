"""The loop of one cluster: a script per sample, its effects executed, until it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread

from kedge.cluster.port import Cluster
from kedge.errors import Unavailable, WriterFenced
from kedge.plan_maker import PlanMaker
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
    StartRun,
    StoreFindings,
    StoreProposal,
    TakeSample,
    Unreachable,
)
from kedge.watch.loop import Looked, Memory, watch_once
from kedge.watch.planning import Planner, by_search, cost_of, plan_for
from kedge.watch.policy import Mode
from kedge.watch.samples import Observed
from kedge.watch_runtime.run_carrier import OpenCluster, OpenRuns, RunCarrier
from kedge.watch_runtime.sampler import WithLoads, observed_or_why
from kedge.watch_runtime.watch_store import WatchStore

TakeOne = Callable[[], Observed | Unreachable]
LEASE_S = 30.0
STOP_S = 10.0  # a search for a plan that takes longer is left: it changes nothing


@dataclass(frozen=True, slots=True)
class WatchedCluster:
    """A cluster that is watched: its name, how it and its runs are opened, and its rates."""

    name: str
    open_cluster: OpenCluster
    open_runs: OpenRuns
    with_loads: WithLoads = lambda snapshot: snapshot


class LoopRunner:
    """Runs the loop of a cluster while this server leads it."""

    def __init__(
        self,
        watched: WatchedCluster,
        store: WatchStore,
        *,
        now: Callable[[], float] = time.time,
        lease_s: float = LEASE_S,
        run_interval_s: float = 1.0,
        on_note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.watched, self.store = watched, store
        self._now, self._lease_s, self._note = now, lease_s, on_note
        self._is_prepared = False  # for runs, while brokers are up
        self._memory = Memory()
        self._stopping = Event()
        self._threads: list[Thread] = []
        self.carrier = RunCarrier(
            store,
            watched.open_cluster,
            watched.open_runs,
            now,
            interval_s=run_interval_s,
            on_note=on_note,
        )

    # ---- one sample -----------------------------------------------------------------------------

    def lead(self) -> bool:
        """Take or renew the lead. The lease runs on the clock of this machine, not the loop's."""
        return self.store.acquire(time.time(), self._lease_s)

    def keep_lead(self) -> bool:
        """Renew the lead while a turn is under way; one that has run out is taken by the next."""
        return self.store.acquire(time.time(), self._lease_s, renews_only=True)

    def look(self) -> Looked | None:
        """Take one sample and do what follows; None if another server has taken the lead."""
        try:
            return self._look()
        except WriterFenced as fenced:
            self._note(fenced.what)
            return None

    def _look(self) -> Looked:
        try:
            with self.watched.open_cluster() as cluster, PlanMaker() as maker:
                return self._run(partial(self._sample, cluster), maker.plan_of)
        except Unavailable as fault:  # not even opened: the same script, which finds just that
            why = Unreachable(self._now(), f"The cluster cannot be read: {fault.what}")
            return self._run(lambda: why, by_search)

    def _sample(self, cluster: Cluster) -> Observed | Unreachable:
        return observed_or_why(cluster, self._now(), self.watched.with_loads)

    def _run(self, take: TakeOne, planner: Planner) -> Looked:
        script, answer = watch_once(self._memory), None
        try:
            while True:
                answer = self._execute(script.send(answer), take, planner)
        except StopIteration as end:
            return end.value
        finally:
            script.close()

    def _execute(self, effect: Effect, take: TakeOne, planner: Planner) -> object:
        store = self.store
        match effect:
            case ReadPolicy():
                return store.policy()
            case TakeSample():
                return take()
            case RecordSample(sample, memory_s, recent_s):
                return store.record_sample(sample, memory_s, recent_s)
            case LoadProposals(memory_s):
                return store.proposals(self._now() - memory_s)
            case LoadFindings():
                return store.findings()
            case MakePlan():
                return plan_for(effect, planner)
            case Predict():
                return cost_of(effect)
            case StoreProposal(proposal):
                return store.replace(proposal)
            case StoreFindings(at, findings, waiting):
                return store.store_findings(at, findings, waiting)
            case FindOtherProcess():
                return self.carrier.sees_other_process()
            case StartRun(proposal, policy):
                return self.carrier.start(proposal, policy)
            case ObserveRun(proposal):
                return self.carrier.observe(proposal)

    # ---- until it is stopped --------------------------------------------------------------------

    def start(self) -> None:
        """Start the threads: one renews the lead, one takes samples."""
        for work in (self._keep_lead, self._keep_looking):
            thread = Thread(target=work, name=f"watch {self.watched.name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _keep_lead(self) -> None:
        """Renew the lease three times in its length, also while a plan is made."""
        while not self._stopping.wait(self._lease_s / 3):
            if self.store.epoch is not None:
                self._guarded(self.keep_lead)

    def _keep_looking(self) -> None:
        while not self._stopping.is_set():
            pause = self._guarded(self._turn) or min(self._lease_s / 3, 5.0)
            self._stopping.wait(pause)

    def _turn(self) -> float | None:
        """One sample, if this server leads; returns the pause until the next."""
        if not self.lead():
            return None
        began = time.monotonic()
        if not self._is_prepared and self.store.policy().mode is not Mode.PROPOSE:
            self.carrier.prepare()
            self._is_prepared = True
        self.look()
        every = self.store.policy().sample_every_s
        return max(every - (time.monotonic() - began), 0.05)

    def _guarded(self, work: Callable[[], float | bool | None]) -> float | None:
        """A fault of the database or the cluster ends this turn, not the loop."""
        try:
            found = work()
        except Exception as fault:  # the loop outlives every fault of its surroundings
            self._note(f"the loop of {self.watched.name}: {fault}")
            return None
        return found if isinstance(found, float) else None

    def stop(self, *, at_once: bool = False) -> None:
        """Stop: the run under way stops after its moves, or is left; the lead is given up."""
        self._stopping.set()
        self.carrier.stop(at_once=at_once)
        for thread in self._threads:
            thread.join(STOP_S if at_once else None)
        self.store.release()
