"""Plans carried out on a cluster in memory whose moves end when the test says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.apply import Outcome, Pacing, Run, RunFiles, Runs, give_up, preview, tidy_all, way_back
from kedge.apply.looking import present_throttles
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import (
    Answers,
    Changes,
    ConfigChange,
    ConfigResource,
    Configs,
    ResourceKind,
    TopicDescription,
    TopicOrder,
    broker_resource,
)
from kedge.errors import (
    InvalidPlan,
    InvalidRequest,
    KedgeError,
    ReassignmentInProgress,
    Unavailable,
)
from kedge.execution import Ending, Lease, Progress
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
EVERYWHERE = Lease({str(b): {} for b in (1, 2, 3, 4)}, {"t": {}})


class Killed(BaseException):
    """The process dies here."""


class Bench:
    """A cluster with a topic on brokers 1 to 3, and a plan that brings broker 4 in."""

    def __init__(self, state: Path) -> None:
        self.cluster = MemoryCluster(4)
        self.cluster.create_topics([TopicOrder("t", assignment={0: (B1, B2), 1: (B2, B3)})])
        self.cluster.hold_moves = True
        self.runs = Runs(state, "memory")
        entries = (Reassignment.anywhere(T0, (B4, B2)), Reassignment.anywhere(T1, (B3, B4)))
        self.plan = Plan(entries, {T0: (B1, B2), T1: (B2, B3)}, cluster_id="memory")
        self.told: list[Progress] = []
        self.notes: list[str] = []

    def begin(self, plan: Plan | None = None, rate: int | None = 1000) -> RunFiles:
        return self.runs.begin(plan or self.plan, "memory", rate, 1)

    def run(self, files: RunFiles, on_wait: Callable[[], None], stopping: bool = False) -> Outcome:
        pacing = Pacing(
            sleep=lambda _: on_wait(),
            clock=lambda: float(len(self.told)),
            stopping=lambda: stopping,
            on_progress=self.told.append,
            on_note=self.notes.append,
        )
        changes, _, _ = preview(self.cluster, files.plan())
        return Run(self.cluster, files, pacing).carry_out(changes)

    def throttles(self) -> Lease:
        return present_throttles(self.cluster, EVERYWHERE)

    def replicas(self) -> dict[int, tuple[BrokerId, ...]]:
        topic = self.cluster.describe_topics(["t"])["t"]
        assert isinstance(topic, TopicDescription)
        return topic.replicas()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_plan_is_carried_out_under_a_throttle_that_is_gone_at_the_end(bench: Bench) -> None:
    seen: list[tuple[int, bool]] = []

    def wait() -> None:
        seen.append((len(bench.cluster.reassignments()), bool(bench.throttles())))
        bench.cluster.finish_moves()

    files = bench.begin()
    outcome = bench.run(files, wait)
    assert outcome.complete
    assert bench.replicas() == {0: (B4, B2), 1: (B3, B4)}
    assert seen == [(1, True), (1, True)]  # one copy at a time into broker 4
    assert not bench.throttles()
    assert files.state().ending is Ending.FINISHED
    assert bench.told[-1].share == 1.0


class DeafFor:
    """Brokers that tell of their configs only when they were asked a few times."""

    def __init__(self, cluster: MemoryCluster, times: float, fault: KedgeError | None) -> None:
        self.left, self._fault, self._describe = times, fault, cluster.describe_configs

    def __call__(
        self, resources: Sequence[ConfigResource], *, synonyms: bool = False
    ) -> dict[ConfigResource, Configs | KedgeError]:
        told = self._describe(resources, synonyms=synonyms)
        self.left -= 1
        if self.left < 0:
            return told
        brokers = [resource for resource in told if resource.kind is ResourceKind.BROKER]
        return {**told, **dict.fromkeys(brokers, self._fault or ())}


@pytest.mark.parametrize("fault", [None, Unavailable("nobody answers")])
def test_nothing_moves_before_brokers_have_heard_of_their_throttles(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: KedgeError | None
) -> None:
    moving: list[int] = []

    def wait() -> None:
        moving.append(len(bench.cluster.reassignments()))
        bench.cluster.finish_moves()

    files = bench.begin()
    changes, _, _ = preview(bench.cluster, files.plan())
    deaf = DeafFor(bench.cluster, 3, fault)
    run = Run(bench.cluster, files, Pacing(sleep=lambda _: wait()))
    set_all = bench.cluster.alter_configs

    def alter(changes: Changes, *, validate_only: bool = False) -> Answers[ConfigResource]:
        monkeypatch.setattr(bench.cluster, "describe_configs", deaf)
        return set_all(changes, validate_only=validate_only)

    monkeypatch.setattr(bench.cluster, "alter_configs", alter)
    assert run.carry_out(changes).complete
    assert moving == [0, 0, 0, 1, 1]


def test_a_broker_that_never_tells_of_its_throttle_holds_nothing_up_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(0, 10_000, 10))
    pacing = Pacing(
        sleep=lambda _: bench.cluster.finish_moves(),
        clock=lambda: float(next(times)),
        on_note=bench.notes.append,
    )
    files = bench.begin()
    changes, _, _ = preview(bench.cluster, files.plan())
    deaf = DeafFor(bench.cluster, math.inf, None)
    monkeypatch.setattr(bench.cluster, "describe_configs", deaf)
    assert Run(bench.cluster, files, pacing).carry_out(changes).complete
    assert bench.notes == [
        f"broker {broker} has not taken its throttle in 30 s" for broker in (1, 2, 3, 4)
    ]


def test_a_broker_that_has_yet_to_hear_of_the_end_of_a_move_is_not_believed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe, late = bench.cluster.describe_topics, iter(range(3))
    seen: list[int] = []

    def stale(names: Sequence[str]) -> dict[str, TopicDescription | KedgeError]:
        """Replicas as they were on the way, for a few looks after the first move has ended."""
        told = describe(names)
        topic = told["t"]
        assert isinstance(topic, TopicDescription)
        if topic.partitions[0].replicas == (B4, B2) and next(late, None) is not None:
            seen.append(len(topic.partitions))
            first = replace(topic.partitions[0], replicas=(B4, B1, B2))
            told["t"] = replace(topic, partitions=(first, *topic.partitions[1:]))
        return told

    monkeypatch.setattr(bench.cluster, "describe_topics", stale)
    assert bench.run(bench.begin(), bench.cluster.finish_moves).complete
    assert seen == [2, 2, 2]
    assert bench.notes == []


def test_the_replica_that_the_plan_puts_first_leads_at_the_end(bench: Bench) -> None:
    entry = Reassignment.anywhere(T0, (B2, B1))
    files = bench.begin(Plan((entry,), {T0: (B1, B2)}))
    assert bench.run(files, bench.cluster.finish_moves).complete
    topic = bench.cluster.describe_topics(["t"])["t"]
    assert isinstance(topic, TopicDescription)
    assert topic.partitions[0].leader == B2


def test_a_run_that_was_killed_is_finished_by_another(bench: Bench) -> None:
    def die() -> None:
        raise Killed

    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, die)
    assert bench.throttles()
    assert files.state().lease == bench.throttles()
    again = RunFiles(files.directory)
    assert bench.run(again, bench.cluster.finish_moves).complete
    assert not bench.throttles()
    assert again.state().ending is Ending.FINISHED


def test_an_interrupt_starts_nothing_more_and_ends_what_is_under_way(bench: Bench) -> None:
    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, _die)
    outcome = bench.run(files, bench.cluster.finish_moves, stopping=True)
    assert outcome.stopped
    assert (outcome.done, list(outcome.left)) == (1, [T1])
    assert not bench.throttles()
    assert files.state().ending is None


def _die() -> None:
    raise Killed


def test_giving_up_cancels_what_is_under_way_and_removes_throttles(bench: Bench) -> None:
    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, _die)
    bench.cluster.hold_moves = False  # the way back is free
    assert give_up(bench.cluster, files) == [T0]
    assert bench.replicas() == {0: (B1, B2), 1: (B2, B3)}
    assert not bench.throttles()
    assert files.state().ending is Ending.CANCELLED


def test_the_way_back_undoes_what_was_done_and_no_more(bench: Bench) -> None:
    files = bench.begin()
    waits = iter([bench.cluster.finish_moves, _die])
    with pytest.raises(Killed):
        bench.run(files, lambda: next(waits)())
    bench.cluster.hold_moves = False
    back = way_back(bench.cluster, files)
    assert back.after == {T0: (B1, B2), T1: (B2, B3)}  # one done, one under way
    give_up(bench.cluster, files)
    assert bench.run(bench.begin(back), bench.cluster.finish_moves).complete
    assert bench.replicas() == {0: (B1, B2), 1: (B2, B3)}


def test_nothing_done_leaves_nothing_to_take_back(bench: Bench) -> None:
    with pytest.raises(InvalidPlan, match="nothing to take back"):
        way_back(bench.cluster, bench.begin())


def test_throttles_of_a_dead_run_are_removed_once_its_moves_are_over(bench: Bench) -> None:
    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, _die)
    assert tidy_all(bench.cluster, bench.runs) == []  # they still slow down what is under way
    bench.cluster.finish_moves()
    assert tidy_all(bench.cluster, bench.runs) == [files]
    assert not bench.throttles()


def test_a_throttle_of_somebody_else_is_neither_overwritten_nor_removed(bench: Bench) -> None:
    step = ConfigChange("leader.replication.throttled.rate", value="5")
    bench.cluster.alter_configs({broker_resource(B4): [step]})
    with pytest.raises(ReassignmentInProgress, match="broker 4 has leader"):
        bench.run(bench.begin(), bench.cluster.finish_moves)
    assert bench.replicas() == {0: (B1, B2), 1: (B2, B3)}
    assert bench.throttles().brokers == {"4": {"leader.replication.throttled.rate": "5"}}
    assert bench.run(bench.begin(rate=None), bench.cluster.finish_moves).complete


def test_a_topic_that_is_deleted_on_the_way_is_no_obstacle(bench: Bench) -> None:
    def delete() -> None:
        bench.cluster.delete_topics(["t"])

    outcome = bench.run(bench.begin(), delete)
    assert outcome.complete
    assert outcome.done == 0


def test_moves_wait_for_a_broker_that_goes_down(bench: Bench) -> None:
    bench.cluster.hold_moves = False
    waits = iter([lambda: bench.cluster.start_broker(B4)])
    files = bench.begin()
    pacing = Pacing(sleep=lambda _: next(waits)(), on_note=bench.notes.append)
    changes, _, _ = preview(bench.cluster, bench.plan)
    bench.cluster.stop_broker(B4)
    assert Run(bench.cluster, files, pacing).carry_out(changes).complete
    assert "moves wait for broker 4, which is down" in bench.notes


def test_two_runs_at_a_time_are_refused(bench: Bench, tmp_path: Path) -> None:
    other = Runs(tmp_path, "memory")
    with (
        bench.runs.held(),
        pytest.raises(ReassignmentInProgress, match="another kedge"),
        other.held(),
    ):
        raise AssertionError("both hold the lock")
    with other.held():
        pass  # the lock was let go


def test_a_cluster_without_runs_says_so(bench: Bench) -> None:
    with pytest.raises(InvalidRequest, match="no plan was applied from here"):
        bench.runs.last()


def test_a_line_that_was_cut_short_does_not_spoil_the_next(bench: Bench) -> None:
    files = bench.begin()
    journal = files.directory / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"event":"lea')
    assert bench.run(files, bench.cluster.finish_moves).complete
    assert files.state().ending is Ending.FINISHED
