"""What a request leads to, given when it was processed and which answer arrived."""

from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.sim.expectations import Expectations

TP = TopicPartition("t", 0)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def expecting(*first: int) -> Expectations:
    expectations = Expectations()
    expectations.wrote(TP, ReplicaAssignment(ids(*first)))
    expectations.created("t", {0: ids(*first)}, {})
    return expectations


def test_an_accepted_move_is_the_only_acceptable_end() -> None:
    wanted = expecting(1, 2)
    wanted.answered(wanted.begun({TP: ids(3, 1)}), TP, ErrorCode.NONE)
    assert wanted.mismatch(TP, ids(3, 1)) is None
    assert "wanted [3, 1]" in (wanted.mismatch(TP, ids(1, 3)) or "")
    assert wanted.mismatch(TP, ids(1, 2)) is not None


def test_a_refused_move_changes_nothing() -> None:
    wanted = expecting(1, 2)
    wanted.answered(wanted.begun({TP: ids(9)}), TP, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    assert wanted.mismatch(TP, ids(1, 2)) is None
    assert wanted.mismatch(TP, ids(9)) is not None


def test_before_the_answer_and_after_a_lost_one_both_ends_are_acceptable() -> None:
    wanted = expecting(1, 2)
    number = wanted.begun({TP: ids(3)})
    for code in (None, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NOT_CONTROLLER):
        assert wanted.mismatch(TP, ids(1, 2)) is None
        assert wanted.mismatch(TP, ids(3)) is None
        assert wanted.mismatch(TP, ids(2)) is not None
        wanted.answered(number, TP, code)
    assert wanted.mismatch(TP, ids(3)) is None


def test_a_cancelled_move_ends_where_it_began_in_any_order() -> None:
    wanted = expecting(1, 2, 3)
    wanted.answered(wanted.begun({TP: ids(4)}), TP, ErrorCode.NONE)
    wanted.wrote(TP, ReplicaAssignment(ids(4, 1, 2, 3), adding=ids(4), removing=ids(1, 2, 3)))
    wanted.answered(wanted.begun({TP: None}), TP, ErrorCode.NONE)
    assert wanted.mismatch(TP, ids(3, 1, 2)) is None
    assert wanted.mismatch(TP, ids(4)) is not None


def test_an_answer_that_comes_late_does_not_void_a_request_that_was_begun_later() -> None:
    wanted = expecting(1)
    first, second = wanted.begun({TP: ids(2)}), wanted.begun({TP: ids(3)})
    wanted.answered(second, TP, None)
    wanted.answered(first, TP, ErrorCode.NONE)
    assert wanted.mismatch(TP, ids(3)) is None
    assert wanted.mismatch(TP, ids(2)) is None
    assert wanted.mismatch(TP, ids(1)) is not None


def test_what_was_begun_before_an_accepted_request_is_void_however_late_its_answer() -> None:
    for code in (None, ErrorCode.NONE, ErrorCode.NOT_CONTROLLER):
        wanted = expecting(1)
        first, second = wanted.begun({TP: ids(2)}), wanted.begun({TP: ids(3)})
        wanted.answered(second, TP, ErrorCode.NONE)
        wanted.answered(first, TP, code)
        assert wanted.mismatch(TP, ids(3)) is None
        assert wanted.mismatch(TP, ids(2)) is not None


def test_a_planned_move_is_possible_until_a_later_request_is_accepted() -> None:
    wanted = expecting(1)
    wanted.planned({TP: ids(2)})
    assert wanted.mismatch(TP, ids(1)) is None
    assert wanted.mismatch(TP, ids(2)) is None
    wanted.answered(wanted.begun({TP: ids(3)}), TP, ErrorCode.NONE)
    assert wanted.mismatch(TP, ids(2)) is not None


def test_an_answer_about_a_deleted_topic_says_nothing_about_the_next_of_its_name() -> None:
    wanted = expecting(1)
    number = wanted.begun({TP: ids(2)})
    wanted.deletion_requested("t")
    wanted.created("t", {0: ids(3)}, {})
    wanted.answered(number, TP, ErrorCode.NONE)
    assert wanted.mismatch(TP, ids(3)) is None
    assert wanted.mismatch(TP, ids(2)) is not None


def test_nothing_is_expected_of_a_deleted_topic() -> None:
    wanted = expecting(1)
    wanted.deletion_requested("t")
    assert wanted.mismatch(TP, ids(7)) is None
    assert wanted.deleted == {"t"}
