"""Plans carried out on a cluster in memory whose moves end when the test says so."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.apply import (
    Pacing,
    RunFiles,
    RunOptions,
    Runs,
    Waiting,
    cancel,
    preview,
    rollback_plan,
    settle,
)
from kedge.cluster.port import (
    ConfigChange,
    ConfigResource,
    Configs,
    ResourceKind,
    TopicCreation,
    TopicDescription,
    broker_resource,
)
from kedge.errors import (
    ClusterUnavailable,
    InvalidRequest,
    KedgeError,
    LeaderNotAvailable,
    ReassignmentInProgress,
    RefusedCommand,
    RunFailed,
    Unavailable,
)
from kedge.execution import Lease, RunKind, RunState
from kedge.model import TopicPartition
from kedge.plan import PartitionReplica, Plan, Reassignment
from tests.apply.bench import B1, B2, B3, B4, T0, T1, Bench, Killed, die


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
    assert bench.progress[-1].share == 1.0


def without_brokers(
    found: dict[ConfigResource, Configs | KedgeError], instead: KedgeError | None
) -> dict[ConfigResource, Configs | KedgeError]:
    """Configs as brokers report them that have not applied theirs, or do not respond."""
    brokers = [resource for resource in found if resource.kind is ResourceKind.BROKER]
    return {**found, **dict.fromkeys(brokers, instead or ())}


@pytest.mark.parametrize("fault", [None, Unavailable("no response")])
def test_moves_start_only_after_every_broker_reports_its_throttle(
    bench: Bench, fault: KedgeError | None
) -> None:
    moving: list[int] = []

    def wait() -> None:
        moving.append(len(bench.cluster.reassignments()))
        bench.cluster.finish_moves()

    bench.faulty.change_response(
        "describe_configs",
        lambda found: without_brokers(found, fault),
        times=3,
        after="alter_configs",
    )
    assert bench.run(bench.begin(), wait).complete
    assert moving == [0, 0, 0, 1, 1]


def test_a_broker_that_never_reports_its_throttle_does_not_block_a_run(bench: Bench) -> None:
    times = iter(range(0, 10_000, 10))
    pacing = Pacing(
        sleep=lambda _: bench.cluster.finish_moves(),
        clock=lambda: float(next(times)),
        on_note=bench.notes.append,
    )
    bench.faulty.change_response("describe_configs", lambda found: without_brokers(found, None))
    assert bench.executor(bench.begin(), pacing).carry_out().complete
    assert bench.notes == [
        f"broker {broker} did not report its throttle within 30 s" for broker in (1, 2, 3, 4)
    ]


def test_drift_is_confirmed_by_a_second_read_before_it_is_reported(bench: Bench) -> None:
    stale_reads: list[int] = []

    def stale(found: dict[str, TopicDescription]) -> dict[str, TopicDescription]:
        """Replicas as they were during the move, in a few reads after it has ended."""
        topic = found["t"]
        if topic.partitions[0].replicas == (B4, B2) and len(stale_reads) < 3:
            stale_reads.append(len(topic.partitions))
            first = replace(topic.partitions[0], replicas=(B4, B1, B2))
            found["t"] = replace(topic, partitions=(first, *topic.partitions[1:]))
        return found

    bench.faulty.change_response("describe_topics", stale)
    assert bench.run(bench.begin(), bench.cluster.finish_moves).complete
    assert stale_reads == [2, 2, 2]
    assert bench.notes == []


def test_a_preview_reads_the_log_directories_of_a_plan_once(bench: Bench) -> None:
    plan = Plan((Reassignment(T0, (B4, B2), ("/data/b", "any")),), {T0: (B1, B2)})
    judged = preview(bench.faulty.port, plan, RunOptions(ignore_health=True))
    assert judged.log_dirs_before[PartitionReplica("t", 0, B1)] == "/data/a"
    assert bench.faulty.calls["log_dirs"] == 1


# ---- a cluster that does not respond ------------------------------------------------------------

NO_RESPONSE = ClusterUnavailable("no broker reached")


@pytest.mark.parametrize("loses", [False, True], ids=["not sent", "response lost"])
def test_a_start_without_a_response_is_looked_up_and_repeated(bench: Bench, loses: bool) -> None:
    add = bench.faulty.lose_response if loses else bench.faulty.fail
    add("alter_reassignments", NO_RESPONSE, times=1)
    files = bench.begin()
    assert bench.run(files, bench.cluster.finish_moves).complete
    assert bench.replicas() == {0: (B4, B2), 1: (B3, B4)}
    assert bench.notes == ["no response from the cluster (no broker reached); retrying"]
    assert not bench.throttles()
    # A start whose response was lost has started: it is not sent a second time.
    assert bench.faulty.calls["alter_reassignments"] == (2 if loses else 3)


def test_reads_that_fail_are_repeated_until_the_cluster_responds(bench: Bench) -> None:
    bench.faulty.fail("describe_topics", NO_RESPONSE, times=5, after="alter_reassignments")
    assert bench.run(bench.begin(), bench.cluster.finish_moves).complete
    assert bench.notes == ["no response from the cluster (no broker reached); retrying"]


def test_a_cluster_that_stays_silent_leaves_the_run_to_resume(bench: Bench) -> None:
    clock = itertools.count(step=100)
    pacing = Pacing(sleep=lambda _: None, clock=lambda: float(next(clock)))
    files = bench.begin()
    bench.faulty.fail("reassignments", NO_RESPONSE, after="alter_reassignments")
    with pytest.raises(RunFailed, match="left as it is: no broker reached; continue it with"):
        bench.executor(files, pacing).carry_out()
    assert files.record().state is RunState.MOVING
    assert files.record().lease == bench.throttles()


def test_a_health_read_that_fails_starts_no_moves(bench: Bench) -> None:
    bench.faulty.fail("topic_names", NO_RESPONSE, times=2)
    moving: list[int] = []

    def wait() -> None:
        moving.append(len(bench.cluster.reassignments()))
        bench.cluster.finish_moves()

    assert bench.run(bench.begin(rate=None), wait).complete
    assert moving[:3] == [0, 0, 1]


def test_throttles_that_cannot_be_removed_stay_leased(bench: Bench) -> None:
    refused = Unavailable("broker 4 did not respond")

    def unreached(answers: dict[ConfigResource, KedgeError | None]) -> object:
        return {r: refused if r == broker_resource(B4) else a for r, a in answers.items()}

    files = bench.begin()
    bench.faulty.change_response("alter_configs", unreached, after="alter_reassignments")
    outcome = bench.run(files, bench.cluster.finish_moves)
    assert outcome.complete
    assert list(outcome.unreleased.brokers) == ["4"]
    assert files.record().lease == outcome.unreleased


def test_an_election_that_is_refused_is_noted(bench: Bench) -> None:
    refused = LeaderNotAvailable("broker 4 is not in sync")
    bench.faulty.change_response("elect_leaders", lambda answers: dict.fromkeys(answers, refused))
    files = bench.begin(Plan((Reassignment.anywhere(T0, (B2, B1)),), {T0: (B1, B2)}))
    assert bench.run(files, bench.cluster.finish_moves).complete
    assert bench.notes == ["t-0 is still led by broker 1: broker 4 is not in sync"]


# ---- the end of a run ---------------------------------------------------------------------------


def test_the_replica_that_the_plan_puts_first_leads_at_the_end(bench: Bench) -> None:
    entry = Reassignment.anywhere(T0, (B2, B1))
    files = bench.begin(Plan((entry,), {T0: (B1, B2)}))
    assert bench.run(files, bench.cluster.finish_moves).complete
    topic = bench.cluster.describe_topics(["t"])["t"]
    assert isinstance(topic, TopicDescription)
    assert topic.partitions[0].leader == B2


def test_a_run_that_was_killed_is_finished_by_another(bench: Bench) -> None:
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
        bench.run(files, die)
    outcome = bench.run(files, bench.cluster.finish_moves, stopping=True)
    assert outcome.stopped
    assert (outcome.moved, list(outcome.left)) == (1, [T1])
    assert not bench.throttles()
    assert files.record().state is RunState.STOPPED


def test_cancel_reverts_moves_in_progress_and_removes_throttles(bench: Bench) -> None:
    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, die)
    bench.cluster.hold_moves = False  # the way back is free
    assert cancel(bench.cluster, files, Waiting()).cancelled == [T0]
    assert bench.replicas() == {0: (B1, B2), 1: (B2, B3)}
    assert not bench.throttles()
    assert files.record().state is RunState.CANCELLED


def test_a_rollback_undoes_what_was_moved_and_no_more(bench: Bench) -> None:
    files = bench.begin()
    waits = iter([bench.cluster.finish_moves, die])
    with pytest.raises(Killed):
        bench.run(files, lambda: next(waits)())
    bench.cluster.hold_moves = False
    back = rollback_plan(bench.cluster, files)
    assert back is not None
    assert back.after == {T0: (B1, B2), T1: (B2, B3)}  # one done, one under way
    assert bench.run(bench.begin(back, kind=RunKind.ROLLBACK), bench.cluster.finish_moves).complete
    assert bench.replicas() == {0: (B1, B2), 1: (B2, B3)}


def test_a_run_that_moved_nothing_has_no_rollback(bench: Bench) -> None:
    assert rollback_plan(bench.cluster, bench.begin()) is None


def test_throttles_of_a_dead_run_are_removed_once_its_moves_are_over(bench: Bench) -> None:
    files = bench.begin()
    with pytest.raises(Killed):
        bench.run(files, die)
    settle(bench.cluster, bench.runs, Waiting(), bench.notes.append)
    assert bench.throttles()  # they still slow down what is under way
    bench.cluster.finish_moves()
    settle(bench.cluster, bench.runs, Waiting(), bench.notes.append)
    assert not bench.throttles()
    assert bench.notes == [f"removed 10 throttle settings that run {files.name} had left"]


def test_a_foreign_throttle_is_neither_overwritten_nor_removed(bench: Bench) -> None:
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
        bench.run(files, die)
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


def test_a_run_that_fails_removes_its_throttles_and_says_so(bench: Bench) -> None:
    files = bench.begin()
    run = bench.executor(files, Pacing(sleep=lambda _: None))
    refusal = InvalidRequest("Missing permission: Alter on Cluster")
    bench.faulty.fail("alter_reassignments", refusal)
    with pytest.raises(KedgeError, match="failed: Missing permission") as failed:
        run.carry_out()
    assert not isinstance(failed.value, InvalidRequest)  # which means that nothing was changed
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
