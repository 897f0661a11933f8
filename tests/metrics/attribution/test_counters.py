"""Growth of counters through resets, restarts, gaps, births and deaths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.metrics.attribution.counters import counter_steps
from kedge.metrics.attribution.grid import Steps
from kedge.metrics.attribution.lost_bytes import lost_steps
from kedge.metrics.attribution.samples import read_samples
from kedge.metrics.measurement import Measurement, Series
from tests.metrics.attribution.tables import START, series, table, up


def steps(*rows: list[Measurement]) -> Steps:
    samples = read_samples(table(*rows))
    brokers = sorted({row.broker for part in rows for row in part})
    return counter_steps(samples, Series.BYTES_IN, brokers)


def counted(*rows: list[Measurement]) -> float:
    return float(steps(*rows).amount.sum())


def test_growth_is_the_difference_of_neighbours() -> None:
    assert counted(up([1] * 3), series(Series.BYTES_IN, [100, 130, 190])) == 90


def test_the_first_value_of_an_old_counter_counts_nothing() -> None:
    assert counted(up([1] * 3), series(Series.BYTES_IN, [10**9, 10**9 + 5, 10**9 + 10])) == 10


def test_a_restart_counts_from_zero_and_not_below() -> None:
    values = [1000, 1100, None, None, 40, 140]
    assert counted(up([1, 1, 0, 0, 1, 1]), series(Series.BYTES_IN, values)) == 100 + 40 + 100


def test_bytes_after_a_restart_come_after_the_broker_was_down() -> None:
    found = steps(
        up([1, 1, 0, 0, 1, 1]), series(Series.BYTES_IN, [1000, 1100, None, None, 40, 140])
    )
    at = int(np.flatnonzero(found.amount == 40)[0])
    assert found.start[at] == START + 3 * 15_000  # the last moment at which it was down


@pytest.mark.parametrize("step", [15_000, 60_000, 300_000])
def test_what_a_stop_has_lost_came_at_the_rate_before_however_far_apart_samples_are(
    step: int,
) -> None:
    """100 bytes per interval until half an interval after the last sample, as no leaders tell."""
    rows = [*up([1, 1, 1, 0, 1], step=step)]
    rows += series(Series.BYTES_IN, [1000, 1100, 1200, None, 40], step=step)
    lost = lost_steps(read_samples(table(rows)), Series.BYTES_IN, [1], None)
    assert lost.amount.sum() == pytest.approx(50)


@pytest.mark.parametrize("away", [1, 4, 20])
def test_what_a_stop_has_lost_does_not_grow_with_the_time_until_the_restart(away: int) -> None:
    """Without `up` nothing tells when the broker stopped, except the scrape that it missed."""
    rows = series(Series.BYTES_IN, [1000, 1100, 1200, *[None] * away, 40, 140, 240])
    lost = lost_steps(read_samples(table(rows)), Series.BYTES_IN, [1], None)
    assert lost.amount.sum() == pytest.approx(50)
    assert lost.end.tolist() == [START + 2 * 15_000 + 7_500]


def test_a_series_born_while_its_broker_was_up_counts_from_zero() -> None:
    assert counted(up([1] * 5), series(Series.BYTES_IN, [None, None, 50, 150, 250])) == 250


def test_a_series_whose_broker_was_not_seen_before_counts_nothing_at_first() -> None:
    assert counted(up([None, None, 1, 1]), series(Series.BYTES_IN, [None, None, 50, 150])) == 100


def test_a_series_that_dies_and_is_born_again_counts_from_zero() -> None:
    values = [1000, 1100, None, None, None, 90, 190]
    assert counted(up([1] * 7), series(Series.BYTES_IN, values)) == 100 + 90 + 100


def test_a_series_born_again_with_more_than_before_counts_from_zero() -> None:
    values = [0, 10, 20, None, None, None, 25, 45]
    assert counted(up([1] * 8), series(Series.BYTES_IN, values)) == 20 + 25 + 20


@pytest.mark.parametrize("missing", [1, 2, 5])
def test_missing_samples_of_an_old_counter_are_no_birth(missing: int) -> None:
    values = [10**9, 10**9 + 100, *([None] * missing), 10**9 + 100 * (missing + 2)]
    assert counted(up([1] * len(values)), series(Series.BYTES_IN, values)) == 100 * (missing + 2)


def test_an_old_counter_that_was_not_exported_before_is_no_spike() -> None:
    values = [None, None, 10**12, 10**12 + 100, 10**12 + 200]
    assert counted(up([1] * 5), series(Series.BYTES_IN, values)) == 200


def test_older_scrapes_between_newer_ones_are_no_resets() -> None:
    """Two servers scrape a broker; the second one's values are some seconds old."""
    first = series(Series.BYTES_IN, [1000, 2000, 3000, 4000])
    second = series(Series.BYTES_IN, [900, 1900, 2900, 3900], start=START + 3_000)
    assert counted(up([1] * 4), first, second) == 3000


def test_the_same_values_twice_count_once() -> None:
    once = series(Series.BYTES_IN, [1000, 2000, 3000])
    assert counted(up([1] * 3), once, once) == 2000


def test_brokers_are_counted_apart() -> None:
    found = steps(
        up([1] * 3),
        up([1] * 3, broker=2),
        series(Series.BYTES_IN, [0, 10, 20]),
        series(Series.BYTES_IN, [5, 6, 7], broker=2),
    )
    assert [float(found.amount[found.row == row].sum()) for row in (0, 1)] == [20, 2]


def test_rare_samples_beside_frequent_ones_of_up_are_no_births() -> None:
    values = [10**6 + 600 * at if at % 4 == 0 else None for at in range(17)]
    assert counted(up([1] * 17), series(Series.BYTES_IN, values)) == 16 * 600


@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=40),
    st.sets(st.integers(1, 39), max_size=4),
)
def test_resets_never_make_spikes(growth: list[int], resets: set[int]) -> None:
    """Whatever resets: never negative, never more than what was really counted."""
    values: list[float] = [10_000]
    for at, grown in enumerate(growth, start=1):
        values.append(grown if at in resets else values[-1] + grown)
    found = steps(up([1] * len(values)), series(Series.BYTES_IN, values))
    assert (found.amount >= 0).all()
    assert found.amount.sum() <= sum(growth)
    if not resets:
        assert found.amount.sum() == sum(growth)


@given(st.lists(st.one_of(st.none(), st.integers(0, 10**6)), min_size=2, max_size=40))
def test_any_values_count_at_most_what_they_reach(values: list[int | None]) -> None:
    rows = series(Series.BYTES_IN, [None if v is None else float(v) for v in values])
    if not rows:
        return
    found = steps(up([1] * len(values)), rows)
    assert (found.amount >= 0).all()
    assert found.amount.sum() <= sum(v for v in values if v is not None)
    assert all(a <= b for a, b in pairwise(np.sort(found.start)))
    assert (found.start < found.end).all()
