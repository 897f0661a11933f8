"""`kedge apply` and its siblings on a cluster in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.errors import InvalidRequest
from kedge.model import BrokerId
from kedge.model.parse_amounts import parse_bytes
from kedge.report.amounts import bytes_text, duration_text
from tests.cli.cluster_commands import Desk

B1, B2, B3 = map(BrokerId, (1, 2, 3))


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    cluster = MemoryCluster(4)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2), 1: (B2, B3)})])
    return Desk(cluster, capsys)


@pytest.fixture
def moves(tmp_path: Path) -> str:
    entries = [{"topic": "t", "partition": 0, "replicas": [4, 2]}]
    path = tmp_path / "moves.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


@pytest.fixture
def state(tmp_path: Path) -> tuple[str, str]:
    return ("--state", str(tmp_path / "state"))


def test_a_file_of_kafkas_tool_is_applied_and_rolled_back(
    desk: Desk, moves: str, state: tuple[str, str]
) -> None:
    done = desk.json("apply", moves, "--throttle", "1MB", "--yes", *state)
    assert (done["complete"], done["done"], done["left"]) == (True, 1, [])
    assert desk.json("status", *state)["state"] == "done"
    assert desk.lines("throttle", *state) == ["No throttles of kedge runs are set"]
    back = desk.json("rollback", "--no-throttle", "--yes", *state)
    assert back["complete"]
    topic = desk.json("topics", "describe", "--topic", "t")
    assert topic["topics"][0]["partitions"][0]["replicas"] == [1, 2]


def test_a_dry_run_changes_nothing(desk: Desk, moves: str, state: tuple[str, str]) -> None:
    assert desk.lines("apply", moves, "--no-throttle", "--dry-run", *state) == []
    topic = desk.json("topics", "describe", "--topic", "t")
    assert topic["topics"][0]["partitions"][0]["replicas"] == [1, 2]
    assert not Path(state[1]).joinpath("memory", "journal.jsonl").exists()


def test_events_are_json_lines_and_the_outcome_stays_the_last_line_of_stdout(
    desk: Desk, moves: str, state: tuple[str, str], tmp_path: Path
) -> None:
    speed = ("--no-throttle", "--yes", *state)
    lines = desk.lines("apply", moves, *speed, "--events", "-", "--output", "json")
    events = [json.loads(line) for line in lines]
    kinds = [each.get("event") for each in events]
    assert kinds[0] == "started"
    assert kinds[-2:] == ["finished", None]
    assert set(kinds[1:-2]) == {"progress"}
    outcome = events[-1]
    assert events[-2].items() >= outcome.items()
    assert events[0]["run"] == outcome["run"]
    assert events[1]["brokers"] == [
        {"broker": b, "bytes_in": 0, "total_in": 0, "bytes_out": 0, "total_out": 0} for b in (1, 4)
    ]
    path = tmp_path / "events.jsonl"
    back = desk.lines("rollback", *speed, "--events", str(path))
    assert back[0].startswith("1 moved; run ")
    assert back[1].startswith("nothing copied, ")
    assert json.loads(path.read_text().splitlines()[0])["kind"] == "rollback"


def test_events_on_stdout_need_json(desk: Desk, moves: str, state: tuple[str, str]) -> None:
    words = ("--no-throttle", "--yes", "--events", "-", *state)
    outcome = desk("apply", moves, *words)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == (
        "kedge: --events - writes JSON to stdout; add --output json"
    )
    assert "No run of this cluster found" in desk.refusal("status", *state)


def test_a_watch_ends_with_the_run(desk: Desk, moves: str, state: tuple[str, str]) -> None:
    desk.json("apply", moves, "--no-throttle", "--yes", *state)
    assert desk.lines("status", "--watch", *state)[0].endswith(": done")
    (row,) = desk.lines("status", "--watch", "--output", "json", *state)
    assert json.loads(row)["state"] == "done"
    desk.json("rollback", "--no-throttle", "--yes", *state)
    (row,) = desk.lines("status", "--watch", "--output", "json", *state)
    assert json.loads(row)["kind"] == "rollback"


def test_a_speed_must_be_chosen(desk: Desk, moves: str, state: tuple[str, str]) -> None:
    assert "No throttle given" in desk.refusal("apply", moves, *state)
    both = desk.refusal("apply", moves, *state, "--throttle", "1MB", "--no-throttle")
    assert "Both --throttle and --no-throttle" in both


def test_nothing_to_go_on_with_is_said_in_one_sentence(desk: Desk, state: tuple[str, str]) -> None:
    for command in ("status", "resume", "cancel"):
        assert "No run of this cluster found" in desk.refusal(command, *state)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("50MB", 50_000_000),
        ("1.5GiB", 1_610_612_736),
        ("200kB/s", 200_000),
        ("7", 7),
        ("3t", 3e12),
        ("1e9", 1e9),
        ("1.5 gb", 15e8),
        ("64KiB", 65536),
    ],
)
def test_amounts_are_read_as_people_type_them(text: str, amount: float) -> None:
    assert parse_bytes(text, "--throttle") == amount


@pytest.mark.parametrize(
    "text", ["", "MB", "-5", "5 apples", "0", "1e400", "NaN", "1XB", "999999999TB", "1 2", "1ib"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="--throttle"):
        parse_bytes(text, "--throttle")


def test_amounts_and_times_are_told_in_units_that_fit() -> None:
    assert [bytes_text(x) for x in (5, 1500, 2.5e9, 7e18)] == [
        "5 B",
        "1.5 kB",
        "2.5 GB",
        "7000.0 PB",
    ]
    times = [duration_text(x) for x in (5, 65, 3700, 90_000)]
    assert times == ["5 s", "1 min 05 s", "1 h 01 min", "1 d 01 h"]
