"""Who is slowed down while replicas move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import UnknownTopicOrPartition
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import (
    PartitionReplica,
    Throttles,
    active_moves,
    broker_rates,
    log_dir_brokers,
    log_dir_rates,
    move_map,
    reassign_to,
    throttles_of,
)

brokers = st.lists(st.integers(0, 12).map(BrokerId), min_size=1, max_size=4, unique=True)
keys = st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 12))
Lists = dict[TopicPartition, list[BrokerId]]


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def test_every_present_replica_may_lead_and_only_new_ones_follow() -> None:
    man0, man1 = TopicPartition("man", 0), TopicPartition("man", 1)
    moves = move_map({}, {man0: ids(0, 1, 2), man1: ids(2, 1)}, {man0: ids(2, 1), man1: ids(1, 0)})
    assert throttles_of(moves) == Throttles(
        {"man": "0:1,0:2,1:0,1:1"}, {"man": "0:0,1:2"}, ids(0, 1, 2)
    )


def test_a_pure_reorder_lists_its_leaders_and_an_empty_follower_value() -> None:
    tp = TopicPartition("t", 3)
    found = throttles_of(move_map({}, {tp: ids(2, 1)}, {tp: ids(1, 2)}))
    assert found == Throttles({"t": "3:1,3:2"}, {"t": ""}, ids(1, 2))


def test_items_are_sorted_as_texts() -> None:
    lists = {TopicPartition("t", number): ids(1) for number in (2, 10)}
    assert throttles_of(move_map({}, lists, lists)).leader == {"t": "10:1,2:1"}


def test_a_move_that_replaces_an_active_one_keeps_its_sources() -> None:
    tp = TopicPartition("t", 0)
    active = {tp: reassign_to(ReplicaAssignment(ids(1, 2)), ids(3, 2))}
    found = throttles_of(move_map(active, {tp: ids(4, 2)}, {tp: active[tp].replicas}))
    assert found == Throttles({"t": "0:1,0:2"}, {"t": "0:4"}, ids(1, 2, 4))


def test_active_moves_outside_the_file_stay_throttled() -> None:
    other = TopicPartition("other", 1)
    active = {other: reassign_to(ReplicaAssignment(ids(7)), ids(8))}
    tp = TopicPartition("t", 0)
    found = throttles_of(move_map(active, {tp: ids(2)}, {tp: ids(1)}))
    assert found.leader == {"other": "1:7", "t": "0:1"}
    assert found.follower == {"other": "1:8", "t": "0:2"}
    assert found.brokers == ids(1, 2, 7, 8)


def test_a_partition_that_nobody_knows_cannot_be_throttled() -> None:
    with pytest.raises(UnknownTopicOrPartition, match="t-0"):
        move_map({}, {TopicPartition("t", 0): ids(1)}, {})


def test_directory_throttles_go_to_the_brokers_that_move_directories() -> None:
    moves = [PartitionReplica("t", p, BrokerId(b)) for p, b in ((0, 5), (1, 2), (2, 5))]
    assert log_dir_brokers(moves) == (2, 5)
    assert log_dir_rates(7) == {"replica.alter.log.dirs.io.max.bytes.per.second": "7"}


def test_both_rates_are_set_alike() -> None:
    assert broker_rates(1024) == {
        "leader.replication.throttled.rate": "1024",
        "follower.replication.throttled.rate": "1024",
    }


@given(st.dictionaries(keys, st.tuples(brokers, brokers), max_size=8))
def test_no_replica_is_source_and_destination(
    moves: dict[TopicPartition, tuple[list[BrokerId], list[BrokerId]]],
) -> None:
    current: Lists = {tp: before for tp, (before, _) in moves.items()}
    proposed: Lists = {tp: after for tp, (_, after) in moves.items()}
    for tp, move in move_map({}, proposed, current).items():
        assert move.sources == set(current[tp])
        assert move.sources | move.destinations == set(current[tp]) | set(proposed[tp])
        assert not move.sources & move.destinations


@given(st.dictionaries(keys, st.tuples(brokers, brokers), max_size=8))
def test_submitting_an_active_move_again_changes_no_throttle(
    moves: dict[TopicPartition, tuple[list[BrokerId], list[BrokerId]]],
) -> None:
    active = {
        tp: reassign_to(ReplicaAssignment(tuple(before)), after)
        for tp, (before, after) in moves.items()
    }
    again = {tp: now.target for tp, now in active.items()}
    full = {tp: now.replicas for tp, now in active.items()}
    assert throttles_of(move_map(active, again, full)) == throttles_of(active_moves(active))


@given(st.dictionaries(keys, st.tuples(brokers, brokers), min_size=1, max_size=8))
def test_every_listed_replica_is_on_a_broker_with_a_rate(
    moves: dict[TopicPartition, tuple[list[BrokerId], list[BrokerId]]],
) -> None:
    current: Lists = {tp: before for tp, (before, _) in moves.items()}
    found = throttles_of(move_map({}, {tp: after for tp, (_, after) in moves.items()}, current))
    listed = ",".join([*found.leader.values(), *found.follower.values()]).split(",")
    assert {int(item.split(":")[1]) for item in listed if item} == set(found.brokers)
