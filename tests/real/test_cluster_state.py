"""Runs that are kept in the cluster, on real brokers: any directory continues them, one acts."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from jvm import KAFKA_3_9, KAFKA_4_1
from kedge.cluster.port import (
    ConfigChange,
    ConfigOp,
    ConfigResource,
    TopicDescription,
    broker_resource,
    topic_resource,
)
from kedge.model import TopicPartition
from tests.real import clusters
from tests.real.four_brokers import FourBrokers
from tests.real.kedge_cluster import until
from tests.real.operator import Done, Entry, Operator, Replicas, ended
from tests.real.rights import ALTERS_CONFIGS_ONLY, client_with

pytestmark = pytest.mark.real

TOPIC, RUNS = "kept-in-cluster", "__kedge_runs"
T0, T1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
BEFORE, AFTER = (1, 2), (3, 2)
SLOW = ("--throttle", "2kB", "--interval", "0.1")
FAST = ("--throttle", "50MB", "--interval", "0.1")
# However low the rate, brokers copy 1 MiB at once, and the next when the quota has forgotten it,
# after about 11 s: the slow copy takes more than two minutes.
BYTES = 15_000_000
TIMES_AT_ONCE = 2


class Story:
    """A topic of two partitions, a plan that moves both, and operators in directories of their
    own that share nothing but the cluster."""

    def __init__(self, four: FourBrokers, directory: Path) -> None:
        self._four, self._directory = four, directory
        self._open = ExitStack()
        self._count = 0
        self._started: list[subprocess.Popen[str]] = []
        self.here = self.elsewhere()
        self.here.create(TOPIC, {0: BEFORE, 1: BEFORE})
        self.here.fill(TOPIC, [0, 1], BYTES)
        self.plan = str(self.here.plan_file({T0: Entry(AFTER), T1: Entry(AFTER)}))

    def elsewhere(self) -> Operator:
        """Another operator."""
        self._count += 1
        directory = self._directory / f"operator-{self._count}"
        directory.mkdir()
        operator = Operator(self._four, directory, state="cluster")
        return self._open.enter_context(closing(operator))

    def apart(self) -> Operator:
        """Another operator, whose runs are in a directory of its own."""
        self._count += 1
        directory = self._directory / f"operator-{self._count}"
        directory.mkdir()
        return self._open.enter_context(closing(Operator(self._four, directory)))

    @contextmanager
    def copies_slowed(self) -> Generator[None]:
        """Within the block, a throttle that no run has set slows the copies of the topic down."""
        halves = ("leader", "follower")
        lists = {f"{half}.replication.throttled.replicas": "*" for half in halves}
        rates = {f"{half}.replication.throttled.rate": "2000" for half in halves}
        brokers = {broker_resource(broker): rates for broker in self.here.admin.describe().alive}
        configs = {topic_resource(TOPIC): lists, **brokers}
        self._set(configs, ConfigOp.SET)
        try:
            yield
        finally:
            self._set(configs, ConfigOp.DELETE)

    def _set(self, configs: Mapping[ConfigResource, Mapping[str, str]], op: ConfigOp) -> None:
        changes = {
            resource: [ConfigChange(name, op, value) for name, value in values.items()]
            for resource, values in configs.items()
        }
        assert not any(self.here.admin.alter_configs(changes).values())

    def start(self, operator: Operator, *words: str) -> subprocess.Popen[str]:
        self._started.append(operator.start(*words))
        return self._started[-1]

    def start_moving(self) -> subprocess.Popen[str]:
        """Apply the plan slowly; returns when partitions are being moved."""
        process = self.start(self.here, "apply", self.plan, *SLOW)
        until(lambda: process.poll() is not None or bool(self.here.admin.reassignments()), 60.0)
        assert process.poll() is None, process.communicate()
        return process

    def must_be(self, replicas: Replicas) -> None:
        """Both partitions are there, nothing moves, and no throttle is left."""
        until(lambda: set(self.here.replicas([TOPIC]).values()) == {replicas}, 20.0)
        assert self.here.admin.reassignments() == {}
        self.here.assert_no_throttles()

    def end(self) -> None:
        """Leave the cluster as it was found, whatever the test has come to."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.communicate()
        moving = self.here.admin.reassignments()
        self.here.admin.alter_reassignments(dict.fromkeys(moving))
        self.here.attempt("throttle", "--clear")
        self.here.delete(TOPIC, RUNS)
        self._open.close()


