"""What an order leads to, given what was heard of it."""

from kedge.model import BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.sim.expectations import Expectations

TP = TopicPartition("t", 0)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def expecting(*first: int) -> Expectations:
    expectations = Expectations()
    expectations.created("t", {0: ids(*first)}, {})
    return expectations


def test_an_accepted_move_is_the_only_acceptable_end() -> None:
    wanted = expecting(1, 2)
    wanted.moved(wanted.next_order(), TP, ids(3, 1), ids(1, 2), ErrorCode.NONE)
    assert wanted.complaint(TP, ids(3, 1)) is None
    assert "wanted [3, 1]" in (wanted.complaint(TP, ids(1, 3)) or "")
    assert wanted.complaint(TP, ids(1, 2)) is not None


def test_a_refused_move_changes_nothing() -> None:
    wanted = expecting(1, 2)
    wanted.moved(1, TP, ids(9), ids(1, 2), ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    assert wanted.complaint(TP, ids(1, 2)) is None
    assert wanted.complaint(TP, ids(9)) is not None


def test_after_a_lost_answer_both_ends_will_do() -> None:
    wanted = expecting(1, 2)
    wanted.moved(wanted.next_order(), TP, ids(3), ids(1, 2), None)
    assert wanted.complaint(TP, ids(1, 2)) is None
    assert wanted.complaint(TP, ids(3)) is None
    assert wanted.complaint(TP, ids(2)) is not None


def test_a_cancelled_move_ends_where_it_began_in_any_order() -> None:
    wanted = expecting(1, 2, 3)
    wanted.moved(wanted.next_order(), TP, ids(4), ids(1, 2, 3), ErrorCode.NONE)
    wanted.moved(wanted.next_order(), TP, None, ids(1, 2, 3), ErrorCode.NONE)
    assert wanted.complaint(TP, ids(3, 1, 2)) is None
    assert wanted.complaint(TP, ids(4)) is not None


def test_an_answer_that_comes_late_does_not_undo_a_later_order() -> None:
    wanted = expecting(1)
    first, second = wanted.next_order(), wanted.next_order()
    wanted.moved(second, TP, ids(3), ids(1), None)
    wanted.moved(first, TP, ids(2), ids(1), ErrorCode.NONE)
    assert wanted.complaint(TP, ids(3)) is None
    assert wanted.complaint(TP, ids(2)) is None
    assert wanted.complaint(TP, ids(1)) is not None


def test_nothing_is_expected_of_a_deleted_topic() -> None:
    wanted = expecting(1)
    wanted.ordered_deletion("t")
    assert wanted.complaint(TP, ids(7)) is None
    assert wanted.deleted == {"t"}
