"""Runs in the cluster: one owner at a time, a fenced owner stops, damage is named."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from kedge.apply import new_record
from kedge.apply.cluster_runs import KEPT, ClusterRuns
from kedge.apply.ownership import Timing
from kedge.apply.run_records import Owner, lease_entry
from kedge.apply.run_status import run_status
from kedge.apply.this_process import is_known_dead, this_process
from kedge.cluster.log_port import LogEntry
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.memory_log import MemoryLog, MemoryTopic
from kedge.cluster.port import ConfigChange, broker_resource
from kedge.errors import (
    ClusterUnavailable,
    JournalDamaged,
    ReassignmentInProgress,
    RunTakenOver,
)
from kedge.execution import Lease, RunState
from kedge.execution import journal as lines
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment

B1, B2 = BrokerId(1), BrokerId(2)
T0 = TopicPartition("t", 0)
PLAN = Plan((Reassignment.anywhere(T0, (B2,)),), {T0: (B1,)}, cluster_id="c")
RATE = ConfigChange("leader.replication.throttled.rate", value="1000")
ELSEWHERE = Owner("other-host", 4711, "nonce", "another machine", "1")
NEVER_S = 1e6


class Clock:
    """A clock that only pauses move; `during` runs at each pause."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.during: list[Callable[[], None]] = []

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        if self.during:
            self.during.pop(0)()


