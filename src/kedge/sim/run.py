"""One run from one seed: work and faults, then quiet, in which the cluster must come to rest.

phase 1   so many steps, each some work or a fault, at random intervals; rules are checked after
          everything that happens
phase 2   faults stop, everybody is started and mended; within a bounded time every partition
          must have its wanted replicas, all in sync, and nothing may be left behind
phase 3   a record to every partition must be acknowledged, and every log must be whole
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from kedge.errors import InvariantViolated
from kedge.model import TopicPartition
from kedge.sim.coverage import Coverage
from kedge.sim.faults import Faults
from kedge.sim.mishaps import Mishaps
from kedge.sim.rest import complaints, damaged_logs
from kedge.sim.seeds import Luck
from kedge.sim.world import Shape, World

SETTLE_MS_MAX = 600_000
LOOK_EVERY_MS = 2_000
PRODUCER_TRIES = 5
PRODUCER_RETRY_MS = 3_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to be like, besides its seed."""

    steps: int = 120
    step_ms_max: int = 2_500
    faults: Faults = field(default_factory=Faults)
    broken: str = ""
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run went: what was violated, if anything, and what it has been through."""

    seed: int
    violation: str
    coverage: Coverage
    virtual_ms: int
    settled_ms: int


class Run:
    """A run under way."""

    def __init__(self, seed: int, plan: Plan, trace: Callable[[str], None] | None = None) -> None:
        self.plan = plan
        shape = plan.shape or Shape.drawn(Luck(seed, "shape"), plan.broken)
        self.world = World(seed, shape)
        self.world.trace = trace
        self.luck = Luck(seed, "steps")
        self.mishaps = Mishaps(self.world, plan.faults, Luck(seed, "faults"))
        self.settled_ms = 0
        self._steps_left = plan.steps

    def go(self) -> Outcome:
        """The whole run; a broken rule ends it."""
        violation = ""
        try:
            self._trouble()
            self._rest()
            self._prove()
        except InvariantViolated as broken:
            violation = broken.what
            self.world.say(f"VIOLATION: {violation}")
        coverage = self.world.coverage
        coverage.checks.update(self.world.checkers.checks)
        now_ms = self.world.clock.now_ms
        return Outcome(self.world.seed, violation, coverage, now_ms, self.settled_ms)

    # ---- phase 1 ----

    def _trouble(self) -> None:
        world = self.world
        world.say(f"{world.shape}")
        world.start()
        world.run_until(2_000)
        for _ in range(world.shape.topics_min):
            world.operator.topics.create()
        self._plan_step()
        while self._steps_left:
            world.step()

    def _plan_step(self) -> None:
        self.world.clock.after(self.luck.between(1, self.plan.step_ms_max), self._step)

    def _step(self) -> None:
        if not self._steps_left:
            return
        self._steps_left -= 1
        self._plan_step()
        every = self.plan.faults.every
        if self.plan.faults.weights and self.luck.draw(every) == 0:
            self.world.say(self.mishaps.happen())
        else:
            done = self.world.operator.work()
            self.world.coverage.work[done.split(":")[0]] += 1
            self.world.say(done)
        self.world.operator.moves.verify()

    # ---- phase 2 ----

    def _rest(self) -> None:
        world = self.world
        self.mishaps.stop()
        world.say("faults stop")
        began_ms = world.clock.now_ms
        wrong: list[str] = []
        while world.clock.now_ms - began_ms < SETTLE_MS_MAX:
            world.run_until(world.clock.now_ms + LOOK_EVERY_MS)
            self.mishaps.start_everybody()
            world.operator.moves.verify()
            wrong = complaints(world)
            if not wrong:
                self.settled_ms = world.clock.now_ms - began_ms
                world.say(f"settled after {self.settled_ms} ms")
                return
        raise InvariantViolated(
            f"not settled {SETTLE_MS_MAX // 1000} s after the last fault: " + "; ".join(wrong[:5])
        )

    # ---- phase 3 ----

    def _prove(self) -> None:
        world = self.world
        partitions = [tp for tp in world.truth.partitions() if takes_records(world, tp)]
        waiting = dict.fromkeys(partitions)
        for _ in range(PRODUCER_TRIES):
            for tp in list(waiting):
                leader = world.truth.states[tp].leader
                world.operator.producers.produce_to(tp, 100, leader, partial(waiting.pop, tp, None))
            world.run_until(world.clock.now_ms + PRODUCER_RETRY_MS)
        if waiting:
            raise InvariantViolated(
                f"{', '.join(map(str, waiting))} took no record though all was settled"
            )
        for tp in partitions:
            world.checkers.check_records(tp)
        damaged = damaged_logs(world)
        if damaged:
            raise InvariantViolated(f"damaged records: {damaged[0]}")


def takes_records(world: World, tp: TopicPartition) -> bool:
    """Whether a partition has as many replicas as its topic wants in sync."""
    now = world.truth.assignment(tp)
    wanted = int(world.truth.topic_config(tp.topic).get("min.insync.replicas", "1"))
    return now is not None and len(now.replicas) >= wanted


def run_seed(
    seed: int, plan: Plan | None = None, trace: Callable[[str], None] | None = None
) -> Outcome:
    """Run one seed to its end."""
    return Run(seed, plan or Plan(), trace).go()
