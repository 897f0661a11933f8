"""One run from one seed: operations and faults, then convergence.

phase 1   steps at random intervals, each an append, a read, a snapshot or a fault
phase 2   faults stop; within a bounded time there is one leader, an append is committed, and every
          node has delivered the whole committed log
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kedge.sim.quorum.cluster import QuorumCluster, QuorumShape
from kedge.sim.quorum.mutations import MUTATIONS
from kedge.sim.quorum.two_phases import Outcome, TwoPhases, sweep_crashes
from kedge.sim.rng import SeededRng

CONVERGE_MS_MAX = 60_000


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The parameters of a run, besides its seed."""

    steps: int = 75
    step_ms_max: int = 400
    fault_every: int = 5  # on average one step in so many is a fault; 0 for none
    mutation: str = ""
    shape: QuorumShape | None = None
    crash_at: tuple[int, int] | None = None  # a node, and which of its writes is its last


class Run(TwoPhases[QuorumCluster]):
    """A run of a bare quorum in progress."""

    def __init__(
        self, seed: int, settings: RunSettings, trace: Callable[[str], None] | None = None
    ) -> None:
        shape = settings.shape or QuorumShape.drawn(SeededRng(seed, "shape"))
        cluster = QuorumCluster(seed, shape, MUTATIONS[settings.mutation]())
        cluster.trace = trace
        super().__init__(cluster, settings, converge_ms_max=CONVERGE_MS_MAX)
        self._waiting: list[int] = []
        cluster.note(f"{shape}")

    def _before_step(self) -> None:
        """A client hears of its record once a state machine has it."""
        done = [value for value in self._waiting if value in self.cluster.checkers.values]
        self.cluster.acknowledged.update(done)
        self._waiting = [value for value in self._waiting if value not in done]

    def _operate(self) -> str:
        cluster, rng = self.cluster, self.rng
        weights = {"append": 12, "read": 3, "snapshot": 1}
        kind = rng.weighted({**weights, "voter change": 4} if cluster.is_dynamic else weights)
        if kind == "append":
            for _ in range(rng.between(1, 3)):
                value = cluster.append()
                if value is not None:
                    self._waiting.append(value)
        elif kind == "read":
            cluster.read()
        elif kind == "voter change":
            cluster.note(cluster.change_voters(rng))
        else:
            cluster.processes[rng.pick(cluster.node_ids)].take_snapshot()
        return kind

    def _unmet_after(self, ms: int) -> list[str]:
        cluster = self.cluster
        cluster.clock.run_until(cluster.clock.now_ms + ms)
        self.faults.start_all()
        unmet = ["nothing was appended"]
        if cluster.accepted_now:
            unmet = cluster.checkers.unmet_conditions()
        if unmet:
            self._append_one()
        return unmet

    def _append_one(self) -> None:
        """Append a record whose commitment ends the run; again if its leader was deposed."""
        value = self.cluster.append()
        if value is not None:
            self.cluster.accepted_now[:] = [value]


def crash_sweep(seed: int, settings: RunSettings) -> Iterator[Outcome]:
    """The same run again and again, with a node that dies at its first write, its second, …"""
    shape = settings.shape or QuorumShape()  # of every run: a seed would draw its own
    settings = replace(settings, shape=shape, fault_every=0)
    voters = range(1, shape.voters + 1)
    return sweep_crashes(voters, lambda point: Run(seed, replace(settings, crash_at=point)))


def run_seed(
    seed: int, settings: RunSettings | None = None, trace: Callable[[str], None] | None = None
) -> Outcome:
    """Run one seed."""
    return Run(seed, settings or RunSettings(), trace).execute()