@pytest.fixture(params=[KAFKA_4_1, pytest.param(KAFKA_3_9, marks=pytest.mark.slow)])
def four(request: pytest.FixtureRequest) -> FourBrokers:
    return clusters.four(request.config, request.param)


@pytest.fixture
def story(four: FourBrokers, tmp_path: Path) -> Generator[Story]:
    story = Story(four, tmp_path)
    yield story
    story.end()


def test_a_killed_run_is_seen_and_finished_from_another_directory(story: Story) -> None:
    process = story.start_moving()
    process.kill()
    process.communicate()
    other = story.elsewhere()
    status = other.run("status")
    assert (status["state"], status["throttled"], bool(status["moving"])) == ("moving", True, True)
    assert other.run("resume", *FAST)["complete"] is True
    story.must_be(AFTER)
    assert story.elsewhere().run("rollback", *FAST)["complete"] is True
    story.must_be(BEFORE)
    runs = story.here.run("runs")["runs"]
    assert [run["state"] for run in runs] == ["rolled back", "done"]
    described = story.here.admin.describe_topics([RUNS])[RUNS]
    assert isinstance(described, TopicDescription)
    assert [len(each.replicas) for each in described.partitions] == [3]


def test_a_paused_owner_that_was_replaced_is_fenced_and_changes_nothing(story: Story) -> None:
    paused = story.start_moving()
    paused.send_signal(signal.SIGSTOP)
    other = story.elsewhere()
    new = story.start(other, "resume", "--take-over", *SLOW)
    assert new.stderr is not None
    while "partitions, " not in (line := new.stderr.readline()):
        assert line, "the new owner has ended"
    throttles, moves = story.here.throttles(), story.here.admin.reassignments()
    assert throttles
    assert moves
    paused.send_signal(signal.SIGCONT)
    done = ended(paused)
    assert done.code == 1
    (sentence,) = [line for line in done.err.splitlines() if line.startswith("kedge:")]
    assert "was taken over by" in sentence
    assert f":{new.pid};" in sentence
    assert new.poll() is None
    assert (story.here.throttles(), story.here.admin.reassignments()) == (throttles, moves)
    new.kill()
    new.communicate()
    assert story.elsewhere().run("cancel")["cancelled"]
    story.must_be(BEFORE)


@pytest.mark.slow
def test_of_two_that_start_at_once_one_runs_and_the_other_says_which(story: Story) -> None:
    operators = [story.elsewhere(), story.elsewhere()]
    both = [story.start(each, "apply", story.plan, *SLOW) for each in operators]
    until(lambda: any(process.poll() is not None for process in both), 60.0)
    winner, loser = sorted(both, key=lambda process: process.poll() is not None)
    refused = ended(loser)
    assert refused.code == 1, refused
    assert f":{winner.pid} is working on a run of this cluster" in refused.err
    until(lambda: bool(story.here.admin.reassignments()), 30.0)
    assert winner.poll() is None
    winner.kill()
    winner.communicate()
    assert len(story.here.run("cancel")["cancelled"]) == 2
    story.must_be(BEFORE)
    assert [run["state"] for run in story.here.run("runs")["runs"]] == ["cancelled"]


def test_a_machine_with_runs_in_a_directory_of_its_own_is_refused_in_one_sentence(
    story: Story,
) -> None:
    """It does not see the run of the other machine, but its lease."""
    running = story.start_moving()
    other = story.apart()
    refused = other.attempt("apply", story.plan, *SLOW)
    assert refused.code == 1, refused
    (sentence,) = refused.err.splitlines()
    assert f":{running.pid} is working on a run of this cluster" in sentence
    assert other.run("runs")["runs"] == []
    assert running.poll() is None
    assert story.here.throttles()
    running.kill()
    running.communicate()
    assert story.here.run("cancel")["cancelled"]
    story.must_be(BEFORE)


