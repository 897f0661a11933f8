"""Throttles that rise: what a broker that counts over eleven seconds lets through."""

from __future__ import annotations

import pytest

from kedge.execution.rate_rise import WINDOW_S, RateRise

LOW, HIGH = 4_000_000, 8_000_000
TICKS = 10  # per second
FOLLOWER = "follower.replication.throttled.rate"


def rise_of(low: int, high: int, *, window_s: float = WINDOW_S) -> RateRise:
    return RateRise({"1": {FOLLOWER: str(low)}}, {"1": {FOLLOWER: str(high)}}, 0.0, window_s)


def bytes_by_second(rise: RateRise, seconds: int) -> list[int]:
    """What Kafka's quota lets through per second, for a follower that takes all that it may.

    As in `SimpleRate` of Kafka: samples of a second, of which eleven are kept; a fetch may begin
    while their sum is below the rate times the time since the oldest began.
    """
    samples = [LOW] * int(WINDOW_S - 1)  # the seconds before the rise
    for second in range(seconds):
        samples.append(0)
        for tick in range(TICKS):
            now = second + tick / TICKS
            rate = int(rise.at(float(int(now)))["1"][FOLLOWER])
            kept = samples[-int(WINDOW_S) :]
            elapsed = WINDOW_S - 1 + (tick + 1) / TICKS
            samples[-1] += max(0, int(rate * elapsed) - sum(kept))
    return samples[-seconds:]


def test_what_arrives_doubles_in_the_first_second_and_stays_there() -> None:
    arrived = bytes_by_second(rise_of(LOW, HIGH), 40)
    assert max(arrived) < 1.2 * HIGH
    assert min(arrived) > 0.8 * HIGH
    for begin in range(30):
        assert sum(arrived[begin : begin + 10]) == pytest.approx(10 * HIGH, rel=0.1)


def test_at_once_it_would_be_a_burst_every_eleven_seconds() -> None:
    arrived = bytes_by_second(rise_of(LOW, HIGH, window_s=0.0), 40)
    assert arrived[0] > 5 * HIGH
    assert sum(arrived[1:11]) == pytest.approx(10 * LOW, rel=0.1)
    assert arrived[11] > 5 * HIGH


def test_steps_go_evenly_from_the_first_rate_to_the_last() -> None:
    rise = rise_of(1000, 2100)
    rates = [int(rise.at(float(second))["1"][FOLLOWER]) for second in range(12)]
    assert rates == [1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000, 2100, 2100]
    assert [rise.is_over(second) for second in (0.0, 9.9, 10.0)] == [False, False, True]


def test_lower_rates_and_rates_that_were_not_set_are_due_at_once() -> None:
    lower = rise_of(2000, 500)
    assert (lower.is_over(0.0), lower.at(0.0)) == (True, {"1": {FOLLOWER: "500"}})
    new = RateRise({}, {"1": {FOLLOWER: "500"}}, 0.0)
    assert (new.is_over(0.0), new.at(0.0)) == (True, {"1": {FOLLOWER: "500"}})
    assert RateRise({}, {}, 0.0).is_over(0.0)


def test_of_several_brokers_those_that_fall_do_so_at_once() -> None:
    rise = RateRise(
        {"1": {FOLLOWER: "1000"}, "2": {FOLLOWER: "9000"}},
        {"1": {FOLLOWER: "2100"}, "2": {FOLLOWER: "2100"}},
        began=5.0,
    )
    assert rise.at(5.0) == {"1": {FOLLOWER: "1100"}, "2": {FOLLOWER: "2100"}}
