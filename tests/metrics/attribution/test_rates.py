"""Amounts from one-minute rates as a broker's meters give them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.metrics.attribution import Leadership
from kedge.metrics.attribution.rates import rate_steps
from kedge.metrics.attribution.samples import read_samples
from kedge.metrics.measurement import Measurement, Series
from tests.metrics.attribution.tables import MINUTE, START, series, table


def meter(true: list[float], first: float | None = None, tick: float = 5.0) -> list[float]:
    """One-minute rates at the end of each minute of a true rate, as Kafka's meters compute them."""
    alpha = 1 - math.exp(-tick / 60)
    rate = true[0] if first is None else first
    told: list[float] = []
    for now in true:
        for _ in range(int(60 / tick)):
            rate += alpha * (now - rate)
        told.append(rate)
    return told


def amounts(rows: list[Measurement], leaders: Leadership | None = None) -> list[float]:
    found = rate_steps(read_samples(table(rows)), Series.BYTES_IN_RATE, [1], leaders)
    return found.amount.tolist()


def rates(values: list[float | None], broker: int = 1) -> list[Measurement]:
    return series(Series.BYTES_IN_RATE, values, broker=broker, step=MINUTE)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20))
def test_the_mean_of_each_minute_is_found_again(true: list[float]) -> None:
    found = amounts(rates([*meter(true)]))
    assert found == pytest.approx([rate * 60 for rate in true], rel=1e-6, abs=1e-3)


def test_a_rate_that_falls_slowly_after_a_leader_moved_is_not_counted() -> None:
    found = amounts(rates([*meter([40_000, 40_000, 0, 0, 0])]))
    assert sum(found) == pytest.approx(2 * 60 * 40_000)


def test_a_meter_counts_from_the_moment_at_which_its_broker_began_to_lead() -> None:
    rows = [*rates([None, None, 60.0]), *series(Series.CPU, [0.1] * 3, topic="", step=MINUTE)]
    leaders = Leadership.of([(0, START - MINUTE, 2), (0, START + 2 * MINUTE - 20_000, 1)])
    assert amounts(rows, leaders) == [60.0 * 20]


def test_a_meter_counts_to_the_moment_at_which_its_broker_ended_to_lead() -> None:
    rows = rates([60.0, 60.0, None])
    leaders = Leadership.of([(0, START - MINUTE, 1), (0, START + MINUTE + 30_000, 2)])
    assert sum(amounts(rows, leaders)) == pytest.approx(60.0 * (60 + 60 + 30))


def test_a_lost_report_is_bridged() -> None:
    true = [100.0, 110.0, 120.0, 120.0, 120.0, 120.0]
    told = meter(true)
    found = amounts(rates([told[0], None, *told[2:]]))
    assert sum(found) == pytest.approx(60 * sum(true), rel=0.02)


def test_a_report_without_the_meter_is_no_traffic() -> None:
    rows = [
        *rates([100.0, 100.0, None, None, 100.0, 100.0]),
        *series(Series.CPU, [0.1] * 6, topic="", step=MINUTE),
    ]
    assert sum(amounts(rows)) == pytest.approx(100 * 60 * 4, rel=0.15)


def test_samples_close_to_each_other_do_not_multiply_noise() -> None:
    rows = [
        *rates([100.0] * 10),
        *series(Series.BYTES_IN_RATE, [104.0] * 10, step=MINUTE, start=START + 2_000),
    ]
    found = amounts(rows)
    assert max(found) <= 100 * 62
    assert sum(found) == pytest.approx(100 * 600, rel=0.05)
