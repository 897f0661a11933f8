"""Both planners keep what the loop relies on: the small one of the simulation, and the real one."""

from collections.abc import Callable

import pytest

from kedge.balance import Goals
from kedge.errors import InfeasibleGoals
from kedge.model import BrokerId, Snapshot
from kedge.plan import Plan
from kedge.sim.rng import SeededRng
from kedge.sim.watch.cluster import SimBroker
from kedge.sim.watch.planner import small_plan
from kedge.sim.watch.world import GB, drawn_cluster
from kedge.watch.planning import by_search

Planner = Callable[[Snapshot, Goals], Plan]
planners = pytest.mark.parametrize("planner", [small_plan, by_search])
seeds = pytest.mark.parametrize("seed", range(5))


def snapshot_of(seed: int, *, dead: int | None = None, new: bool = False) -> Snapshot:
    cluster = drawn_cluster(SeededRng(seed, "cluster"))
    if dead is not None:
        cluster.brokers[BrokerId(dead)].alive = False
    if new:
        some = cluster.brokers[BrokerId(1)].rack
        cluster.brokers[BrokerId(9)] = SimBroker(some, 2000.0 * GB)
    return cluster.observe().snapshot


def check(plan: Plan, snapshot: Snapshot) -> None:
    alive = {broker.id for broker in snapshot.brokers if broker.state.stays}
    for change in plan.changes:
        assert len(set(change.after)) == len(change.after) == len(change.before)
        assert alive.issuperset(change.added)


@planners
@seeds
def test_a_broker_that_is_down_ends_empty_and_nothing_else_moves(
    planner: Planner, seed: int
) -> None:
    snapshot = snapshot_of(seed, dead=2)
    plan = planner(snapshot, Goals(tolerance=1.0, remove_brokers=frozenset({2})))
    check(plan, snapshot)
    left = {**snapshot.assignment.to_mapping(), **plan.after}
    assert not [tp for tp, ids in left.items() if 2 in ids]
    assert [change.tp for change in plan.changes] == [
        tp for tp, ids in sorted(snapshot.assignment.to_mapping().items()) if 2 in ids
    ]


@planners
@seeds
def test_a_new_broker_gets_load_within_the_budget(planner: Planner, seed: int) -> None:
    snapshot = snapshot_of(seed, new=True)
    resting = snapshot.assignment.keys()[0]
    goals = Goals(
        tolerance=0.05,
        max_bytes=400 * GB,
        max_moves=4,
        exclude_partitions=frozenset({(resting.topic, resting.partition)}),
    )
    plan = planner(snapshot, goals)
    check(plan, snapshot)
    size = dict(zip(snapshot.assignment.keys(), snapshot.size.tolist(), strict=True))
    assert sum(size[c.tp] * len(c.added) for c in plan.changes) <= 400 * GB
    assert sum(len(c.added) for c in plan.changes) <= 4
    assert resting not in plan.after


@planners
def test_brokers_that_all_leave_are_refused(planner: Planner) -> None:
    everyone = frozenset(int(broker.id) for broker in snapshot_of(1).brokers)
    with pytest.raises(InfeasibleGoals):
        planner(snapshot_of(1), Goals(remove_brokers=everyone))
