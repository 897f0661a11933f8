"""One run from one seed: operations and faults, then convergence.

phase 1   steps at random intervals, each a request of the operator, a doing of a broker or a fault
phase 2   faults stop; within a bounded time a new topic is created, every node has the whole
          committed log, all brokers are unfenced and all replicas in sync
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from kedge.errors import InvariantViolated
from kedge.metadata import ApiError
from kedge.metadata.elections import ElectionType, ElectLeaders
from kedge.metadata.topics import CreatedTopic
from kedge.sim.kraft.cluster import FIRST_CONTROLLER, KraftCluster, KraftShape
from kedge.sim.kraft.mutations import RULES
from kedge.sim.kraft.operations import Operations
from kedge.sim.quorum.faults import Faults
from kedge.sim.quorum.run import Outcome
from kedge.sim.rng import SeededRng

CONVERGE_MS_MAX = 90_000
CHECK_INTERVAL_MS = 500


@dataclass(frozen=True, slots=True)
class KraftSettings:
    """The parameters of a run, besides its seed."""

    steps: int = 60
    step_ms_max: int = 400
    fault_every: int = 5  # on average one step in so many is a fault; 0 for none
    mutation: str = ""
    shape: KraftShape | None = None
    crash_at: tuple[int, int] | None = None  # a node, and which of its writes is its last


class Run:
    """A run in progress."""

    def __init__(
        self, seed: int, settings: KraftSettings, trace: Callable[[str], None] | None = None
    ) -> None:
        self.settings = settings
        shape = settings.shape or KraftShape.drawn(SeededRng(seed, "shape"))
        self.cluster = KraftCluster(seed, shape, RULES[settings.mutation])
        self.cluster.trace = trace
        self.rng = SeededRng(seed, "steps")
        self.faults = Faults(self.cluster, SeededRng(seed, "faults"))
        self.operations = Operations(self.cluster, SeededRng(seed, "operations"))
        self.counts: Counter[str] = Counter()
        self.converged_ms = 0
        self._is_answered = False
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
            for process in cluster.processes.values():
                process.show_image()
        except InvariantViolated as violated:
            violation = violated.what
            cluster.note(f"VIOLATION: {violation}")
        return self._outcome(violation)

    def _outcome(self, violation: str) -> Outcome:
        cluster = self.cluster
        self.counts.update(cluster.checkers.checks)
        self.counts["durable writes"] += sum(
            process.disk.writes for process in cluster.processes.values()
        )
        self.counts["records committed"] += len(cluster.checkers.values)
        self.counts["messages"] += cluster.network.carried
        self.counts["messages lost"] += cluster.network.lost
        return Outcome(
            cluster.seed, violation, cluster.clock.now_ms, self.converged_ms, self.counts
        )

    def _step(self) -> None:
        every = self.settings.fault_every
        if every and self.rng.draw(every) == 0:
            self.counts[f"fault: {self.faults.inject()}"] += 1
        else:
            self.counts[f"operation: {self.operations.perform()}"] += 1

    def _converge(self) -> None:
        cluster = self.cluster
        self.faults.stop()
        for broker in cluster.brokers.values():
            broker.replace_disk()
        cluster.note("faults stop")
        began = cluster.clock.now_ms
        unmet = ["no topic was created"]
        while cluster.clock.now_ms - began < CONVERGE_MS_MAX:
            self.faults.start_all()
            if not self._is_answered:
                cluster.ask(self.operations.new_topic(), self._on_created)
            elif lost := cluster.without_candidates():
                cluster.ask(ElectLeaders(ElectionType.UNCLEAN.value, lost), _ignore)
            cluster.clock.run_until(cluster.clock.now_ms + CHECK_INTERVAL_MS)
            unmet = cluster.unmet_conditions() if self._is_answered else unmet
            if not unmet:
                self.converged_ms = cluster.clock.now_ms - began
                cluster.note(f"converged after {self.converged_ms} ms")
                return
        raise InvariantViolated(
            f"not converged {CONVERGE_MS_MAX // 1000} s after the last fault: "
            + "; ".join(unmet[:5])
        )

    def _on_created(self, answer: Any) -> None:
        """A topic that was created after the faults: it is in the committed log by now."""
        if isinstance(answer, ApiError):
            return
        created: tuple[CreatedTopic, ...] = answer
        for topic in created:
            if not topic.error.failed:
                self._is_answered = True
                if self.cluster.checkers.image.topic_named(topic.name) is None:
                    raise InvariantViolated(f"{topic.name} was created and does not exist")


def _ignore(answer: Any) -> None:
    """Whether it has helped is checked."""


def crash_sweep(seed: int, settings: KraftSettings) -> Iterator[Outcome]:
    """The same run again and again, with a node that dies at its first write, its second, …"""
    shape = settings.shape or KraftShape()
    settings = replace(settings, shape=shape, fault_every=0)
    for node in range(FIRST_CONTROLLER, FIRST_CONTROLLER + shape.controllers):
        for write in count(1):
            run = Run(seed, replace(settings, crash_at=(node, write)))
            yield run.execute()
            if run.cluster.processes[node].disk.crashes == 0:
                break


def run_seed(
    seed: int, settings: KraftSettings | None = None, trace: Callable[[str], None] | None = None
) -> Outcome:
    """Run one seed."""
    return Run(seed, settings or KraftSettings(), trace).execute()