class Place:
    """A topic, and processes that open it. Leases are renewed only when a test does it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.topic = MemoryTopic(self.clock)
        self.notes: list[str] = []

    def open(self, *, take_over: bool = False) -> ClusterRuns:
        clock = self.clock
        timing = Timing(renew_s=NEVER_S, clock=clock, now=clock, sleep=clock.sleep)
        return ClusterRuns(
            MemoryLog(self.topic),
            "c",
            take_over=take_over,
            on_note=self.notes.append,
            timing=timing,
        )

    def leased_to(self, owner: Owner) -> None:
        self.topic.created = True
        self.topic.add(*lease_entry(owner))

    def end(self, held: AbstractContextManager[None]) -> None:
        held.__exit__(None, None, None)


@pytest.fixture
def place() -> Place:
    return Place()


def begin(store: ClusterRuns, begun_at: float = 1e9):
    record = replace(new_record("c", rate=1, each_way=1), begun_at=begun_at)
    return store.begin(PLAN, record)


# ---- owners -------------------------------------------------------------------------------------


def test_a_lease_that_is_not_renewed_runs_out(place: Place) -> None:
    place.leased_to(ELSEWHERE)
    store = place.open()
    with store.held():
        assert place.clock.seconds >= 10
        begin(store)
    assert place.notes == ["other-host:4711 does not renew its lease; waiting for its end"]


def test_a_lease_that_is_renewed_meanwhile_is_respected(place: Place) -> None:
    place.leased_to(ELSEWHERE)
    place.clock.during = [lambda: None] * 3 + [lambda: place.leased_to(ELSEWHERE)]
    refused = pytest.raises(ReassignmentInProgress, match=r"other-host:4711 is working.*take-over")
    with refused, place.open().held():
        raise AssertionError("a live owner was replaced")
    assert place.clock.seconds < 10
    assert place.topic.epoch == 0  # and it was not fenced either


def test_a_wrong_clock_does_not_end_a_lease(place: Place) -> None:
    place.leased_to(ELSEWHERE)
    place.clock.seconds = 5e8  # the lease seems to be years old
    place.clock.during = [lambda: place.leased_to(ELSEWHERE)]
    with pytest.raises(ReassignmentInProgress), place.open().held(patient=False):
        raise AssertionError("a live owner was replaced")


def test_time_in_which_the_log_cannot_be_read_does_not_count(place: Place) -> None:
    place.leased_to(ELSEWHERE)

    def down(is_down: bool) -> None:
        place.topic.down = is_down

    place.clock.during = [lambda: down(True)] + [lambda: None] * 18 + [lambda: down(False)]
    with place.open().held():
        assert place.clock.seconds >= 19.5


def test_an_owner_that_died_on_this_machine_is_replaced_at_once(place: Place) -> None:
    me = this_process()
    dead = replace(me, started="1")
    assert is_known_dead(dead)
    assert not is_known_dead(me)
    assert not is_known_dead(replace(dead, machine="another"))
    place.leased_to(dead)
    with place.open().held(patient=False):
        assert place.clock.seconds == 0


def test_whether_a_process_acts_is_told_by_its_lease(place: Place) -> None:
    store, other = place.open(), place.open()
    assert not store.has_process()
    with other.held():
        assert store.has_process()
        place.clock.seconds += 11
        assert not store.has_process(), "the lease was not renewed"
    place.leased_to(replace(this_process(), started="1"))
    assert not store.has_process(), "a process of this machine that has ended"
    place.leased_to(ELSEWHERE)
    assert store.has_process()


def test_a_run_is_at_work_while_a_process_acts_and_it_is_not_at_rest(place: Place) -> None:
    cluster = MemoryCluster(2)
    store, other = place.open(), place.open()
    with other.held():
        run = begin(other)
        run.enter(RunState.MOVING)
        assert run_status(cluster, store, run).at_work
        run.enter(RunState.STOPPED)
        assert run_status(cluster, store, run).at_work is False
        run.enter(RunState.PAUSED)
        assert run_status(cluster, store, run).at_work
    assert run_status(cluster, store, run).at_work is False


def test_take_over_fences_the_owner_and_it_says_by_whom(place: Place) -> None:
    first = place.open()
    held = first.held()
    held.__enter__()
    run = begin(first)
    cluster = MemoryCluster(3)
    guarded = first.guarded(cluster)
    second = place.open(take_over=True)
    with second.held():
        (same,) = second.all()
        same.enter(RunState.MOVING)
    before = list(place.topic.records)
    with pytest.raises(RunTakenOver, match=rf"Run {run.name} was taken over by \S+:\d+"):
        guarded.alter_configs({broker_resource(B1): [RATE]})
    assert not any(e.value == "1000" for e in _configs(cluster))
    with pytest.raises(RunTakenOver):
        run.enter(RunState.DONE)
    with pytest.raises(RunTakenOver):
        guarded.describe()
    place.end(held)
    assert place.topic.records == before  # the new owner's lease is not given up by the old one


def test_a_process_that_was_replaced_unregisters_no_broker(place: Place) -> None:
    first, cluster = place.open(), MemoryCluster(3)
    held = first.held()
    held.__enter__()
    with place.open(take_over=True).held():
        pass
    cluster.stop_broker(B1)
    with pytest.raises(RunTakenOver):
        first.guarded(cluster).unregister_broker(B1)
    assert cluster.unregister_broker(B1) is None  # it was still registered
    place.end(held)


def _configs(cluster: MemoryCluster):
    entries = cluster.describe_configs([broker_resource(B1)])[broker_resource(B1)]
    assert isinstance(entries, tuple)
    return entries


def test_an_owner_that_was_fenced_by_one_that_gave_way_goes_on(place: Place) -> None:
    store = place.open()
    with store.held():
        run = begin(store)
        MemoryLog(place.topic).become_writer()  # and commits no lease
        run.enter(RunState.MOVING)
        assert run.record().state is RunState.MOVING
    (seen,) = place.open().all()
    assert seen.record().state is RunState.MOVING


def test_of_two_that_find_the_lease_run_out_one_gets_it(place: Place) -> None:
    first, second = place.open(), place.open()
    held = first.held()

    class Slow(MemoryLog):
        """A contender that is overtaken after it has read the lease."""

        def become_writer(self) -> None:
            if not first._ownership.is_held:
                held.__enter__()
            super().become_writer()

    second._ownership._log = Slow(place.topic)
    with pytest.raises(ReassignmentInProgress), second.held():
        raise AssertionError("both hold the runs")
    begin(first)  # regains what the other has fenced
    place.end(held)


def test_nothing_is_changed_while_the_log_does_not_answer(place: Place) -> None:
    store, cluster = place.open(), MemoryCluster(3)
    with store.held():
        place.topic.down = True
        with pytest.raises(ClusterUnavailable):
            store.guarded(cluster).alter_configs({broker_resource(B1): [RATE]})
    assert not any(e.value == "1000" for e in _configs(cluster))
    assert place.notes == ["the lease on the runs ends by itself in 10 s"]


# ---- records ------------------------------------------------------------------------------------


def test_foreign_and_damaged_records_are_named_and_skipped(place: Place) -> None:
    store = place.open()
    with store.held():
        begin(store)
    for key, value in (
        (None, b"x"),
        ("something/else", b"x"),
        ("lease", b"no json"),
        ("line/r/first/0/1", b"{}"),
        ("plan/r/3/1", b"{}"),
    ):
        place.topic.add(key, value)
    (seen,) = place.open().all()
    assert seen.plan() == PLAN
    assert place.notes == [
        "the log in memory: 5 records cannot be read and are skipped (offset 5, 6, 7, …)"
    ]


def test_a_run_with_a_line_missing_is_left_out_and_named(place: Place) -> None:
    store = place.open()
    with store.held():
        damaged = begin(store)
        damaged.enter(RunState.MOVING)
        whole = begin(store)
    gone = f"line/{damaged.name}/0/0/1"
    place.topic.records = [each for each in place.topic.records if each.key != gone]
    place.topic.add(f"line/{damaged.name}/2/0/1", b"{}")
    assert [run.name for run in place.open().all()] == [whole.name]
    assert (
        f"Run {damaged.name} cannot be read: line 1 of its journal is not whole" in place.notes[0]
    )


def test_the_latest_run_is_not_passed_over_because_it_is_damaged(place: Place) -> None:
    store = place.open()
    with store.held():
        kept = begin(store)
        damaged = begin(store)
        damaged.enter(RunState.MOVING)
        damaged.enter(RunState.ELECTING)
    gone = f"line/{damaged.name}/1/0/1"
    place.topic.records = [each for each in place.topic.records if each.key != gone]
    other = place.open()
    with pytest.raises(JournalDamaged, match=f"Run {damaged.name} .* line 2"):
        other.chosen(None)
    assert other.chosen(kept.name).name == kept.name
    assert "line 2 of its journal is not whole" in place.notes[0]


def test_compaction_loses_nothing_that_a_run_needs(place: Place) -> None:
    store = place.open()
    with store.held():
        run = begin(store)
        run.write(lines.leased(Lease({"1": {"a": "b"}}, {})))
        run.enter(RunState.MOVING)
        run.send_request(b"{}")
        record = run.record()
        place.topic.compact()
        run.enter(RunState.MOVING)
    place.topic.compact()
    (seen,) = place.open().all()
    assert (seen.plan(), seen.record().lease) == (PLAN, record.lease)
    assert seen.requests() == [b"{}"]


def test_old_runs_that_have_ended_are_removed_and_others_are_not(place: Place) -> None:
    store = place.open()
    with store.held():
        stopped = begin(store)
        stopped.enter(RunState.STOPPED)
        leftovers = begin(store)
        leftovers.write(lines.leased(Lease({"1": {"a": "b"}}, {})))
        leftovers.enter(RunState.DONE)
        for _ in range(KEPT + 5):
            begin(store).enter(RunState.DONE)
    place.topic.compact()
    names = [run.name for run in place.open().all()]
    assert names[:2] == [stopped.name, leftovers.name]
    assert len(names) <= KEPT + 2


def test_a_line_whose_first_attempt_was_not_answered_counts_once(place: Place) -> None:
    store = place.open()
    with store.held():
        run = begin(store)
        entry = LogEntry(f"line/{run.name}/1/0/1", lines.entered(RunState.MOVING, at=1.0))
        place.topic.add(*entry)
        run.enter(RunState.STOPPED)
    (seen,) = place.open().all()
    assert seen.record().state is RunState.STOPPED


# ---- a log that is deleted ----------------------------------------------------------------------


def test_an_owner_writes_a_log_that_was_deleted_again(place: Place) -> None:
    store = place.open()
    with store.held():
        old, run = begin(store), begin(store, 2e9)
        run.send_request(b'{"id":"1"}\n')
        place.topic.delete()
        run.enter(RunState.MOVING)
    assert len(place.notes) == 1
    assert "was deleted" in place.notes[0]
    seen = place.open()
    assert [each.name for each in seen.all()] == [old.name, run.name]
    again = seen.chosen(None)
    assert (again.record().state, again.plan()) == (RunState.MOVING, PLAN)
    assert again.requests() == [b'{"id":"1"}']


def test_an_owner_whose_log_another_process_has_begun_anew_has_lost_the_runs(place: Place) -> None:
    store = place.open()
    held = store.held()
    held.__enter__()
    run = begin(store)
    place.topic.delete()
    with place.open().held():
        place.topic.created = False
        with pytest.raises(RunTakenOver):
            run.enter(RunState.MOVING)
    place.end(held)
