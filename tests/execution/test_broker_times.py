"""Times of brokers out of their bounds, and what a throttle that adapts makes of them."""

from __future__ import annotations

import pytest

from kedge.execution import RateRange
from kedge.execution.adaptive_throttle import Decision, Signals, next_rate
from kedge.execution.broker_times import Place, TimeKind, out_of_bounds

PRODUCE, QUEUE = Place(TimeKind.PRODUCE, "b1:7071"), Place(TimeKind.QUEUE, "b1:7071")
FLUSH = Place(TimeKind.FLUSH, "b2:7071")


@pytest.mark.parametrize(
    ("before_ms", "now_ms", "phrase"),
    [
        (20, 300, "produce requests take 300 ms on b1:7071, 20 ms before the run"),
        (20, 1500, "produce requests take 1.5 s on b1:7071, 20 ms before the run"),
        (2, 30, ""),  # many times as long, and short
        (400, 450, ""),  # long, and not by the run
        (0, 249, ""),
        (0, 251, "produce requests take 251 ms on b1:7071"),
    ],
)
def test_a_time_is_out_of_bounds_that_is_long_and_was_not(
    before_ms: int, now_ms: int, phrase: str
) -> None:
    found = out_of_bounds({PRODUCE: now_ms / 1000}, {PRODUCE: before_ms / 1000})
    assert found == phrase


def test_the_time_farthest_out_of_its_bounds_is_named() -> None:
    now = {PRODUCE: 0.3, QUEUE: 0.5, FLUSH: 0.6}
    assert out_of_bounds(now, {}) == "produce requests wait in the queue for 500 ms on b1:7071"
    assert out_of_bounds(now | {QUEUE: 0.01, PRODUCE: 0.01}, {}).startswith("flushes to disk take")


def test_a_slow_broker_halves_the_throttle_and_unknown_times_hold_it() -> None:
    within = RateRange(10, 100)
    slow = Signals(at=50.0, used=40.0, slow="flushes to disk take 2.0 s on b2:7071")
    assert next_rate(within, 40, 0.0, slow, 60.0) == Decision(20, slow.slow)
    unknown = Signals(at=None, used=40.0, unread="no answer")
    assert next_rate(within, 40, 0.0, unknown, 60.0) == Decision(40)
