"""One run from one seed: faults and decisions, then convergence.

phase 1   days of samples with faults of brokers, servers, runs and operators
phase 2   faults stop and every proposal is approved; within days nothing is wrong that a plan
          could mend, or a proposal is open that says why it waits
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from kedge.errors import InvariantViolated
from kedge.sim.rng import SeededRng
from kedge.sim.watch.checkers import Checkers
from kedge.sim.watch.faults import Faults, Operator
from kedge.sim.watch.mutations import MUTATIONS
from kedge.sim.watch.planner import small_plan
from kedge.sim.watch.server import SimServer
from kedge.sim.watch.store import SimStore
from kedge.sim.watch.world import SAMPLE_S, START, drawn_cluster, drawn_policy
from kedge.watch.planning import by_search
from kedge.watch.policy import DAY_S, Kind, Mode
from kedge.watch.proposals import WAITING, Proposal

CONVERGE_S_MAX = 14 * DAY_S
REAL_PLANNER_EVERY = 25
Trace = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The parameters of a run, besides its seed."""

    rounds: int = 130
    fault_every: int = 6  # on average one round in so many has a fault; 0 for none
    mutation: str = ""
    crash_at: int | None = None  # twice the yield at which a server dies, one more for after it


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: its violation, if any, and what it has seen."""

    seed: int
    violation: str
    virtual_s: float
    converged_s: float
    yields: int
    counts: Counter[str] = field(default_factory=Counter[str])


class Run:
    """A run in progress."""

    def __init__(self, seed: int, settings: RunSettings, trace: Trace | None = None) -> None:
        self.seed, self.settings = seed, settings
        self._trace = trace
        self.cluster = drawn_cluster(SeededRng(seed, "cluster"))
        self.store = SimStore(drawn_policy(SeededRng(seed, "policy")))
        self.checkers = Checkers(self.cluster)
        self.store.on_proposal = self._on_proposal
        self.rng = SeededRng(seed, "rounds")
        self.faults = Faults(self.cluster, SeededRng(seed, "faults"))
        self.operator = Operator(self.cluster, self.store, SeededRng(seed, "operator"))
        planner = by_search if seed % REAL_PLANNER_EVERY == 0 else small_plan
        mutation = MUTATIONS[settings.mutation]()
        self._stall_chance = mutation.stall_chance
        parts = self.cluster, self.store, self.checkers, planner, mutation
        self.servers = [SimServer(name, *parts) for name in ("a", "b")]
        self.counts: Counter[str] = Counter()
        self.yields = 0
        self.quiet = False
        self.converged_s = 0.0
        self._note(f"policy {self.store.policy}")

    def execute(self) -> Outcome:
        """Execute both phases; a violation ends the run."""
        violation = ""
        try:
            for _ in range(self.settings.rounds):
                self._round()
            self._converge()
        except InvariantViolated as violated:
            violation = violated.what
            self._note(f"VIOLATION: {violation}")
        self.counts.update(self.checkers.checks)
        elapsed = self.cluster.now - START
        return Outcome(self.seed, violation, elapsed, self.converged_s, self.yields, self.counts)

    # ---- one sample interval --------------------------------------------------------------------

    def _round(self) -> None:
        self.cluster.advance(SAMPLE_S * self.rng.pick([1.0, 1.0, 1.0, 0.5, 2.5]))
        if not self.quiet:
            self._disturb()
        for server in self.servers:
            self._turn(server)

    def _disturb(self) -> None:
        every = self.settings.fault_every
        if every and self.rng.draw(every) == 0:
            what = self.faults.inject()
            self.counts[f"fault: {what}"] += 1
            self._note(what)
        if self.rng.chance(0.25):
            what = self.operator.act()
            self.counts[f"operator: {what}"] += 1
            self._note(f"the operator {what}")
        for server in self.servers:
            server.unreachable = every > 0 and self.rng.chance(0.02)
            if server.stalled and self.rng.chance(0.3):
                server.wake()
            if not server.alive and self.rng.chance(0.5):
                server.restart()

    def _turn(self, server: SimServer) -> None:
        """A server looks whether it leads, and runs its script to the end or to its death."""
        if not server.alive or server.stalled:
            return
        if not server.in_script:
            if not server.lead() or server.due > self.cluster.now:
                return
            server.due = self.cluster.now + 0.4 * SAMPLE_S
            server.start_script()
        while server.alive and not server.stalled and server.in_script:
            server.step(dies=self._death(server), on_step=self._on_yield)
            if not self.quiet and self.rng.chance(0.1):
                self.cluster.advance(self.rng.between(1, 20))
            if server.alive and server.in_script and self._stalls():
                self.counts["server stalls"] += 1
                self._note(f"server {server.name} stalls")
                server.stall()

    def _on_yield(self, name: str) -> None:
        self.yields += 1
        self.counts[f"effect: {name}"] += 1

    def _death(self, server: SimServer) -> str:
        if self.settings.crash_at is not None:
            dies = ["before", "after"][self.settings.crash_at % 2]
            return dies if self.yields == self.settings.crash_at // 2 else ""
        if self.quiet or not self.settings.fault_every or not self.rng.chance(0.01):
            return ""
        self.counts["server dies"] += 1
        self._note(f"server {server.name} dies")
        return self.rng.pick(["before", "after"])

    def _stalls(self) -> bool:
        may = not self.quiet and self.settings.fault_every > 0
        return may and self.rng.chance(self._stall_chance)

    # ---- convergence ----------------------------------------------------------------------------

    def _converge(self) -> None:
        self.quiet = True
        self.faults.stop()
        self._note("faults stop")
        for server in self.servers:
            server.unreachable = False
            server.wake()
            if not server.alive:
                server.restart()
        began, unmet = self.cluster.now, ["nothing was looked at"]
        while self.cluster.now - began < CONVERGE_S_MAX:
            self._round()
            self.operator.approve_all()
            unmet = self._unmet()
            if not unmet and self.cluster.now - began > 0.5 * DAY_S:
                self.converged_s = self.cluster.now - began
                self._note(f"converged after {self.converged_s / 3600:.1f} h")
                return
        raise InvariantViolated(
            f"not converged {CONVERGE_S_MAX / DAY_S:.0f} days after the last fault: "
            + "; ".join(unmet[:5])
        )

    def _unmet(self) -> list[str]:
        """What is wrong and neither mended nor explained by an open proposal."""
        unfinished = [f"{id_} has not ended" for id_, r in self.cluster.runs.items() if not r.ended]
        proposing = self.store.policy.mode is Mode.PROPOSE
        waiting = [p.kind for p in self.store.proposals.values() if p.state in WAITING]
        explained = frozenset(waiting) if proposing else frozenset[Kind]()
        planless = any(each.answer.startswith("no plan") for each in self.store.findings)
        # What waits for a broker is explained by the proposal or the sentence about that broker.
        reasons = ("no plan", "waits:") if planless or proposing else ("no plan",)
        open_ = [
            f"{each.why} ({each.answer})"
            for each in self.store.findings
            if each.remedy is not None
            and each.remedy not in explained
            and not each.answer.startswith(reasons)
        ]
        missing = sorted(self.cluster.truth().missing)
        lost = [] if planless or proposing else [f"{tp} misses replicas" for tp in missing]
        return [*unfinished, *open_, *lost]

    # ---- trace ----------------------------------------------------------------------------------

    def _on_proposal(self, old: Proposal | None, new: Proposal) -> None:
        self.checkers.on_proposal(old, new)
        self._note(f"{new.id} is {new.state} {new.why}")

    def _note(self, text: str) -> None:
        if self._trace is not None:
            hours = (self.cluster.now - START) / 3600
            self._trace(f"{hours:8.2f} h  {text}")


def crash_settings(seed: int, settings: RunSettings) -> list[RunSettings]:
    """The same run again and again, with a server that dies at its first yield, its second, …

    Each yield is tried twice: the server dies before the effect is executed, and after it.
    """
    last = 2 * run_seed(seed, settings).yields
    return [replace(settings, crash_at=place) for place in range(last)]


def crash_sweep(seed: int, settings: RunSettings, every: int = 1) -> Iterator[Outcome]:
    """Those runs, or each so manieth of them, one after the other."""
    for each in crash_settings(seed, settings)[::every]:
        yield run_seed(seed, each)


def run_seed(seed: int, settings: RunSettings | None = None, trace: Trace | None = None) -> Outcome:
    """Run one seed."""
    return Run(seed, settings or RunSettings(), trace).execute()


def run_settings(work: tuple[int, RunSettings]) -> Outcome:
    """Run one seed in a spawned interpreter, which imports no function of a `__main__`."""
    return run_seed(*work)
