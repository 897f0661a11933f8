"""A run of two phases, of a bare quorum or of a whole KRaft cluster: faults, then convergence.

phase 1   steps at random intervals, each an operation or a fault
phase 2   faults stop; within a bounded time everything that must become true is true

A subclass says what an operation is and what convergence means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from kedge.errors import InvariantViolated
from kedge.sim.quorum.checkers import Checkers
from kedge.sim.quorum.faults import Faults, FaultyCluster
from kedge.sim.rng import SeededRng

CHECK_INTERVAL_MS = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: its violation, if any, and what it has seen."""

    seed: int
    violation: str
    virtual_ms: int
    converged_ms: int
    counts: Counter[str] = field(default_factory=Counter[str])


class PhaseSettings(Protocol):
    """The parameters of both phases."""

    @property
    def steps(self) -> int: ...
    @property
    def step_ms_max(self) -> int: ...
    @property
    def fault_every(self) -> int:
        """On average one step in so many is a fault; 0 for none."""
        ...

    @property
    def crash_at(self) -> tuple[int, int] | None:
        """A node, and which of its writes is its last."""
        ...


class CheckedFaultyCluster(FaultyCluster, Protocol):
    """A cluster that faults happen to and that is checked after every step."""

    @property
    def seed(self) -> int: ...
    @property
    def checkers(self) -> Checkers: ...


C = TypeVar("C", bound=CheckedFaultyCluster)


class TwoPhases(ABC, Generic[C]):
    """A run in progress."""

    def __init__(self, cluster: C, settings: PhaseSettings, *, converge_ms_max: int) -> None:
        self.cluster = cluster
        self.rng = SeededRng(cluster.seed, "steps")
        self.faults = Faults(cluster, SeededRng(cluster.seed, "faults"))
        self.counts: Counter[str] = Counter()
        self.converged_ms = 0
        self._phases = settings
        self._converge_ms_max = converge_ms_max

    def execute(self) -> Outcome:
        """Execute both phases; a violation ends the run."""
        violation, cluster = "", self.cluster
        try:
            self._start()
            for _ in range(self._phases.steps):
                pause = self.rng.between(1, self._phases.step_ms_max)
                cluster.clock.run_until(cluster.clock.now_ms + pause)
                self._step()
            self._converge()
            self._check_end()
        except InvariantViolated as violated:
            violation = violated.what
            cluster.note(f"VIOLATION: {violation}")
        self._count()
        return Outcome(
            cluster.seed, violation, cluster.clock.now_ms, self.converged_ms, self.counts
        )

    def _start(self) -> None:
        processes = self.cluster.processes
        if self._phases.crash_at:
            node, write = self._phases.crash_at
            processes[node].disk.crash_in = write
        for process in processes.values():
            process.start()

    def _step(self) -> None:
        self._before_step()
        every = self._phases.fault_every
        if every and self.rng.draw(every) == 0:
            self.counts[f"fault: {self.faults.inject()}"] += 1
        else:
            self.counts[f"operation: {self._operate()}"] += 1

    def _converge(self) -> None:
        clock, note = self.cluster.clock, self.cluster.note
        self.faults.stop()
        self._on_faults_stopped()
        note("faults stop")
        began, unmet = clock.now_ms, ["nothing was tried"]
        while clock.now_ms - began < self._converge_ms_max:
            unmet = self._unmet_after(CHECK_INTERVAL_MS)
            if not unmet:
                self.converged_ms = clock.now_ms - began
                note(f"converged after {self.converged_ms} ms")
                return
        raise InvariantViolated(
            f"not converged {self._converge_ms_max // 1000} s after the last fault: "
            + "; ".join(unmet[:5])
        )

    def _count(self) -> None:
        cluster = self.cluster
        self.counts.update(cluster.checkers.checks)
        writes = sum(process.disk.writes for process in cluster.processes.values())
        self.counts["durable writes"] += writes
        self.counts["messages"] += cluster.network.carried
        self.counts["messages lost"] += cluster.network.lost

    @abstractmethod
    def _operate(self) -> str:
        """Do one operation; its kind."""

    @abstractmethod
    def _unmet_after(self, ms: int) -> list[str]:
        """Let time pass without faults; what is not yet as it must be."""

    def _before_step(self) -> None:
        """Before every step of the first phase."""

    def _on_faults_stopped(self) -> None:
        """Between the phases."""

    def _check_end(self) -> None:
        """Checks of the whole, after convergence."""
        self.cluster.checkers.check_logs()


def sweep_crashes(
    nodes: Iterable[int], run_with: Callable[[tuple[int, int]], TwoPhases[Any]]
) -> Iterator[Outcome]:
    """Runs in which a node dies at its first write, its second, … until it has no more of them."""
    for node in nodes:
        for write in count(1):
            run = run_with((node, write))
            yield run.execute()
            if run.cluster.processes[node].disk.crashes == 0:
                break
