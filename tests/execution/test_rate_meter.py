"""What a run measures of links and disks."""

from __future__ import annotations

from kedge.execution import MoveStatus, Work
from kedge.execution.progress import Copies
from kedge.execution.rate_meter import RateMeter, Throttles
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change

MB = 1_000_000
B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FREE = Throttles()


def moving(tp: TopicPartition, source: BrokerId, arrived: int, size: int = 1000 * MB) -> Copies:
    """A copy to broker 4."""
    return Copies(Change(tp, (source,), (B4,)), size, {B4: arrived}, {})


def within(tp: TopicPartition, arrived: int, size: int = 1000 * MB) -> Copies:
    """A copy between log directories of broker 1."""
    return Copies(Change(tp, (B1,), (B1,)), size, {}, {B1: arrived})


def work(*copies: Copies) -> Work:
    statuses = {each.change.tp: MoveStatus.MOVING for each in copies}
    return Work(statuses, copies, (), {each.change.tp: each.change.before[0] for each in copies})


def measured(*observed: Work, throttles: Throttles = FREE) -> RateMeter:
    """The meter after observations, one each second."""
    meter = RateMeter()
    for second, each in enumerate(observed):
        meter.at(float(second), each, throttles)
    return meter


def test_the_fastest_broker_of_a_window_is_measured() -> None:
    found = measured(*(work(moving(T0, B1, n * 70 * MB), moving(T1, B2, n * 30 * MB))
                       for n in range(1, 7)))  # fmt: skip
    assert (found.network, found.disk) == (100 * MB, None)


def test_no_window_is_shorter_than_five_seconds() -> None:
    found = measured(*(work(moving(T0, B1, n * 70 * MB)) for n in range(1, 6)))
    assert found.network is None


def test_a_window_with_a_pause_between_two_moves_does_not_count() -> None:
    observed = [work(moving(T0, B1, min(3, n) * 100 * MB, 300 * MB),
                     moving(T1, B1, max(0, n - 3) * 100 * MB)) for n in range(1, 7)]  # fmt: skip
    assert measured(*observed).network is None


def test_one_copy_after_the_other_without_a_pause_counts() -> None:
    observed = [work(moving(T0, B1, min(3, n) * 50 * MB, 150 * MB),
                     moving(T1, B2, n * 50 * MB)) for n in range(1, 7)]  # fmt: skip
    assert measured(*observed).network == (2 * 50 + 5 * 50) * MB / 5


def test_a_throttle_that_may_be_the_limit_leaves_nothing_to_be_measured() -> None:
    observed = [work(moving(T0, B1, n * 45 * MB)) for n in range(1, 7)]
    assert measured(*observed, throttles=Throttles(50 * MB)).network is None
    assert measured(*observed, throttles=Throttles(200 * MB)).network == 45 * MB
    assert measured(*observed, throttles=Throttles(None, 10 * MB)).network == 45 * MB


def test_what_producers_write_takes_its_part_of_the_throttle() -> None:
    change = Change(T0, (B1, B2, B3), (B4, B2, B3))
    observed = [
        work(Copies(change, (1000 + n * 10) * MB, {B4: n * 20 * MB}, {})) for n in range(1, 7)
    ]
    assert measured(*observed, throttles=Throttles(60 * MB)).network is None
    assert measured(*observed, throttles=Throttles(100 * MB)).network == 20 * MB


def test_copies_between_log_directories_measure_disks() -> None:
    observed = [work(within(T0, n * 80 * MB)) for n in range(1, 7)]
    assert (measured(*observed).network, measured(*observed).disk) == (None, 80 * MB)
    held_back = measured(*observed, throttles=Throttles(None, 80 * MB))
    assert (held_back.network, held_back.disk) == (None, None)


def test_another_throttle_begins_another_window() -> None:
    meter = RateMeter()
    for second in range(6):
        throttles = Throttles(10 * MB) if second < 3 else FREE
        meter.at(float(second), work(moving(T0, B1, (second + 1) * 9 * MB)), throttles)
    assert meter.network is None


def test_a_source_that_lost_its_leadership_is_not_mistaken_for_the_new_leader() -> None:
    meter = RateMeter()
    for second in range(6):
        each = work(moving(T0, B1, (second + 1) * 50 * MB), moving(T1, B2, (second + 1) * MB))
        leaders = {T0: B3 if second == 5 else B1, T1: B2}
        meter.at(float(second), Work(each.statuses, each.copies, (), leaders), FREE)
    assert meter.network == 51 * MB
