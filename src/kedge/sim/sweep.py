"""Killing the controller at every yield of every script, one after the other.

Random faults find what nobody thought of; this finds what is certain to be there. Each scenario
brings a small cluster to rest, arms the controller to be killed at the n-th yield of one kind of
script, before its effect is carried out or after it, and does something that runs that script. For
n = 1, 2, … until the script ends before its n-th yield. Each time the cluster must come to rest
again, with what was asked for done or not begun, and no rule broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kedge.controller.events import ElectionRequested, ElectionType
from kedge.errors import InvariantViolated
from kedge.model import NO_LEADER, BrokerId, TopicPartition
from kedge.sim.coverage import Coverage
from kedge.sim.desk import OPERATOR
from kedge.sim.faults import NO_FAULTS
from kedge.sim.mishaps import Mishaps
from kedge.sim.rest import complaints
from kedge.sim.seeds import Luck
from kedge.sim.world import Shape, World
from kedge.topics import CreateRequest

Act = Callable[[World], None]

MOVING = TopicPartition("t0", 0)
SEED = 1
YIELDS_MAX = 80
PREPARED_MS_MAX = 60_000
ACTED_MS = 30_000
SETTLED_MS_MAX = 240_000
SESSION_LOST_MS = 15_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something to do, and the script to be killed in; `before` prepares the ground."""

    name: str
    event: str
    act: Act
    before: Act | None = None
    ibp: str = "3.9"


@dataclass(frozen=True, slots=True)
class Killing:
    """One run of a scenario: where the controller was killed, and what came of it."""

    scenario: str
    at: int
    after_effect: bool
    place: str  # empty when the script was over before
    violation: str
    coverage: Coverage


def sweep_all(scenario: Scenario) -> list[Killing]:
    """All killings of a scenario at once, for a process of its own."""
    return list(sweep(scenario))


def sweep(scenario: Scenario) -> Iterator[Killing]:
    """Kill at every yield of a scenario's script, until there is none left."""
    for after_effect in (False, True):
        for number in range(1, YIELDS_MAX):
            killing = kill(scenario, number, after_effect=after_effect)
            yield killing
            if not killing.place:
                break


def kill(scenario: Scenario, number: int, *, after_effect: bool) -> Killing:
    """Kill at one yield."""
    world = World(SEED, Shape(brokers=4, controllers=2, topics_max=9, ibp=scenario.ibp))
    violation = ""
    try:
        _prepare(world, scenario)
        _arm(world, scenario.event, number, after_effect=after_effect)
        scenario.act(world)
        world.run_until(world.clock.now_ms + ACTED_MS)
        Mishaps(world, NO_FAULTS, Luck(0, "nothing")).stop()
        _settle(world, SETTLED_MS_MAX)
    except InvariantViolated as broken:
        violation = broken.what
    world.coverage.checks.update(world.checkers.checks)
    place = next(iter(world.coverage.crashes), "")
    return Killing(scenario.name, number, after_effect, place, violation, world.coverage)


def _prepare(world: World, scenario: Scenario) -> None:
    world.start()
    world.run_until(1_000)
    for name in ("t0", "t1"):
        world.operator.topics.create_topic(CreateRequest(name, 2, 3))
    world.run_until(2_000)
    for tp in world.truth.partitions():
        world.operator.producers.produce_to(tp, 40 << 20)
    _settle(world, PREPARED_MS_MAX)
    if scenario.before is not None:
        scenario.before(world)


def _settle(world: World, within_ms: int) -> None:
    end_ms = world.clock.now_ms + within_ms
    wrong = ["nothing has happened yet"]
    while wrong and world.clock.now_ms < end_ms:
        world.run_until(world.clock.now_ms + 1_000)
        for machine in world.machines.values():
            machine.start()
        world.operator.moves.verify()
        wrong = complaints(world)
    if wrong:
        raise InvariantViolated(f"not settled within {within_ms // 1000} s: {'; '.join(wrong)}")


def _arm(world: World, event: str, number: int, *, after_effect: bool) -> None:
    for candidate in world.candidates.values():
        candidate.crash_in = event
        candidate.crash_at = number
        candidate.crash_after = after_effect


# ---- things to do ----


def _create(world: World) -> None:
    world.operator.topics.create_topic(CreateRequest("t9", 2, 3))


def _expand(world: World) -> None:
    world.operator.topics.expand()


def _elsewhere(world: World) -> tuple[BrokerId, ...]:
    """Other replicas than the partition has: one stays, the others change."""
    now = world.truth.assignment(MOVING)
    assert now is not None
    others = [b for b in sorted(world.machines) if b not in now.replicas]
    return (*others, *now.replicas[:1])


def _move(world: World) -> None:
    world.operator.moves.ask_to_move({MOVING: _elsewhere(world)})


def _move_slowly(world: World) -> None:
    """Begin a move that will not be done soon."""
    for _ in range(4):
        world.operator.producers.produce_to(MOVING, 1 << 30)
    _move(world)
    world.run_until(world.clock.now_ms + 2_000)


def _move_slowly_and_delete(world: World) -> None:
    _move_slowly(world)
    world.operator.topics.delete(MOVING.topic)


