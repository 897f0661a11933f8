"""Laws of one partition's move."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kedge.model import BrokerId, ReplicaAssignment
from kedge.plan import cancel, reassign_to, unneeded_replicas

replica_lists = st.lists(st.integers(0, 9).map(BrokerId), min_size=1, max_size=5, unique=True)


def after_all(initial: list[BrokerId], targets: list[list[BrokerId]]) -> ReplicaAssignment:
    now = ReplicaAssignment(tuple(initial))
    for target in targets:
        now = reassign_to(now, target)
    return now


def test_a_new_target_forgets_what_the_old_one_was_adding() -> None:
    first = reassign_to(ReplicaAssignment((b(1), b(2), b(3))), [b(4), b(5), b(6)])
    second = reassign_to(first, [b(7), b(2), b(3)])
    assert second == ReplicaAssignment((b(7), b(2), b(3), b(1)), (b(7),), (b(1),))
    assert unneeded_replicas(first, second) == (4, 5, 6)


def test_a_change_of_order_is_not_a_move_in_progress() -> None:
    now = reassign_to(ReplicaAssignment((b(1), b(2), b(3))), [b(2), b(3), b(1)])
    assert now == ReplicaAssignment((b(2), b(3), b(1)))


def test_a_cancel_keeps_the_order_that_the_target_gave() -> None:
    moving = reassign_to(ReplicaAssignment((b(1), b(2), b(3))), [b(3), b(4), b(2)])
    assert cancel(moving) == ReplicaAssignment((b(3), b(2), b(1)))


@given(replica_lists, st.lists(replica_lists, max_size=4))
def test_the_origin_survives_any_number_of_overrides(
    initial: list[BrokerId], targets: list[list[BrokerId]]
) -> None:
    assert set(after_all(initial, targets).origin) == set(initial)


@given(replica_lists, st.lists(replica_lists, max_size=4))
def test_a_cancel_returns_to_the_origin(
    initial: list[BrokerId], targets: list[list[BrokerId]]
) -> None:
    now = cancel(after_all(initial, targets))
    assert set(now.replicas) == set(initial)
    assert not now.in_progress


@given(replica_lists, st.lists(replica_lists, max_size=3), replica_lists)
def test_a_move_ends_with_exactly_its_target(
    initial: list[BrokerId], targets: list[list[BrokerId]], last: list[BrokerId]
) -> None:
    now = after_all(initial, [*targets, last])
    assert now.target == tuple(last)
    assert now.replicas[: len(last)] == tuple(last)
    assert len(set(now.replicas)) == len(now.replicas)


@given(replica_lists, st.lists(replica_lists, max_size=3), replica_lists)
def test_nothing_is_lost_between_two_states(
    initial: list[BrokerId], targets: list[list[BrokerId]], last: list[BrokerId]
) -> None:
    old = after_all(initial, targets)
    new = reassign_to(old, last)
    stopped = unneeded_replicas(old, new)
    assert set(stopped) == set(old.adding) - set(last)
    assert not set(stopped) & set(new.replicas)


def b(number: int) -> BrokerId:
    return BrokerId(number)
