"""The order in which brokers are taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.replicas import move_replicas
from kedge.controller.states import ReplicaState
from kedge.model import BrokerId
from kedge.model.scala_map_order import immutable_map_order
from tests.controller.stage import Stage, brokers

# written down from Kafka 3.9.1's own grouping of replicas by broker
SEEN = [
    ([1, 2, 3], [1, 2, 3]),
    (list(range(1, 10)), [5, 1, 6, 9, 2, 7, 3, 8, 4]),
    ([0, 1, 2, 3, 100, 101], [1, 2, 3, 100, 101, 0]),
]


@pytest.mark.parametrize(("asked", "taken"), SEEN)
def test_brokers_are_taken_as_kafka_takes_them(asked: list[int], taken: list[int]) -> None:
    assert immutable_map_order(brokers(*asked)) == list(brokers(*taken))


@given(st.sets(st.integers(-(2**31), 2**31 - 1).map(BrokerId), max_size=200))
def test_every_broker_is_taken_once_whatever_the_order_of_asking(asked: set[BrokerId]) -> None:
    taken = immutable_map_order(sorted(asked))
    assert set(taken) == asked
    assert len(taken) == len(asked)
    assert immutable_map_order(sorted(asked, reverse=True)) == taken


def test_the_last_broker_taken_is_the_one_that_the_isr_keeps() -> None:
    stage = Stage(registered=(3, 6))
    where = stage.add("t-0", [6, 3])
    leaving = {b: [where] for b in brokers(3, 6)}
    stage.run(move_replicas(stage.context, leaving, ReplicaState.OFFLINE))
    assert stage.stored[where].isr == brokers(3)
