"""Fair sharing, and transfers in virtual time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.sim.clock import Clock
from kedge.sim.fair_rates import fair_rates, fill_fairly, members_of, padded
from kedge.sim.transfers import Transfers
from tests.sim.naive import naive_fair_rates

capacities = st.lists(st.integers(0, 50), min_size=1, max_size=6)
problems = capacities.flatmap(
    lambda capacity: st.tuples(
        st.just(capacity),
        st.lists(
            st.lists(
                st.integers(0, len(capacity) - 1), min_size=1, max_size=len(capacity), unique=True
            ),
            max_size=8,
        ),
    )
)


@given(problems)
def test_rates_agree_with_growing_everybody_in_step(
    problem: tuple[list[int], list[list[int]]],
) -> None:
    capacity, uses = problem
    expected = [float(rate) for rate in naive_fair_rates(capacity, uses)]
    rates = fair_rates(np.array(capacity, float), padded(uses))
    assert rates.tolist() == pytest.approx(expected, abs=1e-9)


def test_the_compiled_form_agrees_with_the_plain_one() -> None:
    generator = np.random.default_rng(7)
    uses = padded([generator.choice(40, 4, replace=False).tolist() for _ in range(300)])
    capacity = generator.uniform(1, 100, 40)
    rates = np.full(len(uses), np.inf)
    fill_fairly.compiled(capacity.copy(), uses, *members_of(40, uses), rates)
    assert rates.tolist() == pytest.approx(fair_rates(capacity, uses).tolist())


def test_the_worked_example() -> None:
    rates = fair_rates(np.array([10.0, 8.0]), padded([[0], [0, 1], [1]]))
    assert rates.tolist() == [6, 4, 4]


def test_a_transfer_that_uses_nothing_is_not_held_back() -> None:
    assert fair_rates(np.array([1.0]), padded([[], [0]])).tolist() == [np.inf, 1]


def test_a_transfer_speeds_up_when_another_ends() -> None:
    clock, ends = Clock(), dict[str, int]()
    transfers = Transfers(clock)
    transfers.set_capacity("disk", 100)
    transfers.start(100, ["disk"], lambda: ends.setdefault("short", clock.now_ms))
    transfers.start(300, ["disk"], lambda: ends.setdefault("long", clock.now_ms))
    clock.run_until(10_000)
    # both at 50/s until the short one has its 100; then 200 bytes are left at 100/s
    assert ends == {"short": 2000, "long": 4000}
    assert len(transfers) == 0


def test_a_throttle_set_half_way_slows_down_from_then_on() -> None:
    clock, ends = Clock(), list[int]()
    transfers = Transfers(clock)
    transfers.set_capacity("link", 100)
    transfers.set_capacity("throttle", 100)
    moving = transfers.start(200, ["link", "throttle"], lambda: ends.append(clock.now_ms))
    clock.run_until(1000)
    transfers.set_capacity("throttle", 10)
    assert transfers.rate(moving) == 10
    clock.run_until(60_000)
    assert ends == [11_000]


def test_stopping_a_transfer_tells_what_arrived() -> None:
    clock = Clock()
    transfers = Transfers(clock)
    transfers.set_capacity("disk", 100)
    moving = transfers.start(1000, ["disk"], lambda: pytest.fail("it was stopped"))
    clock.run_until(2500)
    assert transfers.stop(moving) == 250
    clock.run_until(60_000)


def test_a_stalled_transfer_waits_without_end_and_resumes() -> None:
    clock, ends = Clock(), list[int]()
    transfers = Transfers(clock)
    transfers.set_capacity("disk", 0)
    transfers.start(100, ["disk"], lambda: ends.append(clock.now_ms))
    clock.run_until(1_000_000)
    assert not ends
    transfers.set_capacity("disk", 100)
    clock.run_until(2_000_000)
    assert ends == [1_001_000]


def test_days_of_moving_data_take_few_computations() -> None:
    clock, ends = Clock(), list[int]()
    transfers = Transfers(clock)
    for broker in range(6):
        transfers.set_capacity(broker, 50e6)
    for number in range(200):
        pair = (number % 6, (number + 1 + number % 5) % 6)
        transfers.start(200e9, pair, lambda: ends.append(clock.now_ms))
    clock.run_until(30 * 24 * 3600 * 1000)
    assert len(ends) == 200
    assert max(ends) > 24 * 3600 * 1000
    assert transfers.computations <= 200
