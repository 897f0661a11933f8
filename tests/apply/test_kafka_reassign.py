"""What kafka-reassign-partitions does, on a cluster in memory that fails where a test says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.apply.kafka_reassign import Limits, Reporter, cancel, execute, verify
from kedge.apply.plan_file import read_plan
from kedge.cluster.port import broker_resource
from kedge.errors import (
    InvalidRequest,
    ReassignmentInProgress,
    Unauthorised,
    UnknownTopicOrPartition,
)
from kedge.execution import Lease
from kedge.plan import ReassignmentFile, parse_execute, plan_to_json
from tests.apply.bench import B1, B2, B4, T0, T1, Bench

MOVES = (
    '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[4,2]},'
    '{"topic":"t","partition":1,"replicas":[3,4]}]}'
)


@pytest.fixture
def file() -> ReassignmentFile:
    return parse_execute(MOVES)


class Heard:
    """A reporter whose lines and notes are kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.notes: list[str] = []
        self.questions: list[str] = []
        self.reporter = Reporter(self.lines.append, self.notes.append, self.questions.append)


def run(
    bench: Bench, file: ReassignmentFile, limits: Limits, heard: Heard, *, dry_run: bool = False
) -> object:
    return execute(
        bench.faulty.port,
        file,
        limits,
        additional=False,
        dry_run=dry_run,
        report=heard.reporter,
    )


def test_a_dry_run_asks_nothing_and_starts_nothing(bench: Bench, file: ReassignmentFile) -> None:
    heard = Heard()
    run(bench, file, Limits(1000), heard, dry_run=True)
    assert heard.questions == []
    assert bench.cluster.reassignments() == {}
    assert bench.throttles() == Lease()
    assert any("Current partition replica assignment" in line for line in heard.lines)


def test_an_operator_who_declines_changes_nothing(bench: Bench, file: ReassignmentFile) -> None:
    def decline(_question: str) -> None:
        raise InvalidRequest("Not confirmed: nothing was changed")

    with pytest.raises(InvalidRequest, match="Not confirmed"):
        execute(
            bench.cluster,
            file,
            Limits(1000),
            additional=False,
            dry_run=False,
            report=Reporter(confirm=decline),
        )
    assert bench.cluster.reassignments() == {}
    assert bench.throttles() == Lease()


def test_moves_start_under_their_throttle_and_verify_removes_it(
    bench: Bench, file: ReassignmentFile
) -> None:
    heard = Heard()
    run(bench, file, Limits(1000), heard)
    assert heard.questions == ["Reassign 2 partitions of cluster memory?"]
    assert heard.lines[-1] == "Successfully started partition reassignments for t-0,t-1"
    assert set(bench.cluster.reassignments()) == {T0, T1}
    assert set(bench.throttles().brokers) == {"1", "2", "3", "4"}
    _, cleared = verify(bench.cluster, file, preserve_throttles=False, report=Reporter())
    assert cleared is None  # moves are in progress
    bench.cluster.finish_moves()
    _, cleared = verify(bench.cluster, file, preserve_throttles=False, report=Reporter())
    assert cleared is not None
    assert bench.throttles() == Lease()


def test_a_throttle_that_cannot_be_read_back_is_noted(bench: Bench, file: ReassignmentFile) -> None:
    heard = Heard()
    bench.faulty.fail("describe_configs", Unauthorised("Missing permission: DescribeConfigs"))
    run(bench, file, Limits(1000), heard)
    assert heard.notes[-1] == (
        "could not check that brokers applied their throttles: Missing permission: DescribeConfigs"
    )
    assert set(bench.cluster.reassignments()) == {T0, T1}


def test_throttles_of_a_broker_that_is_down_are_left_alone(
    bench: Bench, file: ReassignmentFile
) -> None:
    heard = Heard()
    bench.cluster.stop_broker(B1)
    run(bench, file, Limits(1000), heard)
    assert "broker 1 is down: its throttles stay as they are" in heard.notes
    bench.cluster.start_broker(B1)
    assert "1" not in bench.throttles().brokers


def test_a_partition_that_is_refused_is_in_the_result(bench: Bench, file: ReassignmentFile) -> None:
    heard = Heard()
    refusal = ReassignmentInProgress("the partition is being moved")
    bench.faulty.change_response("alter_reassignments", lambda answers: answers | {T1: refusal})
    done = execute(
        bench.faulty.port, file, Limits(), additional=False, dry_run=False, report=heard.reporter
    )
    assert done.started == (T0,)
    assert done.refused == {T1: refusal}
    assert any("t-1: the partition is being moved" in line for line in heard.lines)


def test_cancel_returns_moves_and_removes_throttles(bench: Bench, file: ReassignmentFile) -> None:
    run(bench, file, Limits(1000), Heard())
    bench.cluster.hold_moves = False
    cancelled, refused = cancel(
        bench.cluster, file, preserve_throttles=False, timeout_ms=100, report=Reporter()
    )
    assert (cancelled, refused) == ([T0, T1], {})
    assert bench.throttles() == Lease()
    assert {n: set(ids) for n, ids in bench.replicas().items()} == {0: {1, 2}, 1: {2, 3}}


def test_the_configs_of_brokers_outside_the_moves_stay(
    bench: Bench, file: ReassignmentFile
) -> None:
    one = parse_execute(MOVES.split(",{")[0] + "]}")
    run(bench, one, Limits(1000), Heard())
    assert set(bench.throttles().brokers) == {"1", "2", "4"}
    assert bench.cluster.describe_configs([broker_resource(B2)])


# ---- plans from files ---------------------------------------------------------------------------


def test_a_plan_is_read_as_it_is(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(plan_to_json(bench.plan))
    assert read_plan(path, bench.faulty.port).partitions == bench.plan.partitions
    assert not bench.faulty.calls


def test_a_file_of_kafkas_tools_gets_its_before_from_the_cluster(
    bench: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "moves.json"
    path.write_text(MOVES)
    plan = read_plan(path, bench.cluster)
    assert plan.before[T0] == (B1, B2)
    assert plan.after[T0] == (B4, B2)
    assert plan.cluster_id == "memory"


def test_a_file_with_an_unknown_topic_is_refused(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "moves.json"
    path.write_text(MOVES.replace('"t"', '"absent"'))
    with pytest.raises(UnknownTopicOrPartition, match="absent"):
        read_plan(path, bench.cluster)
