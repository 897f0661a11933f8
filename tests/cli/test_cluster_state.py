"""`--state cluster` of the commands about runs: on a log in memory, and in a lab."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedge.apply.run_records import Owner, lease_entry
from kedge.cli.app import run
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.memory_log import MemoryLog, MemoryTopic
from kedge.cluster.port import TopicCreation
from kedge.errors import Unauthorised
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId
from kedge.wiring import logs_from
from tests.cli.cluster_commands import Desk

B1, B2 = BrokerId(1), BrokerId(2)
STATE = ("--state", "cluster")


class NotCreated(MemoryLog):
    """A log that this client may not create."""

    def create(self) -> list[str]:
        raise Unauthorised("Missing permission: Create on Topic runs")


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    cluster = MemoryCluster(4)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2)})])
    return Desk(cluster, capsys)


@pytest.fixture
def topic() -> Iterator[MemoryTopic]:
    topic = MemoryTopic()
    with logs_from(lambda _cluster, _bootstrap, _settings: MemoryLog(topic)):
        yield topic


@pytest.fixture
def moves(tmp_path: Path) -> str:
    path = tmp_path / "moves.json"
    entries = [{"topic": "t", "partition": 0, "replicas": [4, 2]}]
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


def test_a_run_is_kept_in_the_cluster_from_apply_to_rollback(
    desk: Desk, moves: str, topic: MemoryTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    assert desk.json("runs", *STATE) == {"runs": []}
    assert not topic.created  # what only shows creates nothing
    assert desk.json("apply", moves, "--throttle", "1MB", "--yes", *STATE)["complete"]
    assert desk.json("status", *STATE)["state"] == "done"
    assert desk.lines("throttle", *STATE) == ["No throttles of kedge runs are set"]
    assert desk.json("rollback", "--no-throttle", "--yes", *STATE)["complete"]
    states = [each["state"] for each in desk.json("runs", *STATE)["runs"]]
    assert states == ["rolled back", "done"]
    assert not (tmp_path / "home").exists()


def test_runs_are_kept_in_the_cluster_unless_a_place_is_named(
    desk: Desk, moves: str, topic: MemoryTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    assert desk.json("runs") == {"runs": []}
    assert desk.lines("apply", moves, "--no-throttle", "--dry-run") == []
    assert not topic.created
    assert desk.json("apply", moves, "--throttle", "1MB", "--yes")["complete"]
    assert desk.json("status", *STATE)["state"] == "done"
    assert desk.json("rollback", "--no-throttle", "--yes")["complete"]
    assert [each["state"] for each in desk.json("runs")["runs"]] == ["rolled back", "done"]
    assert not (tmp_path / "home").exists()


def test_without_the_right_to_create_the_topic_a_directory_keeps_them_and_it_says_so(
    desk: Desk, moves: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    with logs_from(lambda *_: NotCreated(MemoryTopic())):
        done = desk("apply", moves, "--throttle", "1MB", "--yes", "--output", "json")
        assert (done.code, json.loads(done.out)["complete"]) == (0, True), done.err
        home = tmp_path / "home" / "kedge" / "runs"
        assert f"runs are kept in {home}/memory, and other machines do not see them: " in done.err
        assert "Missing permission: Create on Topic runs" in done.err
        assert desk.json("status")["state"] == "done"
        assert desk.json("rollback", "--throttle", "1MB", "--yes")["complete"]
        assert [each["state"] for each in desk.json("runs")["runs"]] == ["rolled back", "done"]
        refusal = desk.refusal("apply", moves, "--throttle", "1MB", "--yes", *STATE)
        assert "Missing permission: Create on Topic runs" in refusal


def test_a_run_in_a_directory_takes_the_lease_that_keeps_others_out(
    desk: Desk, moves: str, topic: MemoryTopic, tmp_path: Path
) -> None:
    state = ("--state", str(tmp_path / "state"))
    assert desk.json("runs", *state) == {"runs": []}
    assert not topic.created
    assert desk.json("apply", moves, "--throttle", "1MB", "--yes", *state)["complete"]
    assert topic.created
    topic.add(*lease_entry(Owner("other-host", 4711, "nonce", "another machine", "1")))
    done = desk("rollback", "--throttle", "1MB", "--yes", *state)
    assert (done.code, "other-host:4711 does not renew its lease" in done.err) == (0, True), done
    assert desk.json("runs", "--state", "cluster") == {"runs": []}


def test_a_dry_run_creates_nothing_in_the_cluster(
    desk: Desk, moves: str, topic: MemoryTopic
) -> None:
    assert desk.lines("apply", moves, "--no-throttle", "--dry-run", *STATE) == []
    assert not topic.created


def test_take_over_replaces_an_owner_that_holds_the_lease(
    desk: Desk, moves: str, topic: MemoryTopic
) -> None:
    topic.created = True
    topic.add(*lease_entry(Owner("other-host", 4711, "nonce", "another machine", "1")))
    words = ("apply", moves, "--no-throttle", "--yes", *STATE)
    assert desk.json(*words, "--take-over")["complete"]


def test_a_directory_is_not_taken_over(desk: Desk, moves: str, tmp_path: Path) -> None:
    words = ("apply", moves, "--no-throttle", "--yes", "--state", str(tmp_path / "state"))
    assert "--take-over needs --state cluster" in desk.refusal(*words, "--take-over")


def test_a_directory_may_be_called_cluster(
    desk: Desk, moves: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    desk.json("apply", moves, "--no-throttle", "--yes", "--state", "./cluster")
    assert (tmp_path / "cluster" / "memory").is_dir()


def test_a_lab_keeps_runs_in_its_own_store(
    moves: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    with Lab.running(LabSettings(brokers=4, first_id=1, speed=60)) as lab:
        at = ("--bootstrap-server", lab.bootstrap_servers, "--output", "json")

        def answer(*words: str) -> Any:
            assert run([*words, *at, *STATE]) == 0
            return json.loads(capsys.readouterr().out)

        assert answer("runs") == {"runs": []}
        create = ("topics", "create", "--topic", "t", "--replica-assignment", "1:2")
        assert run([*create, *at[:2]]) == 0
        capsys.readouterr()
        assert answer("apply", moves, "--throttle", "1MB", "--yes")["complete"]
        assert answer("status")["state"] == "done"
        assert answer("rollback", "--no-throttle", "--yes")["complete"]
        assert [each["state"] for each in answer("runs")["runs"]] == ["rolled back", "done"]
        assert run(["topics", "list", *at[:2]]) == 0
        assert capsys.readouterr().out.split() == ["t"]
    assert not list((tmp_path / "home").rglob("journal.jsonl"))
