"""Plans carried out on a cluster in memory whose moves end when the test says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.apply import (
    Executor,
    Outcome,
    Pacing,
    RunFiles,
    RunOptions,
    Runs,
    Waiting,
    cancel,
    new_record,
    preview,
    rollback_plan,
    settle,
)
from kedge.apply.throttles import present_throttles
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import (
    Answers,
    Changes,
    ConfigChange,
    ConfigResource,
    Configs,
    ResourceKind,
    TopicCreation,
    TopicDescription,
    broker_resource,
)
from kedge.errors import (
    InvalidRequest,
    KedgeError,
    ReassignmentInProgress,
    RefusedCommand,
    Unavailable,
)
from kedge.execution import Lease, Limits, Progress, RunKind, RunState
from kedge.model import BrokerId, TopicPartition
from kedge.plan import PartitionReplica, Plan, Reassignment

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
EVERYWHERE = Lease({str(b): {} for b in (1, 2, 3, 4)}, {"t": {}})


class Killed(BaseException):
    """The process dies here."""


class Bench:
    """A cluster with a topic on brokers 1 to 3, and a plan that brings broker 4 in."""

    def __init__(self, state: Path) -> None:
        self.cluster = MemoryCluster(4)
        self.cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2), 1: (B2, B3)})])
        self.cluster.hold_moves = True
        self.runs = Runs(state, "memory")
        entries = (Reassignment.anywhere(T0, (B4, B2)), Reassignment.anywhere(T1, (B3, B4)))
        self.plan = Plan(entries, {T0: (B1, B2), T1: (B2, B3)}, cluster_id="memory")
        self.told: list[Progress] = []
        self.notes: list[str] = []

    def begin(
        self, plan: Plan | None = None, rate: int | None = 1000, kind: RunKind = RunKind.APPLY
    ) -> RunFiles:
        record = new_record("memory", kind=kind, rate=rate, each_way=1)
        return self.runs.begin(plan or self.plan, record)

    def run(self, files: RunFiles, on_wait: Callable[[], None], stopping: bool = False) -> Outcome:
        pacing = Pacing(
            sleep=lambda _: on_wait(),
            clock=lambda: float(len(self.told)),
            stopping=lambda: stopping,
            on_progress=self.told.append,
            on_note=self.notes.append,
        )
        return self.executor(files, pacing).carry_out()

    def executor(self, files: RunFiles, pacing: Pacing) -> Executor:
        record = files.record()
        judged = preview(
            self.cluster,
            files.plan(),
            RunOptions(Limits(record.rate, record.each_way)),
            kind=record.kind,
            own=self.runs.own_settings(),
            log_dirs_before=record.log_dirs,
        )
        return Executor(self.cluster, files, judged, pacing)

    def throttles(self) -> Lease:
        return present_throttles(self.cluster, EVERYWHERE)[0]

    def replicas(self) -> dict[int, tuple[BrokerId, ...]]:
        topic = self.cluster.describe_topics(["t"])["t"]
        assert isinstance(topic, TopicDescription)
        return topic.replicas()

    def log_dir(self, tp: TopicPartition, broker: BrokerId) -> str:
        (answer,) = self.cluster.log_dirs([broker], ["t"]).values()
        assert isinstance(answer, tuple)
        (path,) = (
            each.path
            for each in answer
            for stored in each.replicas
            if stored.tp == tp and not stored.future
        )
        return path


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
    assert files.record().state is RunState.DONE
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
    deaf = DeafFor(bench.cluster, 3, fault)
    run = bench.executor(files, Pacing(sleep=lambda _: wait()))
    set_all = bench.cluster.alter_configs

    def alter(changes: Changes, *, validate_only: bool = False) -> Answers[ConfigResource]:
        monkeypatch.setattr(bench.cluster, "describe_configs", deaf)
        return set_all(changes, validate_only=validate_only)

    monkeypatch.setattr(bench.cluster, "alter_configs", alter)
    assert run.carry_out().complete
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
    run = bench.executor(bench.begin(), pacing)
    deaf = DeafFor(bench.cluster, math.inf, None)
    monkeypatch.setattr(bench.cluster, "describe_configs", deaf)
    assert run.carry_out().complete
    assert bench.notes == [
        f"broker {broker} did not report its throttle within 30 s" for broker in (1, 2, 3, 4)
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
    assert files.record().lease == bench.throttles()
    again = RunFiles(files.directory)
    assert bench.run(again, bench.cluster.finish_moves).complete
    assert not bench.throttles()
    assert again.record().state is RunState.DONE


def test_an_interrupt_starts_nothing_more_and_ends_what_is_under_way(bench: Bench) -> None:
    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, _die)
    outcome = bench.run(files, bench.cluster.finish_moves, stopping=True)
    assert outcome.stopped
    assert (outcome.moved, list(outcome.left)) == (1, [T1])
    assert not bench.throttles()
    assert files.record().state is RunState.STOPPED


def _die() -> None:
    raise Killed


def test_giving_up_cancels_what_is_under_way_and_removes_throttles(bench: Bench) -> None:
    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, _die)
    bench.cluster.hold_moves = False  # the way back is free
    assert cancel(bench.cluster, files, Waiting()).cancelled == [T0]
    assert bench.replicas() == {0: (B1, B2), 1: (B2, B3)}
    assert not bench.throttles()
    assert files.record().state is RunState.CANCELLED


def test_the_way_back_undoes_what_was_done_and_no_more(bench: Bench) -> None:
    files = bench.begin()
    waits = iter([bench.cluster.finish_moves, _die])
    with pytest.raises(Killed):
        bench.run(files, lambda: next(waits)())
    bench.cluster.hold_moves = False
    back = rollback_plan(bench.cluster, files)
    assert back is not None
    assert back.after == {T0: (B1, B2), T1: (B2, B3)}  # one done, one under way
    assert bench.run(bench.begin(back, kind=RunKind.ROLLBACK), bench.cluster.finish_moves).complete
    assert bench.replicas() == {0: (B1, B2), 1: (B2, B3)}


def test_nothing_done_leaves_nothing_to_take_back(bench: Bench) -> None:
    assert rollback_plan(bench.cluster, bench.begin()) is None


def test_throttles_of_a_dead_run_are_removed_once_its_moves_are_over(bench: Bench) -> None:
    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, _die)
    settle(bench.cluster, bench.runs, Waiting(), bench.notes.append)
    assert bench.throttles()  # they still slow down what is under way
    bench.cluster.finish_moves()
    settle(bench.cluster, bench.runs, Waiting(), bench.notes.append)
    assert not bench.throttles()
    assert bench.notes == [f"removed 10 throttle settings that run {files.name} had left"]


def test_a_throttle_of_somebody_else_is_neither_overwritten_nor_removed(bench: Bench) -> None:
    step = ConfigChange("leader.replication.throttled.rate", value="5")
    bench.cluster.alter_configs({broker_resource(B4): [step]})
    with pytest.raises(RefusedCommand, match="Broker 4 has leader"):
        bench.run(bench.begin(), bench.cluster.finish_moves)
    assert bench.replicas() == {0: (B1, B2), 1: (B2, B3)}
    assert bench.throttles().brokers == {"4": {"leader.replication.throttled.rate": "5"}}
    assert bench.run(bench.begin(rate=None), bench.cluster.finish_moves).complete


def test_a_topic_that_is_deleted_on_the_way_is_no_obstacle(bench: Bench) -> None:
    def delete() -> None:
        bench.cluster.delete_topics(["t"])

    outcome = bench.run(bench.begin(), delete)
    assert outcome.complete
    assert outcome.moved == 0


def test_moves_wait_for_a_broker_that_goes_down(bench: Bench) -> None:
    bench.cluster.hold_moves = False
    waits = iter([lambda: bench.cluster.start_broker(B4)])
    files = bench.begin()
    pacing = Pacing(sleep=lambda _: next(waits)(), on_note=bench.notes.append)
    run = bench.executor(files, pacing)
    bench.cluster.stop_broker(B4)
    assert run.carry_out().complete
    assert "moves wait for broker 4, which is down" in bench.notes


def test_two_runs_at_a_time_are_refused(bench: Bench, tmp_path: Path) -> None:
    other = Runs(tmp_path, "memory")
    with (
        bench.runs.held(),
        pytest.raises(ReassignmentInProgress, match="Another kedge"),
        other.held(),
    ):
        raise AssertionError("both hold the lock")
    with other.held():
        pass  # the lock was let go


def test_a_cluster_without_runs_says_so(bench: Bench) -> None:
    with pytest.raises(InvalidRequest, match="No run of this cluster"):
        bench.runs.chosen(None)


def test_a_line_that_was_cut_short_does_not_spoil_the_next(bench: Bench) -> None:
    files = bench.begin()
    journal = files.directory / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"event":"lea')
    assert bench.run(files, bench.cluster.finish_moves).complete
    assert files.record().state is RunState.DONE


# ---- log directories ----------------------------------------------------------------------------


def directed(bench: Bench, *paths: str) -> Plan:
    """Partition 0 from [1,2] to [4,2], each replica in the directory that is named."""
    return Plan((Reassignment(T0, (B4, B2), paths),), {T0: (B1, B2)}, cluster_id="memory")


def test_replicas_land_in_the_log_directories_that_the_plan_names(bench: Bench) -> None:
    files = bench.begin(directed(bench, "/data/b", "/data/b"))
    outcome = bench.run(files, bench.cluster.finish_moves)
    assert outcome.complete
    assert (bench.log_dir(T0, B4), bench.log_dir(T0, B2)) == ("/data/b", "/data/b")
    assert not bench.throttles()
    back = rollback_plan(bench.cluster, files)
    assert back is not None
    assert back.partitions == (Reassignment(T0, (B1, B2), ("/data/a", "/data/a")),)
    undo = bench.begin(back, kind=RunKind.ROLLBACK)
    assert bench.run(undo, bench.cluster.finish_moves).complete
    assert (bench.log_dir(T0, B1), bench.log_dir(T0, B2)) == ("/data/a", "/data/a")


def test_a_plan_that_changes_nothing_but_log_directories_moves_them(bench: Bench) -> None:
    plan = Plan((Reassignment(T0, (B1, B2), ("/data/b", "any")),), {T0: (B1, B2)})
    files = bench.begin(plan)
    seen: list[Lease] = []

    def wait() -> None:
        seen.append(bench.throttles())
        bench.cluster.finish_moves()

    assert bench.run(files, wait).complete
    assert bench.log_dir(T0, B1) == "/data/b"
    rate = {"replica.alter.log.dirs.io.max.bytes.per.second": "1000"}
    assert seen == [Lease({"1": rate}, {})]
    assert not bench.throttles()
    assert files.record().log_dirs[PartitionReplica("t", 0, B1)] == "/data/a"


def test_a_log_directory_that_a_broker_does_not_have_is_refused(bench: Bench) -> None:
    with pytest.raises(RefusedCommand, match="Broker 4 has no log directory /data/z"):
        bench.run(bench.begin(directed(bench, "/data/z", "any")), bench.cluster.finish_moves)
    assert bench.replicas()[0] == (B1, B2)


def test_a_copy_between_log_directories_is_cancelled_too(bench: Bench) -> None:
    plan = Plan((Reassignment(T0, (B1, B2), ("/data/b", "any")),), {T0: (B1, B2)})
    files = bench.begin(plan)
    with pytest.raises(Killed):
        bench.run(files, _die)
    assert cancel(bench.cluster, files, Waiting()).cancelled == [T0]
    bench.cluster.finish_moves()
    assert bench.log_dir(T0, B1) == "/data/a"
    assert not bench.throttles()


# ---- brokers that are down ----------------------------------------------------------------------


def test_throttles_on_a_broker_that_is_down_stay_leased_until_it_is_back(bench: Bench) -> None:
    files = bench.begin()
    waits = iter([bench.cluster.finish_moves, bench.cluster.finish_moves])

    def wait() -> None:
        next(waits)()
        if len(bench.cluster.reassignments()) == 0 and bench.replicas()[1] == (B3, B4):
            bench.cluster.stop_broker(B1)

    outcome = bench.run(files, wait)
    assert outcome.complete
    assert list(outcome.unreleased.brokers) == ["1"]
    assert files.record().state is RunState.DONE
    settle(bench.cluster, bench.runs, Waiting(), bench.notes.append)
    assert bench.notes[-1].endswith("throttles stay on broker 1 until it can be reached")
    bench.cluster.start_broker(B1)
    assert bench.throttles()
    settle(bench.cluster, bench.runs, Waiting(), bench.notes.append)
    assert not bench.throttles()
    assert not files.record().lease


def test_a_run_that_fails_removes_its_throttles_and_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(targets: object) -> None:
        raise InvalidRequest("Missing permission: Alter on Cluster")

    files = bench.begin()
    run = bench.executor(files, Pacing(sleep=lambda _: None))
    monkeypatch.setattr(bench.cluster, "alter_reassignments", refuse)
    with pytest.raises(KedgeError, match="failed: Missing permission") as failed:
        run.carry_out()
    assert not isinstance(failed.value, InvalidRequest)  # that would promise: nothing was changed
    assert not bench.throttles()
    assert files.record().state is RunState.FAILED


# ---- health -------------------------------------------------------------------------------------


def test_a_cluster_in_trouble_is_not_given_more_moves(bench: Bench) -> None:
    bench.cluster.create_topics([TopicCreation("other", assignment={0: (B1, B4)})])
    bench.cluster.stop_broker(B4)
    plan = Plan((Reassignment.anywhere(T0, (B3, B2)),), {T0: (B1, B2)})
    times = iter(range(0, 10_000, 5))
    waiting = Waiting(sleep=lambda _: None, clock=lambda: float(next(times)))
    with pytest.raises(RefusedCommand, match=r"not healthy: broker 4 is down; 1 under-replicated"):
        preview(bench.cluster, plan, RunOptions(), waiting=waiting)
    assert preview(bench.cluster, plan, RunOptions(ignore_health=True)).changes


def test_new_moves_wait_while_the_cluster_is_in_trouble(bench: Bench) -> None:
    bench.cluster.create_topics([TopicCreation("other", assignment={0: (B1, B2)})])
    clock = [0.0]

    def wait(seconds: float) -> None:
        clock[0] += 6.0
        bench.cluster.finish_moves()
        if clock[0] == 12.0:
            assert bench.replicas()[1] == (B2, B3)  # the second move was not started
            bench.cluster.start_broker(B1)

    pacing = Pacing(
        sleep=wait,
        clock=lambda: clock[0],
        on_note=bench.notes.append,
        on_progress=lambda p: bench.cluster.stop_broker(B1) if p.moving and not clock[0] else None,
    )
    assert bench.executor(bench.begin(rate=None), pacing).carry_out().complete
    assert any("no new moves: broker 1 is down" in note for note in bench.notes)


def test_a_plan_that_leaves_no_more_replicas_than_must_be_in_sync_warns(bench: Bench) -> None:
    configs = {"min.insync.replicas": "2"}
    bench.cluster.create_topics([TopicCreation("m", assignment={0: (B1, B2, B3)}, configs=configs)])
    m0 = TopicPartition("m", 0)
    plan = Plan((Reassignment.anywhere(m0, (B1, B2)),), {m0: (B1, B2, B3)})
    (warning,) = preview(bench.cluster, plan, RunOptions()).warnings
    assert warning.startswith("m: no more replicas than min.insync.replicas")
