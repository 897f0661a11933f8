"""What rounds of kills are judged by: random plans, and what a cluster shows instead of them."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kedge.cluster.port import Replica
from kedge.model import BrokerId, TopicPartition
from tests.real.four_brokers import BROKER_IDS
from tests.real.operator import Entry
from tests.real.trial_plan import ANY, Goal, Shown, TrialPlan, draw_plan

PARTITIONS = [TopicPartition("orders", number) for number in range(6)]
SEEDS = st.integers(0, 1_000_000)


def log_dirs(broker: int) -> tuple[str, str]:
    return f"/b{broker}-a", f"/b{broker}-b"


def drawn(seed: int) -> TrialPlan:
    draw = random.Random(seed)
    replicas = {tp: tuple(draw.sample(BROKER_IDS, 2)) for tp in PARTITIONS}
    directories = {
        Replica(tp.topic, tp.partition, BrokerId(broker)): draw.choice(log_dirs(broker))
        for tp, brokers in replicas.items()
        for broker in brokers
    }
    return draw_plan(Shown(replicas, directories), log_dirs, draw, directories=True)


def carried_out(plan: TrialPlan) -> Shown:
    """What a cluster shows when a plan is in place; unnamed directories stay or are the first."""
    directories: dict[Replica, str] = {}
    for tp, entry in plan.entries.items():
        for at, broker in enumerate(entry.replicas):
            replica = Replica(tp.topic, tp.partition, BrokerId(broker))
            kept = plan.before.directories.get(replica, log_dirs(broker)[0])
            name = ANY if entry.log_dirs is None else entry.log_dirs[at]
            directories[replica] = kept if name == ANY else name
    return Shown({tp: entry.replicas for tp, entry in plan.entries.items()}, directories)


@given(SEEDS)
def test_a_plan_in_place_is_after_and_an_untouched_cluster_is_before(seed: int) -> None:
    plan = drawn(seed)
    after = carried_out(plan)
    assert plan.differences(after, Goal.AFTER) == []
    assert plan.differences(plan.before, Goal.BEFORE) == []
    assert plan.differences(after, Goal.EITHER) == plan.differences(plan.before, Goal.EITHER) == []


@given(SEEDS)
def test_every_partition_of_a_plan_changes(seed: int) -> None:
    plan = drawn(seed)
    assert len(plan.differences(plan.before, Goal.AFTER)) >= len(PARTITIONS)
    after = carried_out(plan)
    assert len(plan.differences(after, Goal.BEFORE)) >= len(PARTITIONS)


@given(SEEDS, st.sampled_from(PARTITIONS))
def test_replicas_in_another_order_are_neither_before_nor_after(
    seed: int, tp: TopicPartition
) -> None:
    plan = drawn(seed)
    entries = dict(plan.entries) | {tp: Entry((4, 3))}
    replicas = dict(plan.before.replicas) | {tp: (1, 2)}
    plan = TrialPlan(entries, replace(plan.before, replicas=replicas))
    now = replace(plan.before, replicas=replicas | {tp: (2, 1)})
    for goal in (Goal.BEFORE, Goal.EITHER):
        (found,) = plan.differences(now, goal)
        assert "(2, 1)" in found


def test_a_replica_in_another_directory_than_the_plan_names_is_found() -> None:
    tp, replica = PARTITIONS[0], Replica("orders", 0, BrokerId(1))
    plan = TrialPlan({tp: Entry((1, 3), ("/b1-b", ANY))}, Shown({tp: (1, 2)}, {replica: "/b1-a"}))
    now = Shown({tp: (1, 3)}, {replica: "/b1-a"})
    assert plan.differences(now, Goal.AFTER)
    assert plan.differences(now, Goal.EITHER) == []
    back = Shown({tp: (1, 2)}, {replica: "/b1-b"})
    assert plan.differences(back, Goal.BEFORE)
