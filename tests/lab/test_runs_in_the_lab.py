"""Runs that are kept in a lab's own store, by processes that share nothing but the lab."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import ConfigSource, TopicDescription, broker_resource, topic_resource
from kedge.model import BrokerId
from tests.lab.labs import create, detached, kedge, throttle, until

TOPIC = "t"
BEFORE, AFTER = (1, 2), (3, 2)
SLOW = ("--throttle", "1kB", "--interval", "0.05")
FAST = ("--throttle", "500MB", "--interval", "0.05")
END_S = 60.0


class Done:
    """A command that has ended."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.out, self.err = process.communicate(timeout=END_S)
        self.code = process.returncode


class Story:
    """A topic with data, a plan that moves it, and processes that each have an empty home."""

    def __init__(self, about: dict[str, Any], directory: Path, state: str) -> None:
        self._open = ExitStack()
        self._directory = directory
        self._at, self._state = ("--bootstrap-server", about["bootstrap_servers"]), state
        self.admin = self._open.enter_context(closing(KafkaAdmin(about["bootstrap_servers"])))
        create(self.admin, TOPIC, BEFORE, BEFORE)
        assert kedge("lab", "fill", TOPIC, "50MB", "--dir", about["dir"]).returncode == 0
        self.plan = directory / "moves.json"
        rows = [{"topic": TOPIC, "partition": p, "replicas": AFTER} for p in (0, 1)]
        self.plan.write_text(json.dumps({"version": 1, "partitions": rows}))

    def start(
        self, *words: object, program: tuple[str, ...] = ("kedge",), state: str = ""
    ) -> subprocess.Popen[str]:
        """A command in a directory of its own; `state` is another place of runs."""
        where = (*self._at, "--state", state or self._state)
        home = tempfile.mkdtemp(prefix="home-", dir=self._directory)
        root = Path(__file__).parents[2]
        paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-m", *program, *map(str, words), *where],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home,
            env={**os.environ, "HOME": home, "XDG_STATE_HOME": home, "PYTHONPATH": paths},
        )
        self._open.callback(_end, process)
        return process

    def run(self, *words: object, state: str = "") -> Any:
        """What a command says in JSON; it must succeed."""
        done = Done(self.start(*words, "--output", "json", state=state))
        assert done.code == 0, done.err
        return json.loads(done.out)

    def start_moving(self) -> subprocess.Popen[str]:
        """Apply the plan, so slowly that it does not end."""
        process = self.start("apply", self.plan, *SLOW, "--yes")
        until(lambda: process.poll() is not None or self.admin.reassignments())
        assert process.poll() is None, process.communicate()
        return process

    def throttles(self) -> list[str]:
        places = [*map(broker_resource, map(BrokerId, (1, 2, 3))), topic_resource(TOPIC)]
        return [
            f"{place}: {entry.name}={entry.value}"
            for place, entries in self.admin.describe_configs(places).items()
            if isinstance(entries, tuple)
            for entry in entries
            if "throttled" in entry.name
            and entry.value
            and entry.source in (ConfigSource.TOPIC, ConfigSource.BROKER)
        ]

    def must_be(self, replicas: tuple[int, ...]) -> None:
        """Both partitions are there, nothing moves, and no throttle is left."""
        topic = self.admin.describe_topics([TOPIC])[TOPIC]
        assert isinstance(topic, TopicDescription)
        assert set(topic.replicas().values()) == {tuple(map(BrokerId, replicas))}
        assert not self.admin.reassignments()
        assert not self.throttles()

    def close(self) -> None:
        self._open.close()


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
        process.communicate()


@pytest.fixture
def lab(tmp_path: Path) -> Generator[dict[str, Any]]:
    with detached(tmp_path / "lab", "--brokers", 3, "--first-id", 1, "--speed", 60) as about:
        yield about


@pytest.fixture
def story(lab: dict[str, Any], tmp_path: Path) -> Generator[Story]:
    with closing(Story(lab, tmp_path, "cluster")) as story:
        yield story


def test_a_killed_run_is_seen_and_finished_from_other_directories(
    story: Story, lab: dict[str, Any], tmp_path: Path
) -> None:
    process = story.start_moving()
    process.kill()
    process.communicate()
    status = story.run("status")
    assert (status["state"], status["throttled"], bool(status["moving"])) == ("moving", True, True)
    assert story.run("throttle", "--rate", "2kB")["unconfirmed"] == []
    # The lab is killed as well: what it keeps outlives it.
    os.kill(lab["pid"], signal.SIGKILL)
    again = kedge("lab", "up", "--dir", tmp_path / "lab", "--detach", "--output", "json")
    assert again.returncode == 0, again.stderr
    try:
        assert story.run("resume", *FAST)["complete"]
        story.must_be(AFTER)
        assert story.run("rollback", *FAST, "--yes")["complete"]
        story.must_be(BEFORE)
        assert [run["state"] for run in story.run("runs")["runs"]] == ["rolled back", "done"]
    finally:
        os.kill(json.loads(again.stdout)["pid"], signal.SIGKILL)


