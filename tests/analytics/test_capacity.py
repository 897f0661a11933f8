"""Capacity answers that can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kedge.analytics.capacity import (
    Amount,
    BrokerSeries,
    CapacityQuestion,
    brokers_needed,
    capacity_answer,
    total_series,
)

START = 1_767_571_200.0
DAY_S = 86_400.0
TIMES = np.asarray(START + 300.0 * np.arange(25), np.float64)  # two hours
DAYS = (TIMES - TIMES[-1]) / DAY_S


def broker(number: int, used: float, growth: float, disk: float | None = 100.0) -> BrokerSeries:
    flat = np.full(len(TIMES), 5.0)
    return BrokerSeries(number, disk, TIMES, used + growth * DAYS, flat, 2 * flat)


def question(days: float = 10, headroom: float = 0.2, **more: float) -> CapacityQuestion:
    return CapacityQuestion(TIMES[-1] + days * DAY_S, headroom, **more)  # pyright: ignore[reportArgumentType]


def test_a_disk_that_grows_evenly_is_full_when_the_division_says() -> None:
    answer = capacity_answer([broker(1, 40, 3), broker(2, 20, 1)], question())
    assert answer is not None
    first, second = answer.brokers
    assert first.full is not None
    assert second.headroom is not None
    assert first.full.expected == pytest.approx(60 / 3)
    assert (first.full.soonest, first.full.latest) == pytest.approx((20, 20))
    assert second.headroom.expected == pytest.approx((80 - 20) / 1)
    assert answer.first_full is first


def test_the_brokers_needed_are_the_peak_over_what_one_may_carry() -> None:
    brokers = [broker(number, 50, 5) for number in range(4)]
    answer = capacity_answer(brokers, question(days=10, network=10.0, replicas_max=3))
    assert answer is not None
    disk, inside, out = answer.resources
    assert disk.peak.expected == pytest.approx(4 * 100)
    assert disk.needed is not None
    assert disk.needed.expected == 5  # 400 over 80 each
    assert disk.spare == -1
    assert inside.needed is not None
    assert out.needed is not None
    assert (inside.needed.expected, inside.spare) == (3, 1)  # 20 over 8 each
    assert (out.needed.expected, out.spare) == (5, -1)  # 40 over 8 each
    assert disk.full is not None
    assert disk.full.expected == pytest.approx((400 - 200) / 20)


def test_at_least_as_many_brokers_as_replicas_are_needed() -> None:
    tiny = Amount(1.0, 0.5, 2.0)
    assert brokers_needed(tiny, 100.0, question(replicas_max=3)).expected == 3
    exact = Amount(160.0, 80.0, 240.1)
    needed = brokers_needed(exact, 100.0, question(headroom=0.2))
    assert (needed.expected, needed.low, needed.high) == (2, 1, 4)


def test_more_brokers_last_longer_by_their_share() -> None:
    brokers = [broker(number, 50, 5) for number in range(4)]
    answer = capacity_answer(brokers, question(add=4, network=10.0))
    assert answer is not None
    disk = answer.what_if[0]
    assert disk.brokers == 8
    assert disk.full is not None
    assert disk.full.expected == pytest.approx((800 - 200) / 20)
    assert disk.share == pytest.approx(400 / 800)


def test_an_unknown_capacity_is_no_answer_and_no_error() -> None:
    answer = capacity_answer([broker(1, 40, 3, disk=None)], question())
    assert answer is not None
    assert answer.brokers[0].full is None
    assert all(each.needed is None and each.full is None for each in answer.resources)
    assert answer.what_if == ()


def test_without_points_there_is_no_answer() -> None:
    empty = np.zeros(0)
    assert capacity_answer([BrokerSeries(1, 1.0, empty, empty, empty, empty)], question()) is None
    assert capacity_answer([], question()) is None


def test_a_broker_that_misses_a_window_counts_with_its_last_value_for_an_hour() -> None:
    whole = broker(1, 10, 0)
    gap = np.array([0, 1, 2, 15, 24])  # 65 minutes after the third window, and the last
    part = BrokerSeries(2, 100.0, TIMES[gap], np.full(5, 7.0), np.zeros(5), np.zeros(5))
    times, total = total_series([whole, part], "disk")
    assert times.tolist() == TIMES.tolist()
    assert total[:15].tolist() == [17.0] * 15  # up to an hour after the third
    assert total[15:].tolist() == [17.0] * 10
    late = BrokerSeries(2, 100.0, TIMES[[0, 20]], np.full(2, 7.0), np.zeros(2), np.zeros(2))
    assert total_series([whole, late], "disk")[1].tolist() == [
        *[17.0] * 13,
        *[10.0] * 7,
        *[17.0] * 5,
    ]
