"""Virtual time."""

from hypothesis import given
from hypothesis import strategies as st

from kedge.sim.clock import Clock


@given(st.lists(st.integers(0, 20)))
def test_things_happen_by_time_and_then_in_the_order_they_were_planned(delays: list[int]) -> None:
    clock, seen = Clock(), list[tuple[int, int]]()
    for index, delay in enumerate(delays):
        clock.after(delay, lambda index=index: seen.append((clock.now_ms, index)))
    clock.run_until(100)
    assert seen == sorted((delay, index) for index, delay in enumerate(delays))


def test_a_cancelled_timer_does_nothing_and_does_not_move_time() -> None:
    clock, seen = Clock(), list[str]()
    clock.after(5, lambda: seen.append("first")).cancel()
    clock.after(7, lambda: seen.append("second"))
    assert clock.next_due_ms() == 7
    assert clock.step()
    assert (clock.now_ms, seen) == (7, ["second"])
    assert not clock.step()


def test_what_is_planned_for_the_past_happens_now() -> None:
    clock, seen = Clock(), list[int]()
    clock.run_until(50)
    clock.at(10, lambda: seen.append(clock.now_ms))
    clock.run_until(50)
    assert seen == [50]


def test_an_action_can_plan_another_for_the_same_instant() -> None:
    clock, seen = Clock(), list[str]()
    clock.after(3, lambda: clock.after(0, lambda: seen.append("nested")))
    clock.after(3, lambda: seen.append("planned before"))
    clock.run_until(3)
    assert seen == ["planned before", "nested"]
