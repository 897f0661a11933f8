from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import (
    DuplicateInRequest,
    InvalidReplicaAssignment,
    UnknownTopicOrPartition,
)
from kedge.model import Assignment, TopicPartition
from tests.model.strategies import topics, untimed

ids = st.integers(0, 2**31 - 1)
mappings = st.dictionaries(
    st.builds(TopicPartition, topics, ids), st.lists(ids, max_size=4, unique=True).map(tuple)
)

ORDERS = {
    TopicPartition("orders", 1): (2, 3),
    TopicPartition("orders", 0): (1, 2),
    TopicPartition("logs", 0): (4,),
}


def test_rows_are_in_the_order_of_topic_and_partition() -> None:
    assignment = Assignment.from_mapping(ORDERS)
    assert assignment.topics == ("logs", "orders")
    assert assignment.topic.tolist() == [0, 1, 1]
    assert assignment.partition.tolist() == [0, 0, 1]
    assert assignment.replicas.tolist() == [[4, -1], [1, 2], [2, 3]]
    assert assignment.rf.tolist() == [1, 2, 2]


@untimed
@given(mappings)
def test_a_mapping_comes_back_as_it_was(mapping: dict[TopicPartition, tuple[int, ...]]) -> None:
    assignment = Assignment.from_mapping(mapping)
    assert assignment.to_mapping() == mapping
    assert list(assignment.to_mapping()) == sorted(mapping)
    assert len(assignment) == len(mapping)


@untimed
@given(mappings)
def test_every_partition_is_found_at_its_row(mapping: dict[TopicPartition, list[int]]) -> None:
    assignment = Assignment.from_mapping(mapping)
    assert assignment.rows(assignment.keys()).tolist() == list(range(len(mapping)))
    for row in range(len(assignment)):
        assert assignment.replicas_of(row) == mapping[assignment.key(row)]


@pytest.mark.parametrize("absent", [("orders", 2), ("orders", -1), ("logs", 1), ("zoo", 0)])
def test_a_partition_that_is_not_there_is_not_found(absent: tuple[str, int]) -> None:
    with pytest.raises(UnknownTopicOrPartition, match="is not in the assignment"):
        Assignment.from_mapping(ORDERS).row(TopicPartition(*absent))


def test_the_rows_of_a_topic_lie_side_by_side() -> None:
    assignment = Assignment.from_mapping(ORDERS)
    assert assignment.rows_of_topic("orders") == slice(1, 3)
    assert assignment.rows_of_topic("missing") == slice(0, 0)


def test_padding_does_not_make_assignments_differ() -> None:
    assignment = Assignment.from_mapping(ORDERS)
    wider = np.pad(assignment.replicas, ((0, 0), (0, 2)), constant_values=-1)
    assert assignment.with_replicas(wider) == assignment


def test_another_replica_makes_assignments_differ() -> None:
    assignment = Assignment.from_mapping(ORDERS)
    other = assignment.replicas.copy()
    other[2, 1] = 9
    assert assignment.with_replicas(other) != assignment


def test_columns_in_any_order_and_topics_without_rows_are_put_right() -> None:
    assignment = Assignment.from_columns(
        ["orders", "unused", "logs"],
        np.array([0, 2, 0]),
        np.array([1, 0, 0]),
        np.array([[2, 3], [4, -1], [1, 2]], np.int32),
    )
    assert assignment == Assignment.from_mapping(ORDERS)


def test_the_columns_cannot_be_written() -> None:
    matrix = np.array([[1]], np.int32)
    assignment = Assignment.from_columns(["t"], np.array([0]), np.array([0]), matrix)
    with pytest.raises(ValueError, match="read-only"):
        assignment.replicas[0, 0] = 2
    matrix[0, 0] = 1  # the caller's own array stays his


def test_a_partition_listed_twice_is_refused() -> None:
    with pytest.raises(DuplicateInRequest, match="orders-1 is listed more than once"):
        Assignment.from_rows([("orders", 1, [1]), ("logs", 1, [1]), ("orders", 1, [2])])


def test_a_broker_id_below_zero_is_refused() -> None:
    with pytest.raises(InvalidReplicaAssignment, match="orders-1: a broker id below 0"):
        Assignment.from_rows([("orders", 0, [1]), ("orders", 1, [1, -1])])


def test_other_replicas_must_be_as_many() -> None:
    with pytest.raises(InvalidReplicaAssignment, match="1 replica lists, 3 partitions"):
        Assignment.from_mapping(ORDERS).with_replicas(np.zeros((1, 2), np.int32))
