"""The grid of intervals, and splitting amounts over it and over partitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kedge.metrics.attribution.grid import Grid, Steps
from kedge.metrics.attribution.split import split, whole_numbers

FLOATS = st.floats(0, 1e12, allow_subnormal=False)


def one_step(start: int, end: int, amount: float) -> Steps:
    return Steps(np.array([0]), np.array([start]), np.array([end]), np.array([amount]))


def test_intervals_are_aligned_to_whole_steps() -> None:
    grid = Grid.around(125_000, 290_000, 60_000)
    assert grid.edges.tolist() == [120_000, 180_000, 240_000, 300_000]


def test_a_sliver_counts_with_its_neighbour() -> None:
    grid = Grid.around(119_000, 180_400, 60_000)
    assert grid.edges.tolist() == [120_000, 180_000]
    assert grid.spread(one_step(119_000, 180_400, 61.4), 1).tolist() == [[pytest.approx(61.4)]]
    assert grid.overlap(119_000, 180_400).tolist() == [61_400]


def test_an_interval_has_its_end_and_not_its_start() -> None:
    grid = Grid(0, 10, 3)
    assert grid.at(np.array([1, 10, 11, 20, 30])).tolist() == [0, 0, 1, 1, 2]


def test_a_step_is_split_in_proportion_to_its_overlap() -> None:
    assert Grid(0, 10, 3).spread(one_step(5, 25, 40.0), 1).tolist() == [[10.0, 20.0, 10.0]]


def test_a_length_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        Grid.around(0, 10, 0)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 10**6), st.integers(1, 10**6), FLOATS),
        min_size=1,
        max_size=30,
    ),
    st.integers(1_000, 10**5),
)
def test_spreading_keeps_sums(found: list[tuple[int, int, int, float]], step: int) -> None:
    rows, starts, lengths, amounts = (np.array(column) for column in zip(*found, strict=True))
    steps = Steps(rows, starts, starts + lengths, amounts.astype(np.float64))
    grid = Grid.around(int(starts.min()), int((starts + lengths).max()), step)
    spread = grid.spread(steps, 3)
    assert (spread >= 0).all()
    for row in range(3):
        assert spread[row].sum() == pytest.approx(amounts[rows == row].sum(), rel=1e-9)


MATRIX = arrays(np.float64, (4, 5), elements=FLOATS)


@given(arrays(np.float64, 5, elements=FLOATS), MATRIX)
def test_parts_add_up_to_the_total(total: np.ndarray, weight: np.ndarray) -> None:
    parts = split(total, weight, weight.sum(axis=1))
    assert (parts >= 0).all()
    assert parts.sum(axis=0) == pytest.approx(total, rel=1e-9)


def test_an_interval_without_weights_is_split_by_the_usual_ones_else_evenly() -> None:
    total, nothing = np.array([12.0]), np.zeros((2, 1))
    assert split(total, nothing, np.array([3.0, 1.0])).ravel().tolist() == [9.0, 3.0]
    assert split(total, nothing, np.zeros(2)).ravel().tolist() == [6.0, 6.0]


@given(arrays(np.float64, (4, 5), elements=st.floats(0, 1e9, allow_subnormal=False)))
def test_whole_numbers_add_up_to_the_rounded_total(parts: np.ndarray) -> None:
    whole = whole_numbers(parts)
    assert (whole >= 0).all()
    assert (np.abs(whole - parts) < 1 + 1e-6).all()
    assert whole.sum(axis=0).tolist() == np.rint(parts.sum(axis=0)).astype(np.int64).tolist()
