"""--execute, up to the point where the cluster is asked to move."""

from __future__ import annotations

import pytest

from kedge.errors import ReassignmentInProgress, RefusedCommand, UnknownTopicOrPartition
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import (
    PartitionReplica,
    failed_lines,
    judge_execute,
    log_dir_lines,
    parse_execute,
    rollback_lines,
    throttle_lines,
)

FILE = parse_execute(
    '{"partitions":[{"topic":"t","partition":1,"replicas":[1,3]},'
    '{"topic":"t","partition":0,"replicas":[2]}]}'
)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
CURRENT = {T0: ids(1), T1: ids(1, 2), T2: ids(9)}
ADDING = {T2: ReplicaAssignment(ids(9, 1), adding=ids(1))}


def test_an_order_that_the_cluster_can_take_passes() -> None:
    at_rest = {T2: ReplicaAssignment(ids(9))}
    judge_execute(FILE, active=at_rest, alive=ids(1, 2, 3), current=CURRENT, additional=False)
    judge_execute(FILE, active=ADDING, alive=ids(1, 2, 3), current=CURRENT, additional=True)


def test_a_move_anywhere_in_the_cluster_needs_additional() -> None:
    with pytest.raises(ReassignmentInProgress, match="--additional"):
        judge_execute(FILE, active=ADDING, alive=(), current={}, additional=False)


def test_brokers_are_looked_at_before_partitions() -> None:
    with pytest.raises(RefusedCommand, match="Unknown broker id 2"):
        judge_execute(FILE, active={}, alive=ids(1), current={}, additional=False)


def test_every_missing_partition_is_named() -> None:
    with pytest.raises(UnknownTopicOrPartition, match="t-0, t-1"):
        judge_execute(FILE, active={}, alive=ids(1, 2, 3), current={}, additional=False)


def test_the_way_back_lists_only_the_partitions_of_the_file() -> None:
    lines = rollback_lines(FILE, CURRENT)
    assert lines[0] == "Current partition replica assignment"
    assert lines[1] == lines[3] == ""
    assert parse_execute(lines[2]).targets == {T0: ids(1), T1: ids(1, 2)}
    assert lines[4] == "Save this to use as the --reassignment-json-file option during rollback"


def test_what_was_done_is_said_in_kafkas_words() -> None:
    assert failed_lines({T1: "no", T0: "never"}) == [
        "Error reassigning partition(s):",
        "t-0: never",
        "t-1: no",
    ]
    assert throttle_lines(inter_broker=0, log_dirs=None) == [
        "The inter-broker throttle limit was set to 0 B/s"
    ]
    assert throttle_lines(inter_broker=None, log_dirs=7) == [
        "The replica-alter-dir throttle limit was set to 7 B/s"
    ]
    assert log_dir_lines({PartitionReplica("t", 0, BrokerId(4)): "/d"}) == [
        "Successfully started moving log directory to /d for replica t-0 with broker 4 "
    ]