def _cancel(world: World) -> None:
    world.operator.moves.ask_to_move({MOVING: None})


def _override(world: World) -> None:
    now = world.truth.assignment(MOVING)
    assert now is not None
    world.operator.moves.ask_to_move({MOVING: now.origin[:1]})


def _plan(world: World) -> None:
    world.operator.moves.leave_plan({MOVING: _elsewhere(world)})


def _delete(world: World) -> None:
    world.operator.topics.delete(MOVING.topic)


def _leader(world: World) -> BrokerId:
    return world.truth.states[MOVING].leader


def _crash_leader(world: World) -> None:
    world.machines[_leader(world)].crash()


def _bounce_leader(world: World) -> None:
    machine = world.machines[_leader(world)]
    machine.crash()
    machine.start()


def _shut_leader_down(world: World) -> None:
    world.machines[_leader(world)].shut_down()


def _fail_directory(world: World) -> None:
    machine = world.machines[_leader(world)]
    name = machine.disks.directory_of(MOVING)
    assert machine.process is not None
    assert name is not None
    machine.process.fail_directory(name)


def _mislead(world: World) -> None:
    """Let somebody else than the preferred replica lead, once the first rebalancing is over."""
    world.run_until(world.clock.now_ms + 10_000)
    _bounce_leader(world)
    world.run_until(world.clock.now_ms + 3_000)


def _elect(world: World) -> None:
    event = ElectionRequested(frozenset({MOVING}), ElectionType.PREFERRED)
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731
    world.ask_controller(OPERATOR, world.truth.controller, event, nothing, nothing)


def _elect_by_plan(world: World) -> None:
    world.operator.elect_by_plan()


def _wait(world: World) -> None:
    """Until leaders are looked at again."""
    world.run_until(world.clock.now_ms + 310_000)


def _lose_isr(world: World) -> None:
    """Whoever has all records is gone, and those who lack some are back: nobody may lead."""
    leader, replicas = _leader(world), world.truth.assignment(MOVING)
    assert replicas is not None
    others = [world.machines[b] for b in replicas.replicas if b != leader]
    for machine in others:
        machine.crash()
    world.run_until(world.clock.now_ms + SESSION_LOST_MS)
    world.operator.producers.produce_to(MOVING, 1000)
    world.run_until(world.clock.now_ms + 1_000)
    world.machines[leader].crash()
    for machine in others:
        machine.start()
    world.run_until(world.clock.now_ms + SESSION_LOST_MS)
    assert _leader(world) == NO_LEADER


def _allow_unclean(world: World) -> None:
    world.operator.topics.allow_unclean(MOVING.topic)


def _crash_controller(world: World) -> None:
    active = world.active()
    assert active is not None
    active.crash(session_ends_ms=0)


SCENARIOS = (
    Scenario("create a topic", "TopicsChanged", _create),
    Scenario("expand a topic", "TopicModified", _expand),
    Scenario("delete a topic", "DeletionsRequested", _delete),
    Scenario("replicas are deleted", "ReplicasDeleted", _delete),
    Scenario("delete a moving topic", "DeletionsRequested", _delete, _move_slowly),
    Scenario("move a partition", "ReassignmentRequested", _move),
    Scenario("a move completes", "IsrChangeRequested", _move),
    Scenario("a move completes, old", "ReassignedIsrChanged", _move, ibp="2.6"),
    Scenario("a leader notes an ISR", "IsrChangesNotified", _bounce_leader, ibp="2.6"),
    Scenario("move by plan", "ReassignmentPlanned", _plan),
    Scenario("a planned move completes", "IsrChangeRequested", _plan),
    Scenario("cancel a move", "ReassignmentRequested", _cancel, _move_slowly),
    Scenario("override a move", "ReassignmentRequested", _override, _move_slowly),
    Scenario("a leader dies", "BrokersChanged", _crash_leader),
    Scenario("a leader bounces", "BrokersChanged", _bounce_leader),
    Scenario("a leader dies during a move", "BrokersChanged", _crash_leader, _move_slowly),
    Scenario("a leader shuts down", "ShutdownRequested", _shut_leader_down),
    Scenario("a directory fails", "LogDirFailuresNotified", _fail_directory),
    Scenario("a replica is found bad", "LeaderAndIsrAnswered", _fail_directory),
    Scenario("elect the preferred leader", "ElectionRequested", _elect, _mislead),
    Scenario("elect by plan", "PreferredElectionPlanned", _elect_by_plan, _mislead),
    Scenario("leaders are rebalanced", "RebalanceDue", _wait, _mislead),
    Scenario("a topic is configured", "ConfigChangesNotified", _allow_unclean, _lose_isr),
    Scenario("an unclean election", "UncleanElectionEnabled", _allow_unclean, _lose_isr),
    Scenario("another takes over", "RoleVacated", _crash_controller),
    Scenario("another takes over a move", "RoleVacated", _crash_controller, _move_slowly),
    Scenario(
        "another takes over a deletion", "RoleVacated", _crash_controller, _move_slowly_and_delete
    ),
)
