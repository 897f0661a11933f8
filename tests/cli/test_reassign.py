"""`kedge reassign …` on a cluster in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedge.cluster.memory import LOG_DIRS, MemoryCluster
from kedge.cluster.port import TopicCreation, broker_resource, topic_resource
from kedge.errors import KedgeError
from kedge.model import BrokerId
from tests.cli.cluster_commands import Desk

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    cluster = MemoryCluster(4)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2), 1: (B2, B3)})])
    cluster.hold_moves = True
    return Desk(cluster, capsys)


@pytest.fixture
def moves(tmp_path: Path) -> Path:
    return written(tmp_path, {0: [4, 2]})


def written(directory: Path, lists: dict[int, list[int]], **more: Any) -> Path:
    entries = [{"topic": "t", "partition": p, "replicas": ids, **more} for p, ids in lists.items()]
    path = directory / f"moves-{'-'.join(map(str, lists))}.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return path


def on(verb: str, path: Path, *more: str) -> tuple[str, ...]:
    confirmed = ("--yes",) if verb == "execute" else ()
    return ("reassign", verb, "--reassignment-json-file", str(path), *confirmed, *more)


def throttles(cluster: MemoryCluster) -> dict[str, list[str | None]]:
    """Who is throttled, and how."""
    places = [topic_resource("t"), *(broker_resource(b) for b in sorted(cluster.alive))]
    found: dict[str, list[str | None]] = {}
    for place, entries in cluster.describe_configs(places).items():
        assert not isinstance(entries, KedgeError)
        values = [e.value for e in entries if "throttled" in e.name and "DYNAMIC" in e.source]
        if values:
            found[place.name] = values
    return found


def test_a_move_is_started_with_the_way_back_printed_first(desk: Desk, moves: Path) -> None:
    assert desk.lines(*on("execute", moves)) == [
        "Current partition replica assignment",
        "",
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],'
        '"log_dirs":["any","any"]}]}',
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
        "Successfully started partition reassignment for t-0",
    ]
    assert desk.lines("reassign", "list") == [
        "Current partition reassignments:",
        "t-0: replicas: 4,2,1. adding: 4. removing: 1.",
    ]
    assert desk.json("reassign", "list")["moving"] == [
        {"topic": "t", "partition": 0, "replicas": [4, 2, 1], "adding": [4], "removing": [1]}
    ]


def test_throttles_are_set_before_the_move_and_cleared_after_it(desk: Desk, moves: Path) -> None:
    outcome = desk(*on("execute", moves, "--throttle", "5000"))
    assert "The inter-broker throttle limit was set to 5000 B/s" in outcome.out
    assert "throttles stay until verify" in outcome.err
    # in the order of names: followers before leaders
    assert throttles(desk.cluster) == {
        "t": ["0:4", "0:1,0:2"],
        "1": ["5000", "5000"],
        "2": ["5000", "5000"],
        "4": ["5000", "5000"],
    }
    assert desk.lines(*on("verify", moves)) == [
        "Status of partition reassignment:",
        "Reassignment of partition t-0 is still in progress.",
        "",
    ]
    assert throttles(desk.cluster)
    desk.cluster.finish_moves()
    assert desk.lines(*on("verify", moves, "--preserve-throttles"))[1:] == [
        "Reassignment of partition t-0 is completed.",
        "",
    ]
    assert throttles(desk.cluster)
    assert desk.lines(*on("verify", moves))[-2:] == [
        "Clearing broker-level throttles on brokers 1,2,3,4",
        "Clearing topic-level throttles on topic t",
    ]
    assert throttles(desk.cluster) == {}


def test_throttles_of_moves_under_way_are_kept_by_a_second_order(
    desk: Desk, moves: Path, tmp_path: Path
) -> None:
    desk.lines(*on("execute", moves, "--throttle", "5000"))
    other = written(tmp_path, {1: [2, 4]})
    desk.lines(*on("execute", other, "--throttle", "6000", "--additional"))
    assert throttles(desk.cluster)["t"] == ["0:4,1:4", "0:1,0:2,1:2,1:3"]


def test_a_dead_broker_is_left_out_of_throttles_and_noted(desk: Desk, moves: Path) -> None:
    desk.cluster.stop_broker(B1)
    outcome = desk(*on("execute", moves, "--throttle", "5000"))
    assert outcome.code == 0
    assert "broker 1 is down" in outcome.err


def test_a_second_order_needs_to_be_meant(desk: Desk, moves: Path, tmp_path: Path) -> None:
    desk.lines(*on("execute", moves))
    other = written(tmp_path, {1: [2, 4]})
    outcome = desk(*on("execute", other))
    assert outcome.code == 1
    assert "--additional" in outcome.err
    assert len(desk.cluster.reassignments()) == 1
    desk.lines(*on("execute", other, "--additional"))
    assert len(desk.cluster.reassignments()) == 2


def test_a_cancelled_move_goes_back(desk: Desk, moves: Path) -> None:
    desk.lines(*on("execute", moves, "--throttle", "5000"))
    assert desk.lines(*on("cancel", moves)) == [
        "Successfully cancelled partition reassignment for: t-0",
        "None of the specified partition moves are active.",
        "Clearing broker-level throttles on brokers 1,2,3,4",
        "Clearing topic-level throttles on topic t",
    ]
    assert desk.cluster.reassignments() == {}
    assert desk.lines(*on("cancel", moves, "--preserve-throttles"))[0] == (
        "None of the specified partition reassignments are active."
    )
    assert desk.json(*on("cancel", moves)) == {"cancelled": [], "refused": []}


def test_a_dry_run_shows_the_way_back_and_moves_nothing(desk: Desk, moves: Path) -> None:
    lines = desk.lines(*on("execute", moves, "--dry-run", "--throttle", "5kB"))
    assert lines[-1].startswith("Save this")
    assert desk.cluster.reassignments() == {}
    assert throttles(desk.cluster) == {}


def test_a_result_for_programs_has_the_way_back_as_json(desk: Desk, moves: Path) -> None:
    done = desk.json(*on("execute", moves))
    assert done["before"]["partitions"][0]["replicas"] == [1, 2]
    assert done["started"] == [{"topic": "t", "partition": 0}]
    verified = desk.json(*on("verify", moves))
    assert verified["partitions"][0]["state"] == "in progress"
    assert verified["cleared"] is None


def test_a_move_that_ended_elsewhere_is_told(desk: Desk, moves: Path) -> None:
    assert desk.lines(*on("verify", moves))[1] == (
        "There is no active reassignment of partition t-0, but replica set is 1,2 rather than 4,2."
    )
    assert desk.json(*on("verify", moves))["partitions"][0]["state"] == "elsewhere"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "is empty"),
        ('{"version":1,"partitions":[]}', "lists no partition"),
        ('{"version":7,"partitions":[]}', "7 is not supported"),
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[1,1]}]}', "more than once"),
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[1,9]}]}', "Unknown broker id 9"),
        ('{"partitions":[{"topic":"t","partition":7,"replicas":[1]}]}', "t-7"),
    ],
)
def test_files_that_cannot_be_carried_out_are_refused(
    desk: Desk, tmp_path: Path, text: str, named: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert named in desk.refusal(*on("execute", path))
    assert desk.cluster.reassignments() == {}


def test_directories_are_moved_and_verified(desk: Desk, tmp_path: Path) -> None:
    path = written(tmp_path, {0: [1, 2]}, log_dirs=["any", LOG_DIRS[1]])
    lines = desk.lines(*on("execute", path, "--replica-alter-log-dirs-throttle", "9000"))
    assert "The replica-alter-dir throttle limit was set to 9000 B/s" in lines
    assert lines[-1] == (
        f"Successfully started moving log directory to {LOG_DIRS[1]} for replica t-0 with broker 2 "
    )
    under_way = "Reassignment of replica t-0-2 is still in progress."
    assert under_way in desk.lines(*on("verify", path))
    desk.cluster.finish_moves()
    assert "Reassignment of replica t-0-2 completed successfully." in desk.lines(
        *on("verify", path)
    )
    row = desk.json(*on("verify", path))["log_dirs"][0]
    assert (row["broker"], row["state"], row["current"]) == (2, "completed", LOG_DIRS[1])


def test_a_directory_that_is_not_there_is_refused(desk: Desk, tmp_path: Path) -> None:
    path = written(tmp_path, {0: [1, 2]}, log_dirs=["any", "/nowhere"])
    outcome = desk(*on("execute", path))
    assert outcome.code == 2
    assert outcome.err == "kedge: t-0-2: the broker has no such log directory\n"


def test_a_replica_that_does_not_arrive_in_time_is_told(desk: Desk, tmp_path: Path) -> None:
    path = written(tmp_path, {0: [1, 4]}, log_dirs=["any", LOG_DIRS[1]])
    outcome = desk(*on("execute", path, "--timeout", "150"))
    assert outcome.code == 1
    assert "t-0-4" in outcome.err


def test_a_fresh_layout_is_proposed_and_nothing_moves(desk: Desk, tmp_path: Path) -> None:
    topics = tmp_path / "topics.json"
    topics.write_text('{"version":1,"topics":[{"topic":"t"}]}')
    asked = ("reassign", "generate", "--topics-to-move-json-file", str(topics), "--broker-list")
    lines = desk.lines(*asked, "3,4,77")
    assert lines[0] == "Current partition replica assignment"
    proposed = json.loads(lines[-1])
    assert {b for each in proposed["partitions"] for b in each["replicas"]} == {3, 4}
    assert desk.json(*asked, "1,2")["current"] == json.loads(lines[1])
    assert "replication factor" in desk.refusal(*asked, "1").lower()
    assert "more than once" in desk.refusal(*asked, "1,1")
    assert desk.cluster.reassignments() == {}


@pytest.mark.parametrize("option", ["--throttle", "--replica-alter-log-dirs-throttle"])
def test_a_rate_that_no_move_ends_at_is_refused(desk: Desk, moves: Path, option: str) -> None:
    said = desk.refusal(*on("execute", moves, option, "50"))
    assert said == f"{option} 50 is 50 bytes/s, less than 1 kB/s; did you mean 50MB?"
    assert "'-5' is not an amount of bytes" in desk.refusal(*on("execute", moves, option, "-5"))
    assert throttles(desk.cluster) == {}
