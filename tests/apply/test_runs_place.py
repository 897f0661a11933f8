"""Where runs are kept when no place is named, and the lease of runs in a directory."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.apply import Runs, RunStore, new_record
from kedge.apply.cluster_runs import ClusterRuns
from kedge.apply.directory_lease import DirectoryLease
from kedge.apply.ownership import Timing
from kedge.apply.runs_place import chosen_place
from kedge.cluster.log_port import LogEntry, LogRecord
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.memory_log import MemoryLog, MemoryTopic
from kedge.cluster.port import ConfigChange, broker_resource
from kedge.errors import (
    ClusterUnavailable,
    ReassignmentInProgress,
    RunTakenOver,
    Unauthorised,
    WriterFenced,
)
from kedge.execution import RunState
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment
from tests.service.brokers import until

B1, B2 = BrokerId(1), BrokerId(2)
T0 = TopicPartition("t", 0)
PLAN = Plan((Reassignment.anywhere(T0, (B2,)),), {T0: (B1,)}, cluster_id="c")
CHANGE = {broker_resource(B1): [ConfigChange("leader.replication.throttled.rate", value="1000")]}
QUICK = Timing(lease_s=1.0, answer_s=0.3, renew_s=0.05, poll_s=0.01)


class ForbiddenLog(MemoryLog):
    """A log that this client may neither see nor create."""

    def exists(self) -> bool:
        raise Unauthorised("Missing permission: Describe on Topic runs")

    def create(self) -> list[str]:
        raise Unauthorised("Missing permission: Create on Topic runs")


class Machines:
    """Processes with directories of their own on one cluster."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.topic = MemoryTopic()
        self.notes: list[str] = []

    def runs(
        self,
        name: str,
        *,
        take_over: bool = False,
        log: type[MemoryLog] = MemoryLog,
    ) -> Runs:
        lease = DirectoryLease(
            log(self.topic),
            take_over=take_over,
            on_note=self.notes.append,
            timing=QUICK,
        )
        return Runs(self.directory / name, "c", lease)

    def in_cluster(self) -> ClusterRuns:
        return ClusterRuns(MemoryLog(self.topic), "c", timing=QUICK)


@pytest.fixture
def machines(tmp_path: Path) -> Generator[Machines]:
    machines = Machines(tmp_path)
    yield machines
    machines.topic.down = False


def must_be_refused(store: RunStore) -> None:
    refused = pytest.raises(ReassignmentInProgress, match="is working on a run of this cluster")
    with refused, store.held():
        raise AssertionError("two act at once")


# ---- the lease of a directory -------------------------------------------------------------------


def test_two_directories_exclude_each_other_and_runs_in_the_cluster(machines: Machines) -> None:
    with machines.runs("a").held():
        must_be_refused(machines.runs("b"))
        must_be_refused(machines.in_cluster())
    with machines.in_cluster().held():
        must_be_refused(machines.runs("b"))
    with machines.runs("b").held():
        pass
    assert machines.notes == []


def test_the_first_that_acts_creates_the_log_and_one_that_cleans_up_does_not(
    machines: Machines,
) -> None:
    with machines.runs("a").held(patient=False):
        assert not machines.topic.created
    with machines.runs("a").held():
        assert machines.topic.created


