"""Adding partitions: partition 0 is the model, and nothing else of the past counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import (
    InconsistentRacks,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KedgeError,
    MissingPartitionZero,
    UnknownBroker,
)
from kedge.model import Broker, BrokerId
from kedge.placement import expand, fixed, place
from tests.placement.clusters import clusters
from tests.placement.naive import naive_place


def brokers(*ids: int) -> list[Broker]:
    return [Broker(BrokerId(i)) for i in ids]


def grow(ids: tuple[int, ...], existing: dict[int, Any], total: int, manual: Any = None):
    return expand(brokers(*ids), existing=existing, total=total, manual=manual).as_mapping()


def test_expansion_does_not_continue_creation() -> None:
    five = brokers(0, 1, 2, 3, 4)
    ten = place(five, partitions=10, replication_factor=3, start=fixed(0)).as_mapping()
    thirteen = place(five, partitions=13, replication_factor=3, start=fixed(0)).as_mapping()
    assert expand(five, existing=ten, total=13).as_mapping()[10] == (0, 2, 3)
    assert thirteen[10] == (0, 3, 4)


@pytest.mark.parametrize(
    ("live", "existing", "total", "expected"),
    [
        ((0, 1, 2), {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 0, 1)}, 4, {3: (0, 2, 1)}),
        ((2, 5), {0: (8, 2), 1: (2, 8)}, 4, {2: (2, 5), 3: (5, 2)}),
        ((8, 5, 2), {0: (4, 2), 1: (2, 4)}, 4, {2: (2, 8), 3: (5, 8)}),
    ],
)
def test_the_ring_is_entered_at_the_models_leader_or_the_next_larger_id(
    live: tuple[int, ...], existing: dict[int, Any], total: int, expected: dict[int, Any]
) -> None:
    assert grow(live, existing, total) == expected


def test_the_index_is_by_id_even_where_the_ring_alternates_racks() -> None:
    nine = [Broker(BrokerId(i), f"rack{i // 3 + 1}") for i in range(9)]
    model = tuple(map(BrokerId, (3, 7, 2)))
    made = expand(nine, existing=dict.fromkeys(range(9), model), total=11)
    assert made.as_mapping() == {9: (1, 8, 3), 10: (4, 0, 6)}


def test_ids_count_from_the_number_of_partitions_and_may_fall_on_an_existing_one() -> None:
    assert list(grow((0, 1, 2), {0: (1, 2), 5: (0, 1)}, 6)) == [2, 3, 4, 5]


@given(st.data())
def test_expansion_is_a_placement_from_the_models_index(data: st.DataObject) -> None:
    cluster = data.draw(clusters)
    in_order = sorted(cluster, key=lambda b: b.id)
    count = data.draw(st.integers(1, len(cluster)))
    model = tuple(b.id for b in data.draw(st.permutations(cluster))[:count])
    size = data.draw(st.integers(1, 30))
    more = data.draw(st.integers(1, 60))
    made = expand(cluster, existing=dict.fromkeys(range(size), model), total=size + more)
    index = [b.id for b in in_order].index(model[0])
    assert made.as_mapping() == naive_place(in_order, more, count, index, index, size)


PAIR = {0: (0, 1), 1: (1, 0)}


def test_manual_lists_are_taken_as_they_are() -> None:
    assert grow((0, 1, 2), PAIR, 4, {3: (2, 0), 2: (1, 2)}) == {2: (1, 2), 3: (2, 0)}


@pytest.mark.parametrize(
    ("live", "existing", "total", "manual", "error", "words"),
    [
        ((0, 1), {}, 1, None, MissingPartitionZero, "0 partitions without partition 0"),
        ((0, 1), {3: (0, 1)}, 0, {9: ()}, MissingPartitionZero, "without partition 0"),
        ((0, 1), PAIR, 2, None, InvalidPartitions, "2 partitions asked for, 2 are there"),
        ((0, 1), PAIR, 1, {2: ()}, InvalidPartitions, "ask for 3 or more"),
        ((0,), PAIR, 3, None, InvalidReplicationFactor, "replication factor 2, 1 broker"),
        ((0,), {0: ()}, 3, None, InvalidReplicationFactor, "replication factor 0"),
        ((0, 1), PAIR, 3, {2: ()}, InvalidReplicaAssignment, "partition 2: no replica"),
        ((0, 1), PAIR, 3, {2: (0, 0, 7)}, InvalidReplicaAssignment, "a broker twice in [0, 0, 7]"),
        ((0, 1), PAIR, 4, {2: (0,), 3: (0, 7)}, UnknownBroker, "partition 3: no broker 7 alive"),
        ((0, 1), PAIR, 4, {3: (0,), 2: (0, 1)}, InvalidReplicaAssignment, "partition 3: 1 repl"),
        ((0, 1), PAIR, 2**31 + 1, None, InvalidPartitions, "at most 2147483647"),
    ],
)
def test_what_is_wrong_is_said_in_kafkas_order(
    live: tuple[int, ...],
    existing: dict[int, Any],
    total: int,
    manual: Any,
    error: type[KedgeError],
    words: str,
) -> None:
    with pytest.raises(error) as refused:
        grow(live, existing, total, manual)
    assert words in str(refused.value)


def test_mixed_racks_are_refused() -> None:
    mixed = [Broker(BrokerId(0), "a"), Broker(BrokerId(1))]
    with pytest.raises(InconsistentRacks):
        expand(mixed, existing={0: (BrokerId(0),)}, total=2)
