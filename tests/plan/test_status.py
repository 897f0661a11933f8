"""What became of moves, in Kafka's own words."""

from __future__ import annotations

from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import (
    Clearing,
    Directories,
    LogDirState,
    PartitionReplica,
    cancellable,
    cancelled_line,
    cancelling_log_dir_moves,
    clearing,
    list_lines,
    log_dir_statuses,
    parse_reassignment,
    reassign_to,
    started_line,
    verification,
)
from kedge.plan.status import cancelled_log_dirs_line

FILE = parse_reassignment(
    '{"partitions":[{"topic":"t","partition":10,"replicas":[1,2]},'
    '{"topic":"t","partition":2,"replicas":[1,3]},'
    '{"topic":"a","partition":3,"replicas":[1,3]},'
    '{"topic":"a","partition":4,"replicas":[9,1]}]}'
)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def tp(name: str, partition: int) -> TopicPartition:
    return TopicPartition(name, partition)


def adding_only() -> ReplicaAssignment:
    return reassign_to(ReplicaAssignment(ids(1)), ids(1, 3))


def test_verify_tells_completed_from_moving_from_elsewhere_from_unknown() -> None:
    found = verification(
        FILE,
        current={tp("t", 10): ids(1, 2), tp("t", 2): ids(3, 1), tp("a", 3): ids(1, 3)},
        active={tp("a", 3): adding_only()},
    )
    assert found.lines == [
        "Status of partition reassignment:",
        "Reassignment of partition a-3 is still in progress.",
        "There is no active reassignment of partition a-4, but replica set is  rather than 9,1.",
        "There is no active reassignment of partition t-2, but replica set is 3,1 rather than 1,3.",
        "Reassignment of partition t-10 is completed.",
        "",
    ]


def test_throttles_stay_while_anything_moves_even_outside_the_file() -> None:
    current = dict(FILE.targets)
    elsewhere = {tp("other", 0): adding_only()}
    assert not verification(FILE, current=current, active=elsewhere).may_clear_throttles
    assert verification(FILE, current=current, active={}).may_clear_throttles


def test_a_partition_that_ended_elsewhere_does_not_keep_the_throttles() -> None:
    assert verification(FILE, current={}, active={}).may_clear_throttles


def test_throttles_stay_until_every_directory_is_done() -> None:
    replica = PartitionReplica("t", 0, BrokerId(1))
    for reported, may_clear in [
        (Directories("/wanted"), True),
        (Directories("/old"), True),
        (Directories("/old", "/wanted"), False),
        (Directories(None), False),
    ]:
        statuses = log_dir_statuses({replica: "/wanted"}, {replica: reported})
        found = verification(FILE, current={}, active={}, log_dirs=statuses)
        assert found.may_clear_throttles is may_clear


def test_directories_are_reported_by_broker_then_partition() -> None:
    wanted = {
        PartitionReplica("t", number, BrokerId(broker)): "/t"
        for number, broker in enumerate([1, 0, 0, 0, 10, 2, 2])
    }
    reported = {
        0: Directories("/t"),
        1: Directories("/c", "/t"),
        2: Directories("/c", "/f"),
        3: Directories("/c"),
        5: Directories(None),
        6: Directories("/t"),
    }
    answers = {each: reported[each.partition] for each in wanted if each.partition in reported}
    statuses = log_dir_statuses(wanted, answers)
    assert [status.line for status in statuses] == [
        "Reassignment of replica t-1-0 is still in progress.",
        "Partition t-2 on broker 0 is being moved to log dir /f instead of /t.",
        "Partition t-3 on broker 0 is not being moved from log dir /c to /t.",
        "Reassignment of replica t-0-1 completed successfully.",
        "Partition t-5 is not found in any live log dir on broker 2. "
        "There is likely an offline log directory on the broker.",
        "Reassignment of replica t-6-2 completed successfully.",
        "Partition t-4 cannot be found in any live log directory on broker 10.",
    ]
    assert cancelling_log_dir_moves(statuses) == {
        PartitionReplica("t", 1, BrokerId(0)): "/c",
        PartitionReplica("t", 2, BrokerId(0)): "/c",
    }
    assert cancelled_log_dirs_line(statuses) == ""


def test_a_copy_in_the_directory_it_is_in_is_still_an_active_move() -> None:
    replica = PartitionReplica("t", 0, BrokerId(1))
    (status,) = log_dir_statuses({replica: "/a"}, {replica: Directories("/a", "/b")})
    assert status.state is LogDirState.ACTIVE
    assert not status.done


def test_a_move_that_only_adds_can_be_cancelled() -> None:
    active = {tp("a", 3): adding_only(), tp("other", 0): adding_only()}
    assert cancellable(FILE, active) == [tp("a", 3)]


def test_a_partition_at_rest_is_not_cancelled() -> None:
    assert cancellable(FILE, {tp("a", 3): ReplicaAssignment(ids(1, 3))}) == []
    assert cancelled_line([]) == "None of the specified partition reassignments are active."
    assert cancelled_log_dirs_line([]) == "None of the specified partition moves are active."


def test_the_list_leaves_out_empty_parts() -> None:
    active = {
        tp("man", 1): ReplicaAssignment(ids(0, 1, 2), adding=ids(0), removing=ids(2)),
        tp("add", 12): adding_only(),
        tp("add", 3): ReplicaAssignment(ids(1, 2), removing=ids(2)),
        tp("rest", 0): ReplicaAssignment(ids(1)),
    }
    assert list_lines(active) == [
        "Current partition reassignments:",
        "add-3: replicas: 1,2. removing: 2.",
        "add-12: replicas: 1,3. adding: 3.",
        "man-1: replicas: 0,1,2. adding: 0. removing: 2.",
    ]
    assert list_lines({}) == ["No partition reassignments found."]


def test_one_partition_is_singular_and_all_others_are_plural() -> None:
    one, two = [tp("t", 0)], [tp("t", 10), tp("t", 2)]
    assert started_line(one) == "Successfully started partition reassignment for t-0"
    assert started_line(two) == "Successfully started partition reassignments for t-2,t-10"
    assert cancelled_line(one) == "Successfully cancelled partition reassignment for: t-0"
    assert cancelled_line(two) == "Successfully cancelled partition reassignments for: t-2,t-10"


def test_rates_are_cleared_everywhere_and_lists_on_the_topics_of_the_file() -> None:
    found = clearing(FILE, ids(0, 1))
    assert found == Clearing(ids(0, 1, 2, 3, 9), ("a", "t"))
    assert found.lines == [
        "Clearing broker-level throttles on brokers 0,1,2,3,9",
        "Clearing topic-level throttles on topics a,t",
    ]
