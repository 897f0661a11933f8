"""What is promised of runs, on real brokers: nothing is left behind, nothing moves unasked."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from jvm import KAFKA_4_1
from kedge.cluster.port import Replica
from kedge.model import BrokerId, TopicPartition
from tests.real import clusters
from tests.real.four_brokers import KILLABLE, FourBrokers
from tests.real.kedge_cluster import until
from tests.real.operator import Entry, Operator, Replicas
from tests.real.rights import ALTERS_CONFIGS_ONLY, client_with

pytestmark = pytest.mark.real

TOPIC = "applied"
T0, T1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
# However low the rate, a throttled follower fetches 1 MiB of a partition each time that the quota
# window of 11 s has passed: a copy of this size takes minutes, one of 2 MB ends in the second.
BYTES = 20_000_000
SLOW = ("--throttle", "2kB", "--interval", "0.1")
FAST = ("--throttle", "50MB", "--interval", "0.1")


class Story:
    """A topic of two partitions, a plan that moves both to another broker, and an operator."""

    def __init__(self, operator: Operator, before: Replicas, after: Replicas) -> None:
        self.operator, self.before, self.after = operator, before, after
        operator.create(TOPIC, {0: before, 1: before})
        operator.fill(TOPIC, [0, 1], BYTES)
        self.plan = str(operator.plan_file({T0: Entry(after), T1: Entry(after)}))

    @property
    def replicas(self) -> list[Replicas]:
        return list(self.operator.replicas([TOPIC]).values())

    @property
    def states(self) -> list[tuple[str, str]]:
        """Kind and state of every run."""
        return [(run["kind"], run["state"]) for run in self.operator.run("runs")["runs"]]

    def kill_while_moving(self, *words: str) -> None:
        self.operator.kill_when(lambda: bool(self.operator.admin.reassignments()), *words)
        assert self.operator.admin.reassignments()

    def must_be(self, replicas: Replicas) -> None:
        """Both partitions are there, nothing moves, and no throttle is left."""
        try:
            until(lambda: self.replicas == [replicas, replicas], 20.0)
        except AssertionError:
            raise AssertionError(f"{self.replicas}, not {replicas}") from None
        assert self.operator.admin.reassignments() == {}
        self.operator.assert_no_throttles()

    def refused(self, *words: str) -> str:
        done = self.operator.attempt(*words)
        assert done.code == 2, done
        return done.err

    def end(self) -> None:
        """Leave the cluster as it was found, whatever the test has come to."""
        if KILLABLE in self.operator.cluster.down:
            self.operator.cluster.start(KILLABLE)
        moving = self.operator.admin.reassignments()
        self.operator.admin.alter_reassignments(dict.fromkeys(moving))
        self.operator.attempt("throttle", "--clear")
        self.operator.delete(TOPIC)


@pytest.fixture
def operator(four: FourBrokers, tmp_path: Path) -> Generator[Operator]:
    operator = Operator(four, tmp_path)
    yield operator
    operator.close()


@pytest.fixture
def story(operator: Operator) -> Generator[Story]:
    story = Story(operator, (1, 2), (3, 2))
    yield story
    story.end()


@pytest.fixture
def with_broker_4(operator: Operator) -> Generator[Story]:
    """The plan moves replicas off the broker that can be killed."""
    story = Story(operator, (KILLABLE, 2), (3, 2))
    yield story
    story.end()


def test_a_run_that_is_killed_is_cancelled_applied_again_and_taken_back(story: Story) -> None:
    story.kill_while_moving("apply", story.plan, *SLOW)
    assert story.operator.throttles() != []
    status = story.operator.run("status")
    assert (status["state"], status["throttled"], bool(status["moving"])) == ("moving", True, True)
    assert story.operator.run("cancel")["cancelled"]
    story.must_be(story.before)

    assert story.operator.run("apply", story.plan, *FAST)["complete"] is True
    story.must_be(story.after)
    for verb in ("resume", "cancel"):  # of a run that has ended
        assert "is done" in story.refused(verb)
    assert story.states == [("apply", "cancelled"), ("apply", "done")]
    story.must_be(story.after)

    story.kill_while_moving("rollback", *SLOW)
    assert story.states[1:] == [("apply", "rolling back"), ("rollback", "moving")]
    assert story.operator.run("rollback", *FAST)["complete"] is True
    story.must_be(story.before)
    assert "name it: kedge rollback --run" in story.refused("rollback", *FAST)
    story.must_be(story.before)


def test_throttles_on_a_broker_that_is_down_are_removed_when_it_is_back(
    with_broker_4: Story, four: FourBrokers
) -> None:
    story = with_broker_4
    story.kill_while_moving("apply", story.plan, *SLOW)
    four.kill()
    four.await_gone()
    cancelled = story.operator.attempt("cancel")
    assert cancelled.code in (0, 1)  # ZooKeeper mode reverts only when all replicas are in sync
    assert {row["of"] for row in cancelled.json["throttles_left"]} >= {f"broker {KILLABLE}"}
    shown = story.operator.run("throttle")["throttles"]
    assert f"broker {KILLABLE}" in {row["of"] for row in shown}
    four.start()
    in_sync = set(story.before)
    until(lambda: in_sync <= set(story.operator.partitions([TOPIC])[T0].isr), 30.0)
    story.operator.run("status")
    story.must_be(story.before)
    assert story.operator.run("apply", story.plan, *FAST)["complete"] is True
    story.must_be(story.after)


def test_a_rollback_to_a_broker_that_is_down_changes_nothing(
    with_broker_4: Story, four: FourBrokers
) -> None:
    story = with_broker_4
    story.operator.run("apply", story.plan, *FAST)
    four.kill()
    four.await_gone()
    assert f"Broker {KILLABLE} is down" in story.refused("rollback", *FAST)
    story.must_be(story.after)
    assert story.states == [("apply", "done")]


def test_replicas_land_in_the_log_directories_of_the_plan_and_return(
    story: Story, four: FourBrokers
) -> None:
    def directories() -> dict[Replica, str]:
        return story.operator.directories([TOPIC])

    before = directories()
    second = {broker: four.log_dirs(broker)[1] for broker in (1, 2, 3)}
    first = {broker: four.log_dirs(broker)[0] for broker in (1, 2, 3)}
    entries = {
        T0: Entry(story.after, (second[3], first[2])),
        T1: Entry(story.after, (first[3], second[2])),
    }
    plan = story.operator.plan_file(entries, "directed.json")
    assert story.operator.run("apply", str(plan), *FAST)["complete"] is True
    planned = {
        Replica(TOPIC, tp.partition, BrokerId(broker)): path
        for tp, entry in entries.items()
        for broker, path in zip(entry.replicas, entry.log_dirs or (), strict=True)
    }
    assert directories() == planned
    story.must_be(story.after)

    swapped = {
        T0: Entry(story.after, (first[3], second[2])),
        T1: Entry(story.after, (second[3], first[2])),
    }
    within = story.operator.plan_file(swapped, "within.json")
    assert story.operator.run("apply", str(within), *FAST)["complete"] is True
    assert directories() == {
        replica: second[replica.broker] if path == first[replica.broker] else first[replica.broker]
        for replica, path in planned.items()
    }
    assert story.operator.run("rollback", *FAST)["complete"] is True
    assert directories() == planned
    runs = story.operator.run("runs")["runs"]
    assert story.operator.run("rollback", *FAST, "--run", runs[0]["run"])["complete"] is True
    assert directories() == before
    story.must_be(story.before)


def test_a_run_killed_before_its_first_move_leaves_no_throttle_to_a_rollback(story: Story) -> None:
    story.operator.kill_when(
        lambda: bool(story.operator.broker_throttles()), "apply", story.plan, *SLOW
    )
    assert story.operator.run("rollback", *FAST)["complete"] is True
    story.must_be(story.before)


def test_a_partition_that_someone_else_moved_can_be_left_out(story: Story) -> None:
    words = ("apply", story.plan, "--throttle", "2kB", "--moves-per-broker", "1")
    story.kill_while_moving(*words, "--interval", "0.1")
    (moving,) = story.operator.admin.reassignments()
    other = T1 if moving == T0 else T0
    story.operator.admin.alter_reassignments({other: (BrokerId(1),)})
    drifted = {moving: story.after, other: (1,)}
    until(lambda: list(story.operator.admin.reassignments()) == [moving], 30.0)
    assert "--skip-drifted" in story.refused("resume", "--throttle", "50MB")
    done = story.operator.attempt("resume", "--skip-drifted", *FAST)
    assert done.code == 1
    assert [row["partition"] for row in done.json["skipped"]] == [other.partition]
    assert story.operator.replicas([TOPIC]) == drifted
    story.operator.assert_no_throttles()


def test_without_a_terminal_and_without_yes_nothing_is_changed(
    story: Story, four: FourBrokers, tmp_path: Path
) -> None:
    state = ("--state", str(tmp_path / "state"))

    def must_refuse(*words: str) -> None:
        command = [sys.executable, "-m", "kedge", *words, "--bootstrap-server", four.bootstrap]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert (done.returncode, "--yes" in done.stderr) == (2, True), done

    must_refuse("apply", story.plan, "--no-throttle", *state)
    must_refuse("reassign", "execute", "--reassignment-json-file", story.plan)
    must_refuse("topics", "delete", "--topic", TOPIC)
    story.must_be(story.before)
    story.kill_while_moving("apply", story.plan, *SLOW)
    moving = story.operator.admin.reassignments()
    must_refuse("cancel", *state)
    must_refuse("rollback", "--no-throttle", *state)
    assert story.operator.admin.reassignments() == moving
    story.operator.run("cancel")
    story.must_be(story.before)


def test_a_second_interrupt_says_what_goes_on_and_what_cleans_up(story: Story) -> None:
    process = story.operator.start("apply", story.plan, *SLOW)
    until(lambda: bool(story.operator.admin.reassignments()), 30.0)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "Stopping" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "moves in progress go on, and throttles stay set" in err
    assert "kedge cancel" in err
    assert story.operator.admin.reassignments()
    story.operator.run("cancel")
    story.must_be(story.before)


def test_new_moves_are_refused_while_another_broker_is_down(
    story: Story, four: FourBrokers
) -> None:
    story.operator.create("elsewhere", {0: (1, KILLABLE)})
    try:
        four.kill()
        four.await_gone()
        refusal = story.refused("apply", story.plan, *FAST)
        assert f"broker {KILLABLE} is down" in refusal
        assert "under-replicated partition" in refusal
        assert "elsewhere-0" in refusal
        story.must_be(story.before)
        forced = story.operator.run("apply", story.plan, *FAST, "--ignore-health")
        assert forced["complete"] is True
        story.must_be(story.after)
    finally:
        four.start()
        story.operator.delete("elsewhere")


def test_new_moves_wait_while_another_broker_is_down(story: Story, four: FourBrokers) -> None:
    story.operator.create("elsewhere", {0: (1, KILLABLE)})
    try:
        # so that the first move goes on while the broker's session expires
        pace = ("--throttle", "1500kB", "--moves-per-broker", "1", "--interval", "0.1")
        process = story.operator.start("apply", story.plan, *pace)
        until(lambda: bool(story.operator.admin.reassignments()), 30.0)
        four.kill()
        assert process.stderr is not None
        while f"no new moves: broker {KILLABLE} is down" not in process.stderr.readline():
            assert process.poll() is None
        assert sorted(story.replicas) == [story.before, story.after]
        assert story.operator.admin.reassignments() == {}
        four.start()
        process.communicate(timeout=180)
        assert process.returncode == 0
        story.must_be(story.after)
    finally:
        story.operator.delete("elsewhere")


def test_missing_rights_are_found_before_anything_is_set(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    """With rights for configs and none for moves, throttles used to be set and left."""
    four = clusters.four(pytestconfig, KAFKA_4_1)
    security = clusters.security_of_four(pytestconfig)
    file = client_with(ALTERS_CONFIGS_ONLY, security, four.bootstrap, tmp_path / "p", "olga")
    admin = Operator(four, tmp_path / "admin")
    (tmp_path / "admin").mkdir()
    user = Operator(
        four, tmp_path / "admin", "--command-config", str(file), bootstrap=security.bootstrap
    )
    story = Story(admin, (1, 2), (3, 2))
    try:
        done = user.attempt("apply", story.plan, *FAST)
        assert done.code == 2, done
        assert "Missing permission: Alter on Cluster" in done.err
        story.must_be(story.before)
        assert story.states == []
    finally:
        story.end()
        admin.close()
        user.close()


def test_every_refusal_is_one_sentence(story: Story) -> None:
    for words in (("resume",), ("cancel",), ("rollback", "--no-throttle"), ("status",)):
        done = story.operator.attempt(*words)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
    missing = json.dumps({"version": 1, "partitions": []})
    Path(story.plan).write_text(missing)
    assert story.operator.attempt("apply", story.plan, *FAST).code == 2
