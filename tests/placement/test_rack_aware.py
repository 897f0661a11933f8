"""The alternating order, and the kernel in its two forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.jit import WORTH_CALLING
from kedge.model import Broker, BrokerId
from kedge.placement import Start, alternate_racks, fixed, place
from kedge.placement.rack_aware import fill_rounds, in_turn_until
from kedge.placement.rounds import rounds_for
from tests.placement.clusters import racked_clusters, starts
from tests.placement.naive import naive_alternate, naive_place


def compiled_rows(cluster: Sequence[Broker], rf: int, start: Start) -> list[tuple[int, ...]]:
    """All distinct rounds as the compiled kernel fills them."""
    size = len(cluster)
    rounds = rounds_for(size, partitions=size * size, start=start, first_partition=0)
    order = alternate_racks(cluster)
    names = list(dict.fromkeys(b.rack for b in order))
    racks = [names.index(b.rack) for b in order] * 3
    cells = np.full(rounds.distinct * size * rf, -1, dtype=np.int32)
    fill_rounds.compiled(
        cells,
        np.array([b.id for b in order] * 3, dtype=np.int32),
        np.array(racks, dtype=np.int64),
        np.array(in_turn_until(racks, len(names)), dtype=np.int64),
        np.zeros(rf, dtype=np.int64),
        np.zeros(len(names), dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        rounds.distinct,
        rounds.position,
        rounds.shift,
    )
    return [tuple(row) for row in cells.reshape(-1, rf).tolist()]


@settings(deadline=None)
@given(st.data())
def test_the_compiled_kernel_is_the_slow_twins(data: st.DataObject) -> None:
    cluster = data.draw(racked_clusters())
    rf = data.draw(st.integers(1, len(cluster)))
    start = data.draw(starts)
    rows = compiled_rows(cluster, rf, start)
    expected = naive_place(cluster, len(rows), rf, start.start, start.shift)
    assert rows == list(expected.values())


@given(racked_clusters())
def test_racks_take_turns_whatever_the_order_of_brokers(cluster: list[Broker]) -> None:
    assert alternate_racks(cluster) == naive_alternate(cluster)
    assert alternate_racks(cluster[::-1]) == naive_alternate(cluster)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("r10", "r2"), ("B", "a"), ("", "0"), ("rack-1", "rack.1"), ("\U0001f40b", "\ue000")],
)
def test_racks_are_ordered_by_utf16_units(earlier: str, later: str) -> None:
    cluster = [Broker(BrokerId(0), later), Broker(BrokerId(1), earlier)]
    assert [b.rack for b in alternate_racks(cluster)] == [earlier, later]


def test_a_rack_that_has_run_out_is_passed_over() -> None:
    racks = {0: "a", 1: "b", 2: "a", 3: "c", 4: "a", 5: "c"}
    cluster = [Broker(BrokerId(i), rack) for i, rack in racks.items()]
    assert [b.id for b in alternate_racks(cluster)] == [0, 1, 3, 2, 5, 4]


def test_places_know_how_far_racks_follow_in_turn() -> None:
    assert in_turn_until([0, 1, 2, 0, 1, 1, 0], 3) == [4, 4, 4, 4, 4, 5, 6]


def test_the_compiler_is_started_where_one_rack_is_far_larger_than_the_others() -> None:
    # 400 of 402 brokers in one rack: nearly every row walks far, none is copied from the last
    cluster = [Broker(BrokerId(i), f"r{min(i, 2)}") for i in range(402)]
    made = place(cluster, partitions=402 * 100, replication_factor=3, start=fixed(7))
    sample = naive_place(cluster, 410, 3, 7, 7)
    rows = made.as_mapping()
    assert {p: rows[p] for p in sample} == sample
    assert fill_rounds.for_size(WORTH_CALLING) is fill_rounds.compiled
