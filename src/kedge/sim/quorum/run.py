"""One run from one seed: operations and faults, then convergence.

phase 1   steps at random intervals, each an append, a read, a snapshot or a fault
phase 2   faults stop; within a bounded time there is one leader, an append is committed, and every
          node has delivered the whole committed log
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from kedge.errors import InvariantViolated
from kedge.sim.quorum.cluster import QuorumCluster, QuorumShape
from kedge.sim.quorum.faults import Faults
from kedge.sim.quorum.mutations import MUTATIONS
from kedge.sim.rng import SeededRng

CONVERGE_MS_MAX = 60_000
CHECK_INTERVAL_MS = 500


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The parameters of a run, besides its seed."""

    steps: int = 75
    step_ms_max: int = 400
    fault_every: int = 5  # on average one step in so many is a fault; 0 for none
    mutation: str = ""
    shape: QuorumShape | None = None
    crash_at: tuple[int, int] | None = None  # a node, and which of its writes is its last


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: its violation, if any, and what it has seen."""

    seed: int
    violation: str
    virtual_ms: int
    converged_ms: int
    counts: Counter[str] = field(default_factory=Counter[str])


class Run:
    """A run in progress."""

    def __init__(
        self, seed: int, settings: RunSettings, trace: Callable[[str], None] | None = None
    ) -> None:
        self.settings = settings
        shape = settings.shape or QuorumShape.drawn(SeededRng(seed, "shape"))
        self.cluster = QuorumCluster(seed, shape, MUTATIONS[settings.mutation]())
        self.cluster.trace = trace
        self.rng = SeededRng(seed, "steps")
        self.faults = Faults(self.cluster, SeededRng(seed, "faults"))
        self.counts: Counter[str] = Counter()
        self.converged_ms = 0
        self._waiting: list[int] = []
        self.cluster.note(f"{shape}")

    def execute(self) -> Outcome:
        """Execute both phases; a violation ends the run."""
        violation, cluster = "", self.cluster
        try:
            if self.settings.crash_at:
                node, write = self.settings.crash_at
                cluster.processes[node].disk.crash_in = write
            for process in cluster.processes.values():
                process.start()
            for _ in range(self.settings.steps):
                pause = self.rng.between(1, self.settings.step_ms_max)
                cluster.clock.run_until(cluster.clock.now_ms + pause)
                self._step()
            self._converge()
            cluster.checkers.check_logs()
        except InvariantViolated as violated:
            violation = violated.what
            cluster.note(f"VIOLATION: {violation}")
        self.counts.update(cluster.checkers.checks)
        self.counts["durable writes"] += sum(
            process.disk.writes for process in cluster.processes.values()
        )
        self.counts["messages"] += cluster.network.carried
        self.counts["messages lost"] += cluster.network.lost
        return Outcome(
            cluster.seed, violation, cluster.clock.now_ms, self.converged_ms, self.counts
        )

    def _step(self) -> None:
        self._acknowledge()
        every = self.settings.fault_every
        if every and self.rng.draw(every) == 0:
            self.counts[f"fault: {self.faults.inject()}"] += 1
            return
        weights = {"append": 12, "read": 3, "snapshot": 1}
        kind = self.rng.weighted(
            {**weights, "voter change": 4} if self.cluster.is_dynamic else weights
        )
        self.counts[f"operation: {kind}"] += 1
        if kind == "append":
            for _ in range(self.rng.between(1, 3)):
                value = self.cluster.append()
                if value is not None:
                    self._waiting.append(value)
        elif kind == "read":
            self.cluster.read()
        elif kind == "voter change":
            self.cluster.note(self.cluster.change_voters(self.rng))
        else:
            self.cluster.processes[self.rng.pick(self.cluster.node_ids)].take_snapshot()

    def _acknowledge(self) -> None:
        """A client hears of its record once a state machine has it."""
        done = [value for value in self._waiting if value in self.cluster.checkers.values]
        self.cluster.acknowledged.update(done)
        self._waiting = [value for value in self._waiting if value not in done]

    def _converge(self) -> None:
        cluster = self.cluster
        self.faults.stop()
        cluster.note("faults stop")
        began = cluster.clock.now_ms
        unmet = ["nothing was appended"]
        while cluster.clock.now_ms - began < CONVERGE_MS_MAX:
            cluster.clock.run_until(cluster.clock.now_ms + CHECK_INTERVAL_MS)
            self.faults.start_all()
            if cluster.accepted_now:
                unmet = cluster.checkers.unmet_conditions()
                if not unmet:
                    self.converged_ms = cluster.clock.now_ms - began
                    cluster.note(f"converged after {self.converged_ms} ms")
                    return
            self._append_one()
        raise InvariantViolated(
            f"not converged {CONVERGE_MS_MAX // 1000} s after the last fault: "
            + "; ".join(unmet[:5])
        )

    def _append_one(self) -> None:
        """Append a record whose commitment ends the run; again if its leader was deposed."""
        value = self.cluster.append()
        if value is not None:
            self.cluster.accepted_now[:] = [value]


def crash_sweep(seed: int, settings: RunSettings) -> Iterator[Outcome]:
    """The same run again and again, with a node that dies at its first write, its second, …"""
    for node in range(1, (settings.shape or QuorumShape()).voters + 1):
        for write in count(1):
            run = Run(seed, replace(settings, fault_every=0, crash_at=(node, write)))
            yield run.execute()
            if run.cluster.processes[node].disk.crashes == 0:
                break


def run_seed(
    seed: int, settings: RunSettings | None = None, trace: Callable[[str], None] | None = None
) -> Outcome:
    """Run one seed."""
    return Run(seed, settings or RunSettings(), trace).execute()
