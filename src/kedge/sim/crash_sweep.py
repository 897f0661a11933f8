"""Kills the controller at every yield of every kind of script, one run per yield.

Random faults cover unforeseen combinations; this sweep covers every yield. Each scenario waits
until a small cluster has converged, arms the controller to be killed at the n-th yield of one kind
of script, before or after the effect is executed, and triggers that script. n is 1, 2, … until the
script ends before its n-th yield. Each time the cluster must converge again, with the request
executed or not begun, and without a violation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kedge.controller.events import ElectionRequested, ElectionType
from kedge.errors import InvariantViolated
from kedge.model import NO_LEADER, BrokerId, TopicPartition
from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.convergence import unmet_conditions
from kedge.sim.coverage import Coverage
from kedge.sim.fault_injection import NO_FAULTS, FaultInjector
from kedge.sim.operator import OPERATOR
from kedge.sim.rng import SeededRng
from kedge.topics import CreateRequest

Act = Callable[[ClusterUnderTest], None]

MOVING = TopicPartition("t0", 0)
SEED = 1
YIELDS_MAX = 80
PREPARED_MS_MAX = 60_000
ACTED_MS = 30_000
CONVERGED_MS_MAX = 240_000
SESSION_EXPIRED_MS = 15_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """An operation, and the event in whose script the controller is killed."""

    name: str
    event: str
    act: Act
    before: Act | None = None  # prepares the operation
    ibp: str = "3.9"


@dataclass(frozen=True, slots=True)
class CrashRun:
    """One run of a scenario: where the controller was killed, and the violation, if any."""

    scenario: str
    at: int
    after_effect: bool
    place: str  # empty if the script ended before that yield
    violation: str
    coverage: Coverage


def sweep_all(scenario: Scenario) -> list[CrashRun]:
    """All runs of a scenario, for a worker process."""
    return list(sweep(scenario))


def sweep(scenario: Scenario) -> Iterator[CrashRun]:
    """Kill the controller at every yield of a scenario's script."""
    for after_effect in (False, True):
        for number in range(1, YIELDS_MAX):
            crash_run = crash_at_yield(scenario, number, after_effect=after_effect)
            yield crash_run
            if not crash_run.place:
                break


def crash_at_yield(scenario: Scenario, number: int, *, after_effect: bool) -> CrashRun:
    """Kill the controller at one yield."""
    cluster = ClusterUnderTest(
        SEED, ClusterShape(brokers=4, controllers=2, topics_max=9, ibp=scenario.ibp)
    )
    violation = ""
    try:
        _prepare(cluster, scenario)
        _arm(cluster, scenario.event, number, after_effect=after_effect)
        scenario.act(cluster)
        cluster.run_until(cluster.clock.now_ms + ACTED_MS)
        FaultInjector(cluster, NO_FAULTS, SeededRng(0, "nothing")).stop()
        _converge(cluster, CONVERGED_MS_MAX)
    except InvariantViolated as violated:
        violation = violated.what
    cluster.coverage.checks.update(cluster.checkers.checks)
    place = next(iter(cluster.coverage.crashes), "")
    return CrashRun(scenario.name, number, after_effect, place, violation, cluster.coverage)


def _prepare(cluster: ClusterUnderTest, scenario: Scenario) -> None:
    cluster.start()
    cluster.run_until(1_000)
    for name in ("t0", "t1"):
        cluster.workload.topics.create_topic(CreateRequest(name, 2, 3))
    cluster.run_until(2_000)
    for tp in cluster.metadata.partitions():
        cluster.workload.producers.produce_to(tp, 40 << 20)
    _converge(cluster, PREPARED_MS_MAX)
    if scenario.before is not None:
        scenario.before(cluster)


def _converge(cluster: ClusterUnderTest, within_ms: int) -> None:
    end_ms = cluster.clock.now_ms + within_ms
    unmet = ["no time has passed yet"]
    while unmet and cluster.clock.now_ms < end_ms:
        cluster.run_until(cluster.clock.now_ms + 1_000)
        for machine in cluster.machines.values():
            machine.start()
        cluster.workload.moves.remove_throttles()
        unmet = unmet_conditions(cluster)
    if unmet:
        raise InvariantViolated(f"not converged within {within_ms // 1000} s: {'; '.join(unmet)}")


def _arm(cluster: ClusterUnderTest, event: str, number: int, *, after_effect: bool) -> None:
    for controller in cluster.controllers.values():
        controller.crash_in_event = event
        controller.yields_until_crash = number
        controller.crash_after_effect = after_effect


# ---- operations ----


def _create(cluster: ClusterUnderTest) -> None:
    cluster.workload.topics.create_topic(CreateRequest("t9", 2, 3))


def _expand(cluster: ClusterUnderTest) -> None:
    cluster.workload.topics.expand()


