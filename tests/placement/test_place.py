"""Placing new partitions: equal to the slow twin, lawful, and strict about what it is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import (
    DuplicateInRequest,
    InconsistentRacks,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    KedgeError,
)
from kedge.model import Broker, BrokerId
from kedge.placement import Placement, Start, drawn, fixed, place
from tests.placement.clusters import clusters, first_partitions, starts
from tests.placement.laws import check_laws
from tests.placement.naive import naive_place


def brokers(*racks: str | None) -> list[Broker]:
    return [Broker(BrokerId(i), rack) for i, rack in enumerate(racks)]


def ask(given_brokers: list[Broker], partitions: int = 1, rf: int = 1) -> Placement:
    return place(given_brokers, partitions=partitions, replication_factor=rf, start=fixed(0))


@given(st.data())
def test_every_placement_is_the_slow_twins_and_keeps_the_laws(data: st.DataObject) -> None:
    cluster = data.draw(clusters)
    rf = data.draw(st.integers(1, len(cluster)))
    partitions = data.draw(st.integers(1, 300))
    start = data.draw(starts)
    first = data.draw(first_partitions)
    made = place(
        cluster, partitions=partitions, replication_factor=rf, start=start, first_partition=first
    )
    expected = naive_place(cluster, partitions, rf, start.start, start.shift, first)
    assert made.as_mapping() == expected
    check_laws(made, cluster)


@pytest.mark.parametrize("racks", [(None,), ("a", "b", "c"), ("a",)])
def test_a_ring_of_hundreds_over_many_rounds_is_the_slow_twins(racks: tuple[str | None]) -> None:
    cluster = brokers(*(racks[i % len(racks)] for i in range(301)))
    made = place(
        cluster, partitions=9_000, replication_factor=4, start=Start(299, 123), first_partition=602
    )
    assert made.as_mapping() == naive_place(cluster, 9_000, 4, 299, 123, 602)


def test_the_ring_keeps_the_order_in_which_brokers_without_racks_are_given() -> None:
    cluster = [Broker(BrokerId(i)) for i in (8, 2, 5)]
    assert ask(cluster, 2, 2).as_mapping() == {0: (8, 2), 1: (2, 5)}


def test_a_first_partition_below_zero_counts_as_zero() -> None:
    made = place(
        brokers(None, None),
        partitions=1,
        replication_factor=1,
        start=fixed(1),
        first_partition=-1,
    )
    assert made.as_mapping() == {0: (1,)}


def test_a_small_rack_of_two_has_a_replica_of_everything() -> None:
    made = ask(brokers("a", "a", "a", "b"), 40, 2)
    assert made.replicas_per_broker()[BrokerId(3)] == 40


@pytest.mark.parametrize(
    ("cluster", "partitions", "rf", "error", "words"),
    [
        ([], 1, 1, InvalidReplicationFactor, "replication factor 1, 0 brokers; start a broker"),
        ([], 0, 1, InvalidPartitions, "0 partitions; ask for 1 or more"),
        (brokers(None, "a"), 0, 0, InvalidPartitions, "0 partitions"),
        (brokers(None, "a"), 1, 0, InvalidReplicationFactor, "replication factor 0"),
        (brokers(None, "a"), 1, 3, InvalidReplicationFactor, "factor 3, 2 brokers; ask for 2 or"),
        (brokers(None), 1, 2, InvalidReplicationFactor, "factor 2, 1 broker; ask for 1"),
        (brokers(None, "a"), 1, 2, InconsistentRacks, "broker 1 with a rack, broker 0 without"),
        (brokers(*"a" * 9, None), 1, 1, InconsistentRacks, "brokers 0, 1, 2, 3, 4 and 4 more"),
        (brokers(None) * 2, 1, 2, DuplicateInRequest, "broker 0 is listed twice"),
        (brokers(None), 2**31, 1, InvalidPartitions, "a topic has at most 2147483647"),
        (brokers(None), 2**31 - 1, 1, InvalidPartitions, "ask for 536870912 partitions or fewer"),
        ([Broker(BrokerId(2**31))], 1, 1, InvalidReplicaAssignment, "2147483648 does not fit"),
    ],
)
def test_the_first_thing_wrong_is_said_with_its_figures(
    cluster: list[Broker], partitions: int, rf: int, error: type[KedgeError], words: str
) -> None:
    with pytest.raises(error) as refused:
        ask(cluster, partitions, rf)
    assert type(refused.value) is error
    assert words in str(refused.value)


def test_ids_must_end_where_kafkas_do() -> None:
    with pytest.raises(InvalidPartitions, match="2 partitions from id 2147483646"):
        place(
            brokers(None),
            partitions=2,
            replication_factor=1,
            start=fixed(0),
            first_partition=2**31 - 2,
        )


def test_start_and_shift_are_drawn_in_that_order() -> None:
    bounds: list[int] = []
    numbers = iter([4, 2])

    def draw(bound: int) -> int:
        bounds.append(bound)
        return next(numbers)

    assert drawn(draw, 7) == Start(4, 2)
    assert bounds == [7, 7]


def test_nothing_is_drawn_for_no_brokers() -> None:
    assert drawn(lambda bound: 1 // bound, 0) == Start(0, 0)


@pytest.mark.parametrize(("start", "shift"), [(-1, 0), (0, -1)])
def test_a_start_below_zero_is_refused(start: int, shift: int) -> None:
    with pytest.raises(InvalidRequest, match="both count from 0"):
        Start(start, shift)