@pytest.mark.parametrize("attempt", range(20))
def test_of_two_directories_that_start_at_once_on_a_new_cluster_one_acts(
    machines: Machines, attempt: int
) -> None:
    """Neither finds a log; `attempt` only repeats the race."""
    stores = [machines.runs(name) for name in ("a", "b")]
    acting: list[int] = []
    refused: list[int] = []
    begin_together, both_tried = threading.Barrier(2), threading.Barrier(2)

    def act(number: int) -> None:
        begin_together.wait()
        try:
            with stores[number].held():
                acting.append(number)
                both_tried.wait(10)
        except ReassignmentInProgress:
            refused.append(number)
            both_tried.wait(10)

    threads = [threading.Thread(target=act, args=(number,)) for number in (0, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (len(acting), len(refused)) == (1, 1)
    assert machines.notes == []


def test_a_process_that_was_replaced_changes_nothing_further(machines: Machines) -> None:
    cluster, first = MemoryCluster(2), machines.runs("a")
    guarded = first.guarded(cluster)
    with first.held():
        guarded.alter_configs(CHANGE)
        with machines.runs("b", take_over=True).held():
            before = cluster.describe_configs(list(CHANGE))
            with pytest.raises(RunTakenOver):
                guarded.alter_configs({broker_resource(B2): CHANGE[broker_resource(B1)]})
            assert cluster.describe_configs(list(CHANGE)) == before


class FencedAtFirst(MemoryLog):
    """A log whose writer is fenced while it becomes that: another client has called at once."""

    calls = 0

    def become_writer(self) -> None:
        self.calls += 1
        if self.calls == 1:
            raise WriterFenced("another process has become the writer")
        super().become_writer()


def test_two_that_become_the_writer_at_once_do_not_both_act(machines: Machines) -> None:
    """Being fenced is no reason to go on without the lease."""
    with machines.runs("a", log=FencedAtFirst).held():
        must_be_refused(machines.runs("b"))
        must_be_refused(machines.runs("c", log=FencedAtFirst))
    assert machines.notes == []


@pytest.mark.parametrize("down_from", ["the start", "the middle"])
def test_without_the_log_a_run_in_a_directory_goes_on_and_says_so(
    machines: Machines, down_from: str
) -> None:
    cluster, store = MemoryCluster(2), machines.runs("a")
    machines.topic.down = down_from == "the start"
    with store.held():
        machines.topic.down = True
        answers = store.guarded(cluster).alter_configs(CHANGE)
        store.guarded(cluster).alter_configs(CHANGE)
        machines.topic.down = False
    assert answers == {broker_resource(B1): None}
    (note,) = machines.notes
    assert note.startswith("no lease in the cluster (the log in memory does not answer)")


class SilentAtFirst(MemoryLog):
    """A log on a topic that was just created: the first reads and the first lease go unanswered."""

    silent = 4

    def read(self, after: int) -> list[LogRecord]:
        self._must_answer()
        return super().read(after)

    def append(self, entries: Sequence[LogEntry]) -> int:
        written = super().append(entries)
        self._must_answer()  # written, which the writer does not learn
        return written

    def _must_answer(self) -> None:
        self.silent -= 1
        if self.silent in (0, 2, 3):
            raise ClusterUnavailable("the log in memory does not answer yet")


def test_a_log_that_does_not_answer_at_first_is_asked_again(machines: Machines) -> None:
    with machines.runs("a", log=SilentAtFirst).held():
        must_be_refused(machines.runs("b"))
    assert machines.notes == []


def test_a_lease_is_confirmed_again_when_the_log_answers_again(machines: Machines) -> None:
    cluster, store = MemoryCluster(2), machines.runs("a")
    guarded = store.guarded(cluster)
    with store.held():
        machines.topic.down = True
        guarded.alter_configs(CHANGE)
        machines.topic.down = False
        before = len(machines.topic.records)
        until(lambda: len(machines.topic.records) > before)
        guarded.alter_configs(CHANGE)
        with machines.runs("b", take_over=True).held(), pytest.raises(RunTakenOver):
            guarded.alter_configs(CHANGE)
    lost, renewed = machines.notes
    assert lost.startswith("no lease in the cluster")
    assert renewed == "the lease in the cluster is renewed again"


def test_without_the_right_a_run_in_a_directory_goes_on_and_says_so(machines: Machines) -> None:
    with machines.runs("a", log=ForbiddenLog).held():
        pass
    (note,) = machines.notes
    assert note.startswith("no lease in the cluster (Missing permission: Create on Topic runs)")


# ---- the place ----------------------------------------------------------------------------------


def begin(store: RunStore, at: float, state: RunState | None = None) -> None:
    with store.held():
        record = replace(new_record("c", rate=1, each_way=1), begun_at=at)
        run = store.begin(PLAN, record)
        if state is not None:
            run.enter(state)


def place(machines: Machines, *, begins: bool, log: type[MemoryLog] = MemoryLog) -> str:
    directory, in_cluster = machines.runs("home"), machines.in_cluster()
    found = chosen_place(
        directory,
        in_cluster,
        log(machines.topic),
        begins=begins,
        on_note=machines.notes.append,
    )
    return "directory" if found is directory else "cluster"


def test_a_new_run_is_kept_in_the_cluster(machines: Machines) -> None:
    assert place(machines, begins=True) == "cluster"
    assert not machines.topic.created


def test_without_any_run_nothing_is_looked_for_in_the_cluster(machines: Machines) -> None:
    assert place(machines, begins=False) == "directory"
    assert not machines.topic.created


def test_commands_about_runs_go_where_the_latest_is(machines: Machines) -> None:
    begin(machines.runs("home"), 1e9, RunState.DONE)
    assert place(machines, begins=False) == "directory"
    begin(machines.in_cluster(), 1.1e9, RunState.DONE)
    assert place(machines, begins=False) == "cluster"
    begin(machines.runs("home"), 1.2e9, RunState.DONE)
    assert place(machines, begins=False) == "directory"
    assert place(machines, begins=True) == "cluster"
    assert machines.notes == []


def test_a_run_of_the_directory_that_has_not_ended_keeps_runs_there(machines: Machines) -> None:
    begin(machines.runs("home"), 1e9, RunState.MOVING)
    begin(machines.in_cluster(), 1.1e9, RunState.DONE)
    assert place(machines, begins=True) == "directory"
    assert place(machines, begins=False) == "directory"
    assert all("has not ended: runs are kept there" in note for note in machines.notes)


def test_without_the_rights_runs_are_kept_in_the_directory_and_it_says_so(
    machines: Machines,
) -> None:
    assert place(machines, begins=True, log=ForbiddenLog) == "directory"
    (note,) = machines.notes
    assert "other machines do not see them: Missing permission: Describe on Topic runs" in note
