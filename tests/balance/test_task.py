"""From a snapshot and goals to arrays."""

from __future__ import annotations

import numpy as np
import pytest

from kedge.balance import Goals, NewBroker, task_of
from kedge.balance.goals.apply_goals import apply_goals, rack_limits, settled_assignment
from kedge.errors import InvalidRequest, UnknownBroker, UnknownTopicOrPartition
from kedge.model import BrokerState
from tests.balance.snapshots import broker, cluster, lopsided


def test_what_is_told_stands_in_its_column_and_counts_fill_the_rest() -> None:
    everything = lopsided()
    assert task_of(everything, Goals()).columns == ("disk", "in", "out", "cpu")
    sizes = lopsided(bytes_in=None, bytes_out=None)
    assert task_of(sizes, Goals()).columns == ("disk", "replicas", "leaders", "")
    nothing = lopsided(size=None, bytes_in=None, bytes_out=None)
    task = task_of(nothing, Goals())
    assert task.columns == ("replicas", "leaders", "", "")
    assert task.notes == (
        "disk, network and cpu: no data; they are not balanced",
        "no sizes are known: the numbers of replicas and leaders are balanced",
    )
    assert task.problem.size.tolist() == [1.0] * len(nothing)
    no_cpu = task_of(lopsided(cpu_model=None), Goals(weights={"leaders": 1}))
    assert no_cpu.columns == ("disk", "in", "out", "leaders")


def test_loads_are_those_of_the_wanted_factor() -> None:
    snapshot = cluster([broker(b) for b in range(3)], {"t": [([0, 1], 10)]})
    problem = task_of(snapshot, Goals(replication_factor={"t": 3})).problem
    assert problem.wanted.tolist() == [3]
    assert problem.leader_load[0, 2] == pytest.approx(10e9 / 2e5 + 2 * 10e9 / 1e5)
    assert problem.initial.tolist() == [[0, 1, -1]]


def test_a_broker_without_capacity_is_taken_as_the_median_of_the_others() -> None:
    from kedge.model import Capacity

    brokers = [broker(0), broker(1), broker(2, capacity=Capacity())]
    problem = task_of(cluster(brokers, {"t": [([0], 1)]}), Goals()).problem
    assert problem.capacity[2, 0] == problem.capacity[0, 0]
    assert np.isinf(problem.hard_limit[2, 0])
    assert problem.hard_limit[0, 0] == problem.capacity[0, 0]


def test_excluded_and_moving_partitions_stay_and_their_factor_is_what_they_have() -> None:
    adding = np.full((30, 1), -1, np.int32)
    adding[0] = 2
    snapshot = lopsided(adding=adding)
    task = task_of(snapshot, Goals(exclude_topics="small", replication_factor={".*": 3}))
    fixed = task.fixed
    assert fixed[0]
    assert fixed[24:].all()
    assert not fixed[1:24].any()
    assert set(task.problem.wanted[fixed].tolist()) == {2}
    assert set(task.problem.wanted[~fixed].tolist()) == {3}
    assert not task.problem.leader_movable[fixed].any()
    assert "1 partitions are already moving and are left as they are" in task.notes


def test_a_partition_under_way_is_counted_where_it_will_be() -> None:
    removing = np.full((30, 1), -1, np.int32)
    removing[0] = 0
    snapshot = lopsided(removing=removing)
    assert settled_assignment(snapshot)[0].tolist() == [1, -1]


def test_racks_hold_as_little_of_a_partition_as_their_sizes_allow() -> None:
    sizes = np.array([1, 3], np.int32)
    assert rack_limits(sizes, np.array([1, 2, 3, 4], np.int32)).tolist() == [1, 1, 2, 3]
    equal = np.array([2, 2, 2], np.int32)
    assert rack_limits(equal, np.array([3, 4, 6], np.int32)).tolist() == [1, 2, 2]


def test_brokers_come_and_go_as_the_goals_say() -> None:
    snapshot = lopsided()
    goals = Goals(remove_brokers=frozenset({0}), add_brokers=(NewBroker(9, "a"),))
    after = apply_goals(snapshot, goals)
    assert after.brokers[0].state is BrokerState.DRAINING
    assert (after.brokers[-1].id, after.brokers[-1].state) == (9, BrokerState.NEW)
    assert after.brokers[-1].capacity == snapshot.brokers[0].capacity
    assert apply_goals(snapshot, Goals()) is snapshot


def test_names_that_nobody_has_are_refused() -> None:
    with pytest.raises(UnknownBroker, match="broker 77"):
        task_of(lopsided(), Goals(remove_brokers=frozenset({77})))
    with pytest.raises(UnknownTopicOrPartition, match="No topic matches 'nothing'"):
        task_of(lopsided(), Goals(exclude_topics="nothing"))
    with pytest.raises(InvalidRequest, match="write 9:rack"):
        task_of(lopsided(), Goals(add_brokers=(NewBroker(9),)))