def test_of_two_with_directories_of_their_own_and_no_throttle_one_runs(story: Story) -> None:
    """Copies are slow by throttles that were set before, and that no run knows."""
    operators = [story.apart(), story.apart()]
    with story.copies_slowed():
        unthrottled = ("--no-throttle", "--interval", "0.1")
        both = [story.start(each, "apply", story.plan, *unthrottled) for each in operators]
        until(lambda: any(process.poll() is not None for process in both), 60.0)
        winner, loser = sorted(both, key=lambda process: process.poll() is not None)
        refused = ended(loser)
        assert refused.code == 1, refused
        assert f":{winner.pid} is working on a run of this cluster" in refused.err
        until(lambda: bool(story.here.admin.reassignments()), 30.0)
        assert winner.poll() is None
        winner.kill()
        winner.communicate()
        owner = operators[both.index(winner)]
        assert len(owner.run("cancel")["cancelled"]) == 2
    story.must_be(BEFORE)


def test_of_two_with_directories_of_their_own_on_a_cluster_without_runs_one_runs(
    story: Story,
) -> None:
    """Both set throttles, start at once, and find no lease; each time the topic is new."""
    for _ in range(TIMES_AT_ONCE):
        story.here.delete(RUNS)  # of the round before, or of another test on these brokers
        operators = [story.apart(), story.apart()]
        both = [story.start(each, "apply", story.plan, *SLOW) for each in operators]
        until(lambda both=both: any(process.poll() is not None for process in both), 120.0)
        winner, loser = sorted(both, key=lambda process: process.poll() is not None)
        refused = ended(loser)
        assert refused.code == 1, refused
        assert f":{winner.pid} is working on a run of this cluster" in refused.err
        until(lambda: bool(story.here.admin.reassignments()), 30.0)
        assert winner.poll() is None
        winner.kill()
        winner.communicate()
        owner = operators[both.index(winner)]
        assert len(owner.run("cancel")["cancelled"]) == 2
        story.must_be(BEFORE)


@pytest.mark.slow
def test_an_owner_that_does_not_renew_its_lease_is_replaced_without_being_asked(
    story: Story,
) -> None:
    paused = story.start_moving()
    live = story.elsewhere().attempt("resume", *FAST)
    assert live.code == 1
    assert f":{paused.pid} is working" in live.err
    paused.send_signal(signal.SIGSTOP)
    done = story.elsewhere().attempt("resume", *FAST)
    assert (done.code, "does not renew its lease" in done.err) == (0, True), done
    paused.send_signal(signal.SIGCONT)
    assert "was taken over by" in ended(paused).err
    story.must_be(AFTER)


@pytest.mark.slow
def test_a_missing_right_is_one_sentence_and_nothing_is_changed(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    four = clusters.four(pytestconfig, KAFKA_4_1)
    security = clusters.security_of_four(pytestconfig)
    file = client_with(ALTERS_CONFIGS_ONLY, security, four.bootstrap, tmp_path / "p", "petra")
    story = Story(four, tmp_path)
    user = Operator(
        four,
        tmp_path,
        "--command-config",
        str(file),
        bootstrap=security.bootstrap,
        state="cluster",
    )
    story.here.delete(RUNS)  # of another test on these brokers
    try:
        refused = user.attempt("apply", story.plan, *FAST)
        assert_refusal(refused, f"Missing permission: Create on Topic {RUNS}")
        assert RUNS not in story.here.admin.topic_names()
        assert story.here.run("apply", story.plan, *FAST)["complete"] is True
        for verb in ("status", "runs"):
            assert_refusal(user.attempt(verb), f"Missing permission: Read on Topic {RUNS}")
        story.must_be(AFTER)
    finally:
        story.end()
        user.close()


def assert_refusal(done: Done, what: str) -> None:
    assert (done.code, what in done.err) == (2, True), done
    assert "--state PATH" in done.err
    assert len(done.err.splitlines()) == 1
