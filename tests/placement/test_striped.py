"""The striped placer: equal to the slow twin, with its flaw."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import DuplicateInRequest, InvalidPartitions, InvalidReplicationFactor
from kedge.model import Broker, BrokerId
from kedge.placement import place_striped
from tests.placement.clusters import ODD_RACKS, broker_ids
from tests.placement.laws import check_laws
from tests.placement.naive import naive_striped


@given(st.data())
def test_stripes_are_the_slow_twins_for_any_luck(data: st.DataObject) -> None:
    racks = st.sampled_from([None, *data.draw(st.lists(st.sampled_from(ODD_RACKS), max_size=4))])
    cluster = [Broker(BrokerId(i), data.draw(racks)) for i in data.draw(broker_ids)]
    fenced = data.draw(st.sets(st.sampled_from([b.id for b in cluster[1:]]))) if cluster[1:] else ()
    rf = data.draw(st.integers(1, len(cluster)))
    seed = data.draw(st.integers(0, 999))
    partitions = data.draw(st.integers(0, 80))
    made = place_striped(
        cluster,
        partitions=partitions,
        replication_factor=rf,
        draw=random.Random(seed).randrange,
        fenced=fenced,
    )
    luck = random.Random(seed).randrange
    assert made.as_mapping() == naive_striped(cluster, set(fenced), partitions, rf, luck)
    check_laws(made, [Broker(b.id) for b in cluster], leaders_even=False)
    assert set(made.leaders_per_broker()).isdisjoint(fenced)


def grid(racks: int, brokers: int) -> list[Broker]:
    return [Broker(BrokerId(i), f"r{i // brokers}") for i in range(racks * brokers)]


def no_luck(bound: int) -> int:
    return 0


def test_the_worked_example() -> None:
    made = place_striped(grid(3, 2), partitions=3, replication_factor=2, draw=no_luck)
    assert made.as_mapping() == {0: (0, 2), 1: (3, 5), 2: (4, 1)}


def test_a_square_grid_uses_three_replica_sets_in_its_first_nine_partitions() -> None:
    made = place_striped(grid(3, 3), partitions=9, replication_factor=3, draw=no_luck)
    assert len({frozenset(row) for row in made.as_mapping().values()}) == 3


def test_a_list_last_used_in_epoch_zero_seems_used_up_after_the_restart() -> None:
    # a draw of n-1 swaps nothing, so racks keep their order and rack b's turn always comes second
    made = place_striped(
        grid(2, 1), partitions=100, replication_factor=1, draw=lambda bound: bound - 1
    )
    assert max(made.leaders_per_broker().values()) > 90


def test_the_first_partition_only_names_the_rows() -> None:
    made = place_striped(
        grid(1, 2), partitions=2, replication_factor=1, draw=no_luck, first_partition=7
    )
    assert made.as_mapping() == {7: (0,), 8: (1,)}


@pytest.mark.parametrize(
    ("cluster", "fenced", "rf", "words"),
    [
        (grid(1, 2), (), 0, "replication factor 0"),
        (grid(1, 2), (0, 1), 1, "all 2 brokers are fenced"),
        (grid(1, 2), (1,), 3, "replication factor 3, 2 brokers"),
        ([], (), 1, "0 brokers"),
    ],
)
def test_replication_factors_that_cannot_be_are_refused(
    cluster: list[Broker], fenced: tuple[BrokerId, ...], rf: int, words: str
) -> None:
    with pytest.raises(InvalidReplicationFactor, match=words):
        place_striped(cluster, partitions=1, replication_factor=rf, draw=no_luck, fenced=fenced)


def test_fewer_than_no_partitions_are_refused() -> None:
    with pytest.raises(InvalidPartitions):
        place_striped(grid(1, 1), partitions=-1, replication_factor=1, draw=no_luck)


def test_a_broker_listed_twice_is_refused() -> None:
    with pytest.raises(DuplicateInRequest):
        place_striped(grid(1, 1) * 2, partitions=1, replication_factor=1, draw=no_luck)