def _elsewhere(cluster: ClusterUnderTest) -> tuple[BrokerId, ...]:
    """New replicas for the partition: one stays, the others change."""
    now = cluster.metadata.assignment(MOVING)
    assert now is not None
    others = [b for b in sorted(cluster.machines) if b not in now.replicas]
    return (*others, *now.replicas[:1])


def _move(cluster: ClusterUnderTest) -> None:
    cluster.workload.moves.request_moves({MOVING: _elsewhere(cluster)})


def _move_slowly(cluster: ClusterUnderTest) -> None:
    """Start a move that takes long."""
    for _ in range(4):
        cluster.workload.producers.produce_to(MOVING, 1 << 30)
    _move(cluster)
    cluster.run_until(cluster.clock.now_ms + 2_000)


def _move_slowly_and_delete(cluster: ClusterUnderTest) -> None:
    _move_slowly(cluster)
    cluster.workload.topics.delete(MOVING.topic)


def _cancel(cluster: ClusterUnderTest) -> None:
    cluster.workload.moves.request_moves({MOVING: None})


def _override(cluster: ClusterUnderTest) -> None:
    now = cluster.metadata.assignment(MOVING)
    assert now is not None
    cluster.workload.moves.request_moves({MOVING: now.origin[:1]})


def _plan(cluster: ClusterUnderTest) -> None:
    cluster.workload.moves.write_plan({MOVING: _elsewhere(cluster)})


def _delete(cluster: ClusterUnderTest) -> None:
    cluster.workload.topics.delete(MOVING.topic)


def _leader(cluster: ClusterUnderTest) -> BrokerId:
    return cluster.metadata.states[MOVING].leader


def _crash_leader(cluster: ClusterUnderTest) -> None:
    cluster.machines[_leader(cluster)].crash()


def _bounce_leader(cluster: ClusterUnderTest) -> None:
    machine = cluster.machines[_leader(cluster)]
    machine.crash()
    machine.start()


def _shut_leader_down(cluster: ClusterUnderTest) -> None:
    cluster.machines[_leader(cluster)].shut_down()


def _fail_directory(cluster: ClusterUnderTest) -> None:
    machine = cluster.machines[_leader(cluster)]
    name = machine.disks.directory_of(MOVING)
    assert machine.process is not None
    assert name is not None
    machine.process.fail_directory(name)


def _lose_preferred_leader(cluster: ClusterUnderTest) -> None:
    """Make another replica than the preferred one the leader, after the first rebalancing."""
    cluster.run_until(cluster.clock.now_ms + 10_000)
    _bounce_leader(cluster)
    cluster.run_until(cluster.clock.now_ms + 3_000)


def _elect(cluster: ClusterUnderTest) -> None:
    event = ElectionRequested(frozenset({MOVING}), ElectionType.PREFERRED)
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731
    cluster.call_controller(OPERATOR, cluster.metadata.controller, event, nothing, nothing)


def _elect_by_plan(cluster: ClusterUnderTest) -> None:
    cluster.workload.elect_by_plan()


def _wait(cluster: ClusterUnderTest) -> None:
    """Wait for the next leader rebalancing."""
    cluster.run_until(cluster.clock.now_ms + 310_000)


def _lose_isr(cluster: ClusterUnderTest) -> None:
    """Leave only replicas outside the ISR alive, so that none may be elected."""
    leader, replicas = _leader(cluster), cluster.metadata.assignment(MOVING)
    assert replicas is not None
    others = [cluster.machines[b] for b in replicas.replicas if b != leader]
    for machine in others:
        machine.crash()
    cluster.run_until(cluster.clock.now_ms + SESSION_EXPIRED_MS)
    cluster.workload.producers.produce_to(MOVING, 1000)
    cluster.run_until(cluster.clock.now_ms + 1_000)
    cluster.machines[leader].crash()
    for machine in others:
        machine.start()
    cluster.run_until(cluster.clock.now_ms + SESSION_EXPIRED_MS)
    assert _leader(cluster) == NO_LEADER


def _allow_unclean(cluster: ClusterUnderTest) -> None:
    cluster.workload.topics.allow_unclean(MOVING.topic)


def _crash_controller(cluster: ClusterUnderTest) -> None:
    active = cluster.active()
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
    Scenario("elect the preferred leader", "ElectionRequested", _elect, _lose_preferred_leader),
    Scenario("elect by plan", "PreferredElectionPlanned", _elect_by_plan, _lose_preferred_leader),
    Scenario("leaders are rebalanced", "RebalanceDue", _wait, _lose_preferred_leader),
    Scenario("a topic is configured", "ConfigChangesNotified", _allow_unclean, _lose_isr),
    Scenario("an unclean election", "UncleanElectionEnabled", _allow_unclean, _lose_isr),
    Scenario("another takes over", "RoleVacated", _crash_controller),
    Scenario("another takes over a move", "RoleVacated", _crash_controller, _move_slowly),
    Scenario(
        "another takes over a deletion", "RoleVacated", _crash_controller, _move_slowly_and_delete
    ),
)
