"""One run of the simulator from one seed: operations and faults, then convergence.

phase 1   a number of steps at random intervals, each an operation or a fault; invariants are
          checked after every event
phase 2   faults stop, all processes are started and repaired; within a bounded time every partition
          must have its requested replicas, all in sync, and nothing may be left over
phase 3   a record to every partition must be acknowledged, and every log must be undamaged
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from kedge.errors import InvariantViolated
from kedge.model import TopicPartition
from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.convergence import damaged_logs, unmet_conditions
from kedge.sim.coverage import Coverage
from kedge.sim.fault_injection import FaultInjector, FaultSettings
from kedge.sim.rng import SeededRng

CONVERGE_MS_MAX = 600_000
CHECK_INTERVAL_MS = 2_000
PRODUCER_ATTEMPTS = 5
PRODUCER_RETRY_MS = 3_000


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The parameters of a run, besides its seed."""

    steps: int = 120
    step_ms_max: int = 2_500
    faults: FaultSettings = field(default_factory=FaultSettings)
    mutation: str = ""
    shape: ClusterShape | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: its violation, if any, and its coverage."""

    seed: int
    violation: str
    coverage: Coverage
    virtual_ms: int
    converged_ms: int


class Run:
    """A run in progress."""

    def __init__(
        self, seed: int, settings: RunSettings, trace: Callable[[str], None] | None = None
    ) -> None:
        self.settings = settings
        shape = settings.shape or ClusterShape.drawn(SeededRng(seed, "shape"), settings.mutation)
        self.cluster = ClusterUnderTest(seed, shape)
        self.cluster.trace = trace
        self.rng = SeededRng(seed, "steps")
        self.injector = FaultInjector(self.cluster, settings.faults, SeededRng(seed, "faults"))
        self.converged_ms = 0
        self._steps_left = settings.steps

    def execute(self) -> Outcome:
        """Execute all phases; a violation ends the run."""
        violation = ""
        try:
            self._inject_faults()
            self._converge()
            self._verify()
        except InvariantViolated as violated:
            violation = violated.what
            self.cluster.trace_line(f"VIOLATION: {violation}")
        coverage = self.cluster.coverage
        coverage.checks.update(self.cluster.checkers.checks)
        now_ms = self.cluster.clock.now_ms
        return Outcome(self.cluster.seed, violation, coverage, now_ms, self.converged_ms)

    # ---- phase 1 ----

    def _inject_faults(self) -> None:
        cluster = self.cluster
        cluster.trace_line(f"{cluster.shape}")
        cluster.start()
        cluster.run_until(2_000)
        for _ in range(cluster.shape.topics_min):
            cluster.workload.topics.create()
        self._schedule_step()
        while self._steps_left:
            cluster.step()

    def _schedule_step(self) -> None:
        self.cluster.clock.after(self.rng.between(1, self.settings.step_ms_max), self._step)

    def _step(self) -> None:
        if not self._steps_left:
            return
        self._steps_left -= 1
        self._schedule_step()
        every = self.settings.faults.every
        if self.settings.faults.weights and self.rng.draw(every) == 0:
            self.cluster.trace_line(self.injector.inject())
        else:
            done = self.cluster.workload.run_operation()
            self.cluster.coverage.work[done.split(":")[0]] += 1
            self.cluster.trace_line(done)
        self.cluster.workload.moves.remove_throttles()

    # ---- phase 2 ----

    def _converge(self) -> None:
        cluster = self.cluster
        self.injector.stop()
        cluster.trace_line("faults stop")
        began_ms = cluster.clock.now_ms
        unmet: list[str] = []
        while cluster.clock.now_ms - began_ms < CONVERGE_MS_MAX:
            cluster.run_until(cluster.clock.now_ms + CHECK_INTERVAL_MS)
            self.injector.start_all()
            cluster.workload.moves.remove_throttles()
            unmet = unmet_conditions(cluster)
            if not unmet:
                self.converged_ms = cluster.clock.now_ms - began_ms
                cluster.trace_line(f"converged after {self.converged_ms} ms")
                return
        raise InvariantViolated(
            f"not converged {CONVERGE_MS_MAX // 1000} s after the last fault: "
            + "; ".join(unmet[:5])
        )

    # ---- phase 3 ----

    def _verify(self) -> None:
        cluster = self.cluster
        partitions = [tp for tp in cluster.metadata.partitions() if accepts_records(cluster, tp)]
        waiting = dict.fromkeys(partitions)
        for _ in range(PRODUCER_ATTEMPTS):
            for tp in list(waiting):
                leader = cluster.metadata.states[tp].leader
                cluster.workload.producers.produce_to(
                    tp, 100, leader, partial(waiting.pop, tp, None)
                )
            cluster.run_until(cluster.clock.now_ms + PRODUCER_RETRY_MS)
        if waiting:
            raise InvariantViolated(
                f"{', '.join(map(str, waiting))} accepted no record after convergence"
            )
        for tp in partitions:
            cluster.checkers.check_records(tp)
        damaged = damaged_logs(cluster)
        if damaged:
            raise InvariantViolated(f"damaged records: {damaged[0]}")


def accepts_records(cluster: ClusterUnderTest, tp: TopicPartition) -> bool:
    """Whether a partition has at least `min.insync.replicas` replicas."""
    now = cluster.metadata.assignment(tp)
    wanted = int(cluster.metadata.topic_config(tp.topic).get("min.insync.replicas", "1"))
    return now is not None and len(now.replicas) >= wanted


def run_seed(
    seed: int, settings: RunSettings | None = None, trace: Callable[[str], None] | None = None
) -> Outcome:
    """Run one seed."""
    return Run(seed, settings or RunSettings(), trace).execute()
