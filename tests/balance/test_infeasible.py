"""Demands that cannot be met: one sentence, the goal in the way, the least change that helps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kedge.balance import Goals, plan_of, task_of
from kedge.errors import InfeasibleGoals
from tests.balance.snapshots import broker, cluster, lopsided


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"replication_factor": {"large": 7}},
            "Replication factor 7 of topic large needs 7 brokers; 6 stay; use replication factor 6 "
            "or keep 1 more brokers",
        ),
        (
            {"replication_factor": {"large": 4}, "strict_racks": True},
            "--strict-racks: 4 replicas of topic large need 4 racks; there are 3; use 3 replicas, "
            "add 1 racks, or drop --strict-racks",
        ),
        (
            {"exclude_topics": ".*"},
            "Nothing to plan: every partition is excluded or already moving; "
            "include at least one topic",
        ),
        (
            {"remove_brokers": frozenset({3}), "exclude_topics": "small"},
            "Broker 3 is to be emptied and holds 4 replicas that are excluded; "
            "let small move, or keep broker 3",
        ),
        (
            {"remove_brokers": frozenset({0}), "exclude_brokers": frozenset({1, 2, 3, 4, 5})},
            "16 replicas must move and no broker may receive them; "
            "let one of 0, 1, 2, 3, 4 and 1 more receive",
        ),
        (
            {"max_replicas_per_broker": 9},
            "6 brokers with at most 9 replicas each cannot hold 60 replicas; "
            "use --max-replicas-per-broker 10",
        ),
        (
            {"limits": {"disk": 0.15}},
            "The load needs 1.04 TB of disk; the limits allow 900 GB; "
            "add brokers for 144 GB, or use --limits disk=18%",
        ),
    ],
)
def test_it_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InfeasibleGoals) as refused:
        task_of(lopsided(), Goals(**asked))
    assert str(refused.value) == said


def test_a_budget_that_forced_work_passes_is_refused() -> None:
    leaving = Goals(remove_brokers=frozenset({0}), max_moves=3)
    with pytest.raises(
        InfeasibleGoals, match="16 replicas must move; --max-moves allows 3; use --max-moves 16"
    ):
        plan_of(lopsided(), leaving)
    with pytest.raises(
        InfeasibleGoals, match=r"GB must move; --max-bytes allows 5 B; use --max-bytes \d+MB"
    ):
        plan_of(lopsided(), Goals(remove_brokers=frozenset({0}), max_bytes=5))


@pytest.mark.parametrize(
    ("asked", "helped"),
    [
        ({"replication_factor": {"large": 7}}, {"replication_factor": {"large": 6}}),
        ({"max_replicas_per_broker": 9}, {"max_replicas_per_broker": 10}),
        ({"limits": {"disk": 0.15}}, {"limits": {"disk": 0.18}}),
    ],
)
def test_what_the_refusal_proposes_is_accepted(
    asked: dict[str, Any], helped: dict[str, Any]
) -> None:
    with pytest.raises(InfeasibleGoals):
        task_of(lopsided(), Goals(**asked))
    task_of(lopsided(), Goals(**helped))


def test_a_broker_that_holds_what_is_being_moved_cannot_be_emptied_yet() -> None:
    adding = np.full((30, 1), -1, np.int32)
    adding[0] = 1
    with pytest.raises(InfeasibleGoals, match="already moving; wait for the moves, or"):
        task_of(lopsided(adding=adding), Goals(remove_brokers=frozenset({0})))


def test_a_replica_that_no_disk_can_take_is_named() -> None:
    from kedge.model import Capacity

    small = Capacity(100e9, 1e9, 1e9, 1e4)
    brokers = [broker(0), *(broker(b, capacity=small) for b in range(1, 9))]
    snapshot = cluster(brokers, {"t": [([0], 200)]})
    with pytest.raises(InfeasibleGoals, match="A replica of 200 GB must move; the largest disk"):
        task_of(snapshot, Goals(remove_brokers=frozenset({0})))


def test_a_threshold_below_the_best_level_is_refused_with_that_level() -> None:
    with pytest.raises(
        InfeasibleGoals, match=r"disk of some broker stays at 17.4 % or more; use --above 18%"
    ):
        plan_of(lopsided(), Goals(above=0.1, weights={"in": 0, "out": 0, "cpu": 0}))


def test_a_threshold_without_capacities_is_refused() -> None:
    from kedge.model import Capacity

    brokers = [broker(b, capacity=Capacity()) for b in range(3)]
    with pytest.raises(InfeasibleGoals, match="--above needs capacities, and no broker has one"):
        plan_of(cluster(brokers, {"t": [([0], 200)]}), Goals(above=0.85))


def test_a_limit_that_two_large_replicas_must_pass_is_refused_with_what_is_possible() -> None:
    from kedge.model import Capacity

    room = Capacity(100e9, 1e9, 1e9, 1e4)
    brokers = [broker(b, capacity=room) for b in range(3)]
    snapshot = cluster(brokers, {"t": [([0], 60), ([1], 60), ([2], 60), ([0], 60)]})
    with pytest.raises(
        InfeasibleGoals,
        match=r"The disk limit is 100 % .* 120.0 %; add brokers, or use --limits disk=off",
    ):
        plan_of(snapshot, Goals())
    plan_of(snapshot, Goals(limits={"disk": 1.2}))