def test_a_paused_owner_that_was_replaced_is_fenced_and_changes_nothing(story: Story) -> None:
    paused = story.start_moving()
    live = Done(story.start("resume", *FAST))
    assert (live.code, f":{paused.pid} is working on a run" in live.err) == (1, True), live.err
    paused.send_signal(signal.SIGSTOP)
    new = story.start("resume", "--take-over", *SLOW)
    assert new.stderr is not None
    while "partitions, " not in (line := new.stderr.readline()):
        assert line, "the new owner has ended"
    throttles, moves = story.throttles(), story.admin.reassignments()
    assert throttles
    assert moves
    paused.send_signal(signal.SIGCONT)
    done = Done(paused)
    assert done.code == 1
    (sentence,) = [line for line in done.err.splitlines() if line.startswith("kedge:")]
    assert "was taken over by" in sentence
    assert f":{new.pid};" in sentence
    assert new.poll() is None
    assert (story.throttles(), story.admin.reassignments()) == (throttles, moves)
    new.kill()
    new.communicate()
    assert story.run("cancel", "--yes")["cancelled"]
    story.must_be(BEFORE)


def test_of_two_that_start_at_once_one_runs_and_the_other_says_which(story: Story) -> None:
    both = [story.start("apply", story.plan, *SLOW, "--yes") for _ in range(2)]
    until(lambda: any(process.poll() is not None for process in both))
    winner, loser = sorted(both, key=lambda process: process.poll() is not None)
    refused = Done(loser)
    assert refused.code == 1, refused.err
    assert f":{winner.pid} is working on a run of this cluster" in refused.err
    until(story.admin.reassignments)
    assert winner.poll() is None
    winner.kill()
    winner.communicate()
    assert len(story.run("cancel", "--yes")["cancelled"]) == 2
    story.must_be(BEFORE)
    assert [run["state"] for run in story.run("runs")["runs"]] == ["cancelled"]


@pytest.mark.parametrize("places", [("one", "two"), ("one", "cluster")])
def test_of_two_that_have_nothing_in_common_and_set_no_throttle_one_runs(
    lab: dict[str, Any], tmp_path: Path, places: tuple[str, str]
) -> None:
    """Copies are slow by throttles that were set before, and that no run knows."""
    named = [place if place == "cluster" else str(tmp_path / place) for place in places]
    with closing(Story(lab, tmp_path, named[0])) as story:
        throttle(story.admin, TOPIC, 1_000, (1, 2, 3))
        words = ("apply", story.plan, "--no-throttle", "--interval", "0.05", "--yes")
        both = [story.start(*words, state=each) for each in named]
        until(lambda: any(process.poll() is not None for process in both))
        winner, loser = sorted(both, key=lambda process: process.poll() is not None)
        refused = Done(loser)
        assert refused.code == 1, refused.err
        assert f":{winner.pid} is working on a run of this cluster" in refused.err
        until(story.admin.reassignments)
        assert winner.poll() is None
        winner.kill()
        winner.communicate()
        place = named[both.index(winner)]
        assert len(story.run("cancel", "--yes", state=place)["cancelled"]) == 2


@pytest.mark.parametrize("times", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_two_with_directories_of_their_own_start_at_once_again_and_again(
    lab: dict[str, Any], tmp_path: Path, times: int
) -> None:
    """Both set throttles, and neither has a run, a directory or a log in common with the other."""
    with closing(Story(lab, tmp_path, "cluster")) as story:
        for number in range(times):
            places = [str(tmp_path / f"{number}-{name}") for name in ("one", "two")]
            words = ("apply", story.plan, *SLOW, "--yes")
            both = [story.start(*words, state=each) for each in places]
            until(lambda both=both: any(process.poll() is not None for process in both))
            winner, loser = sorted(both, key=lambda process: process.poll() is not None)
            refused = Done(loser)
            assert refused.code == 1, refused.err
            assert f":{winner.pid} is working on a run of this cluster" in refused.err
            until(story.admin.reassignments)
            assert winner.poll() is None
            winner.kill()
            winner.communicate()
            place = places[both.index(winner)]
            assert len(story.run("cancel", "--yes", state=place)["cancelled"]) == 2
            story.must_be(BEFORE)


@pytest.mark.parametrize(("lines", "command"), [(3, "cancel"), (5, "rollback"), (6, "resume")])
def test_a_process_that_is_killed_right_after_a_line_in_the_lab(
    story: Story, lines: int, command: str
) -> None:
    program = ("tests.lab.killed_apply", str(lines))
    dead = Done(story.start("apply", story.plan, *FAST, "--yes", program=program))
    assert dead.code == -signal.SIGKILL, dead.err
    finish(story, command)


@pytest.mark.parametrize(("lines", "command"), [(2, "resume"), (5, "rollback"), (6, "cancel")])
def test_a_process_that_is_killed_when_its_file_has_so_many_lines(
    lab: dict[str, Any], tmp_path: Path, lines: int, command: str
) -> None:
    state = tmp_path / "state"
    with closing(Story(lab, tmp_path, str(state))) as story:
        process = story.start("apply", story.plan, *SLOW, "--yes")
        until(lambda: sum(p.read_bytes().count(b"\n") for p in state.rglob("*.jsonl")) >= lines)
        process.kill()
        assert Done(process).code == -signal.SIGKILL
        finish(story, command)


def finish(story: Story, command: str) -> None:
    """Give a command, and check what it brings about."""
    words = {"resume": FAST, "cancel": ("--yes",), "rollback": (*FAST, "--yes")}[command]
    done = Done(story.start(command, *words))
    assert done.code == 0, done.err
    story.must_be(AFTER if command == "resume" else BEFORE)
