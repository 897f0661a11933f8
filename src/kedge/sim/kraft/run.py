"""One run from one seed: operations and faults, then convergence.

phase 1   steps at random intervals, each a request of the operator, a doing of a broker or a fault
phase 2   faults stop; within a bounded time a new topic is created, every node has the whole
          committed log, all brokers are unfenced and all replicas in sync
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kedge.errors import InvariantViolated
from kedge.metadata import ApiError
from kedge.metadata.elections import ElectionType, ElectLeaders
from kedge.metadata.topics import CreatedTopic
from kedge.sim.kraft.cluster import FIRST_CONTROLLER, KraftCluster, KraftShape
from kedge.sim.kraft.mutations import RULES
from kedge.sim.kraft.operations import Operations
from kedge.sim.quorum.two_phases import Outcome, TwoPhases, sweep_crashes
from kedge.sim.rng import SeededRng

CONVERGE_MS_MAX = 90_000


@dataclass(frozen=True, slots=True)
class KraftSettings:
    """The parameters of a run, besides its seed."""

    steps: int = 60
    step_ms_max: int = 400
    fault_every: int = 5  # on average one step in so many is a fault; 0 for none
    mutation: str = ""
    shape: KraftShape | None = None
    crash_at: tuple[int, int] | None = None  # a node, and which of its writes is its last


class Run(TwoPhases[KraftCluster]):
    """A run of a KRaft cluster in progress."""

    def __init__(
        self, seed: int, settings: KraftSettings, trace: Callable[[str], None] | None = None
    ) -> None:
        shape = settings.shape or KraftShape.drawn(SeededRng(seed, "shape"))
        cluster = KraftCluster(seed, shape, RULES[settings.mutation])
        cluster.trace = trace
        super().__init__(cluster, settings, converge_ms_max=CONVERGE_MS_MAX)
        self.operations = Operations(cluster, SeededRng(seed, "operations"))
        self._is_answered = False
        cluster.note(f"{shape}")

    def _operate(self) -> str:
        return self.operations.perform()

    def _on_faults_stopped(self) -> None:
        for broker in self.cluster.brokers.values():
            broker.replace_disk()

    def _unmet_after(self, ms: int) -> list[str]:
        cluster = self.cluster
        self.faults.start_all()
        if not self._is_answered:
            cluster.ask(self.operations.new_topic(), self._on_created)
        elif lost := cluster.without_candidates():
            cluster.ask(ElectLeaders(ElectionType.UNCLEAN.value, lost), _ignore)
        cluster.clock.run_until(cluster.clock.now_ms + ms)
        return cluster.unmet_conditions() if self._is_answered else ["no topic was created"]

    def _check_end(self) -> None:
        super()._check_end()
        for process in self.cluster.processes.values():
            process.show_image()

    def _count(self) -> None:
        super()._count()
        self.counts["records committed"] += len(self.cluster.checkers.values)

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
    nodes = range(FIRST_CONTROLLER, FIRST_CONTROLLER + shape.controllers)
    return sweep_crashes(nodes, lambda point: Run(seed, replace(settings, crash_at=point)))


def run_seed(
    seed: int, settings: KraftSettings | None = None, trace: Callable[[str], None] | None = None
) -> Outcome:
    """Run one seed."""
    return Run(seed, settings or KraftSettings(), trace).execute()
