"""Plans held against themselves and against a snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kedge.errors import InvalidPlan
from kedge.model import BrokerState, LogDir, TopicPartition
from kedge.model.assignment import Assignment
from kedge.plan import Plan, Reassignment, Severity, Summary, refuse_errors, verify_plan
from tests.plan.plans import LOGS_0, ORDERS_0, ORDERS_1, broker, ids, plan, snapshot


def said(found: list[Any]) -> list[str]:
    return [f"{finding.severity} {finding}" for finding in found]


def one(tp: Any, before: tuple[Any, ...], after: tuple[Any, ...]) -> Plan:
    return Plan((Reassignment.anywhere(tp, after),), {tp: before})


def test_a_good_plan_has_no_findings() -> None:
    assert verify_plan(plan()) == []
    assert verify_plan(plan(), snapshot(), snapshot_sha256="ab" * 32) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"waves": ((0,),)}, "error waves: partitions[1] (logs-0) is in no wave"),
        ({"waves": ((0, 1), (2,))}, "error waves[1][0]: there is no partitions[2]"),
        ({"waves": ((0, -1), (1,))}, "error waves[0][1]: there is no partitions[-1]"),
        ({"waves": ((0, 1), (0,))}, "error waves[1][0]: partitions[0] is in a wave already"),
        ({"waves": ((0, 1), ())}, "warning waves[1]: an empty wave"),
        ({"before": {ORDERS_0: ids(1, 2, 3)}}, "error partitions[1]: logs-0 is not in before"),
        ({"reasons": {ORDERS_1: "?"}}, "error reasons[0]: orders-1 is not in partitions"),
        (
            {"before": {ORDERS_0: ids(1, 2, 3), LOGS_0: ids(1, 2), ORDERS_1: ids(1)}},
            "error before[2]: orders-1 is not in partitions",
        ),
        (
            {"before": {ORDERS_0: (), LOGS_0: ids(1, 2)}},
            "error before[0].replicas: no replica",
        ),
        (
            {"before": {ORDERS_0: ids(1, 1), LOGS_0: ids(1, 2)}},
            "error before[0].replicas: broker 1 is listed more than once",
        ),
        (
            {"before": {ORDERS_0: ids(4, 2, 3), LOGS_0: ids(1, 2)}, "summary": None},
            "warning partitions[0]: orders-0 does not change",
        ),
        ({"summary": Summary(3, 1)}, "error summary.replicas_moved: says 3, the plan has 2"),
        ({"summary": Summary(2, 0)}, "error summary.leaders_moved: says 0, the plan has 1"),
    ],
)
def test_a_plan_that_contradicts_itself_is_found_out(changes: dict[str, Any], what: str) -> None:
    assert said(verify_plan(plan(**changes))) == [what]


@pytest.mark.parametrize(
    ("replicas", "what"),
    [
        ((), "error partitions[0].replicas: no replica"),
        (ids(4, 4), "error partitions[0].replicas: broker 4 is listed more than once"),
        (ids(4, -1), "error partitions[0].replicas: -1 is not a broker id"),
    ],
)
def test_a_list_that_cannot_be_is_found_out(replicas: tuple[Any, ...], what: str) -> None:
    assert said(verify_plan(one(ORDERS_0, ids(1, 2, 3), replicas), snapshot())) == [what]


def test_a_negative_partition_is_found_out() -> None:
    below = TopicPartition("t", -1)
    assert said(verify_plan(one(below, ids(1), ids(2)))) == [
        "error partitions[0].partition: -1 is below 0"
    ]


def test_a_partition_twice_is_found_out() -> None:
    twice = (Reassignment.anywhere(ORDERS_0, ids(4)),) * 2
    assert said(verify_plan(Plan(twice, {ORDERS_0: ids(1)}))) == [
        "error partitions: orders-0 is listed more than once"
    ]


def test_directories_that_are_not_one_per_replica_are_found_out() -> None:
    odd = Plan((Reassignment(ORDERS_0, ids(4, 2), ("any",)),), {ORDERS_0: ids(1, 2)})
    assert said(verify_plan(odd)) == ["error partitions[0].log_dirs: 1 directories for 2 replicas"]


def test_a_move_between_directories_is_a_change() -> None:
    moved = Plan((Reassignment(ORDERS_0, ids(1, 2), ("any", "/d")),), {ORDERS_0: ids(1, 2)})
    assert verify_plan(moved) == []


def test_what_has_moved_since_is_drift() -> None:
    now = Assignment.from_mapping({LOGS_0: ids(2, 1), ORDERS_0: ids(1, 2, 3), ORDERS_1: ids(1)})
    assert said(verify_plan(plan(), snapshot(assignment=now))) == [
        "error before[1].replicas: logs-0 is on [2, 1], the plan expects [1, 2]"
    ]


def test_a_partition_that_is_gone_is_drift_too() -> None:
    now = Assignment.from_mapping({ORDERS_0: ids(1, 2, 3)})
    assert said(verify_plan(plan(), snapshot(assignment=now, size=None))) == [
        "error before[1]: logs-0 is not in the snapshot"
    ]


def test_a_partition_that_moves_already_is_pointed_out() -> None:
    adding = np.array([[-1], [4], [-1]], np.int32)
    assert said(verify_plan(plan(), snapshot(adding=adding))) == [
        "warning partitions[0]: orders-0 is already moving"
    ]


@pytest.mark.parametrize("state", [BrokerState.DRAINING, BrokerState.DEAD])
def test_nothing_may_go_to_a_broker_that_leaves(state: BrokerState) -> None:
    brokers = [broker(1, "a"), broker(2, "b"), broker(3, "c"), broker(4, "a", state)]
    assert said(verify_plan(plan(), snapshot(brokers=brokers))) == [
        f"error partitions[0].replicas[0]: broker 4 is {state} and cannot receive replicas",
        f"error partitions[1].replicas[1]: broker 4 is {state} and cannot receive replicas",
    ]


def test_what_stays_on_a_broker_that_leaves_is_pointed_out() -> None:
    leaving = BrokerState.DRAINING
    brokers = [broker(1, "a"), broker(2, "b"), broker(3, "c", leaving), broker(4, "a")]
    assert said(verify_plan(plan(), snapshot(brokers=brokers))) == [
        "warning partitions[0].replicas[2]: broker 3 is draining and keeps a replica",
        "warning partitions: 1 replicas stay on broker 3, which is to be emptied",
    ]


def test_an_unknown_broker_is_found_out() -> None:
    assert said(verify_plan(one(LOGS_0, ids(1, 2), ids(9, 2)), snapshot())) == [
        "error partitions[0].replicas[0]: broker 9 is not in the snapshot"
    ]


def test_a_log_directory_that_a_broker_does_not_have_is_found_out() -> None:
    dirs = (LogDir("/a"), LogDir("/b"))
    brokers = [replace(each, log_dirs=dirs) for each in snapshot().brokers]
    sent = replace(
        one(LOGS_0, ids(1, 2), ids(4, 2)),
        partitions=(Reassignment(LOGS_0, ids(4, 2), ("/nope", "/b")),),
    )
    assert said(verify_plan(sent, snapshot(brokers=brokers))) == [
        "error partitions[0].log_dirs[0]: broker 4 has no log directory /nope, but /a, /b"
    ]
    assert verify_plan(sent, snapshot()) == [], "the snapshot lists no directories"


def test_a_rack_may_not_become_more_crowded_than_it_needs_to_be() -> None:
    crowded = one(ORDERS_0, ids(1, 2, 3), ids(1, 4, 3))
    assert said(verify_plan(crowded, snapshot())) == [
        "error partitions[0].replicas: orders-0 has 2 replicas in one of 3 racks, 1 before"
    ]


def test_an_old_crowding_may_stay() -> None:
    now = Assignment.from_mapping({ORDERS_0: ids(1, 4, 2)})
    found = verify_plan(
        one(ORDERS_0, ids(1, 4, 2), ids(1, 4, 3)), snapshot(assignment=now, size=None)
    )
    assert said(found) == [
        "warning partitions[0].replicas: orders-0 has 2 replicas in one of 3 racks, 2 before"
    ]


def test_more_replicas_than_racks_crowd_no_more_than_they_must() -> None:
    brokers = [broker(1, "a"), broker(2, "b"), broker(3, "b"), broker(4, "a")]
    assert verify_plan(one(ORDERS_0, ids(1, 2, 3), ids(4, 2, 3)), snapshot(brokers=brokers)) == []


def test_racks_count_only_when_every_broker_has_one() -> None:
    brokers = [broker(1, "a"), broker(2, None), broker(3, "c"), broker(4, "a")]
    crowded = one(ORDERS_0, ids(1, 2, 3), ids(1, 4, 3))
    assert verify_plan(crowded, snapshot(brokers=brokers)) == []


def test_another_number_of_replicas_than_wanted_is_pointed_out() -> None:
    shorter = one(ORDERS_0, ids(1, 2, 3), ids(1, 2))
    assert said(verify_plan(shorter, snapshot())) == [
        "warning partitions[0].replicas: orders-0 ends with 2 replicas, 3 are wanted"
    ]
    wanted = np.array([2, 2, 3])
    assert verify_plan(shorter, snapshot(wanted_rf=wanted)) == []


def test_the_bytes_are_counted_again() -> None:
    wrong = plan(summary=Summary(2, 1, bytes_moved=12))
    assert said(verify_plan(wrong, snapshot())) == [
        "error summary.bytes_moved: says 12, the plan has 11"
    ]
    assert verify_plan(wrong, snapshot(size=None)) == []
    later = verify_plan(wrong, snapshot(), snapshot_sha256="cd" * 32)
    assert said(later)[-1] == (
        "warning summary.bytes_moved: 12 when the plan was made, 11 in this snapshot"
    )
    assert verify_plan(wrong) == []


def test_another_snapshot_is_pointed_out_and_another_cluster_is_refused() -> None:
    assert said(verify_plan(plan(), snapshot(cluster_id="prod"), snapshot_sha256="cd" * 32)) == [
        "warning snapshot_sha256: the plan was made from another snapshot",
        "error cluster_id: the plan is for lab, the snapshot is of prod",
    ]


def test_the_first_error_is_raised_and_warnings_are_not() -> None:
    found = verify_plan(plan(waves=((), (0, 7), (9,))))
    assert found[0].severity is Severity.WARNING
    assert [finding.fatal for finding in found] == [False, True, True, True]
    with pytest.raises(InvalidPlan, match=r"waves\[1\]\[1\]: .*; and 2 more errors"):
        refuse_errors(found)
    refuse_errors(verify_plan(plan(waves=((), (0, 1)))))
