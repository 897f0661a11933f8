"""What every place that runs are kept in does alike: the promises of the port, one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kedge.apply import Run, RunStore, new_record
from kedge.errors import InvalidRequest, ReassignmentInProgress
from kedge.execution import Lease, RunKind, RunState
from kedge.execution import journal as lines
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment
from tests.contract.run_backends import (
    CLUSTER_ID,
    DirectoryBackend,
    KafkaBackend,
    LabBackend,
    MemoryLogBackend,
    RunBackend,
)
from tests.real import clusters
from tests.real.kedge_cluster import until

B1, B2, B3 = map(BrokerId, (1, 2, 3))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PLAN = Plan((Reassignment.anywhere(T0, (B3, B2)),), {T0: (B1, B2)}, cluster_id=CLUSTER_ID)
THROTTLES = Lease({"1": {"leader.replication.throttled.rate": "1000"}}, {})


@pytest.fixture(
    params=[
        "directory",
        "log in memory",
        "lab",
        pytest.param("4.1 KRaft", marks=pytest.mark.real),
        pytest.param("3.9 ZooKeeper", marks=[pytest.mark.real, pytest.mark.slow]),
    ]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunBackend]:
    match request.param:
        case "directory":
            made: RunBackend = DirectoryBackend(tmp_path)
        case "log in memory":
            made = MemoryLogBackend()
        case "lab":
            made = LabBackend()
        case "4.1 KRaft":
            made = KafkaBackend(clusters.kraft(request.config).bootstrap)
        case _:
            made = KafkaBackend(clusters.zookeeper(request.config).bootstrap)
    yield made
    made.close()


def begin(
    store: RunStore, plan: Plan = PLAN, *, undoes: Run | None = None, rate: int | None = 1000
) -> Run:
    kind = RunKind.APPLY if undoes is None else RunKind.ROLLBACK
    name = None if undoes is None else undoes.name
    return store.begin(plan, new_record(CLUSTER_ID, kind=kind, undoes=name, rate=rate, each_way=1))


def test_a_place_without_runs_has_none_and_says_where_it_looked(place: RunBackend) -> None:
    store = place.open()
    assert list(store.all()) == []
    with pytest.raises(InvalidRequest, match="No run of this cluster"):
        store.chosen(None)


def test_another_process_reads_the_plan_and_every_line_in_order(place: RunBackend) -> None:
    store = place.open()
    with store.held():
        run = begin(store)
        run.enter(RunState.THROTTLING)
        run.write(lines.leased(THROTTLES))
        run.enter(RunState.MOVING)
        run.write(lines.started([T0]))
        here = run.record()
    (seen,) = place.open().all()
    assert (seen.name, seen.plan()) == (run.name, PLAN)
    assert seen.record() == here
    assert (here.state, here.lease, here.started) == (RunState.MOVING, THROTTLES, {T0})


def test_another_process_continues_a_journal(place: RunBackend) -> None:
    store = place.open()
    with store.held():
        begin(store).enter(RunState.MOVING)
    other = place.open()
    with other.held():
        run = other.chosen(None)
        run.write(lines.started([T0]))
        run.enter(RunState.DONE, moved=1)
    (seen,) = place.open().all()
    record = seen.record()
    assert (record.state, record.moved, record.started) == (RunState.DONE, 1, {T0})


def test_one_process_at_a_time_holds_the_runs(place: RunBackend) -> None:
    first, second = place.open(), place.open()
    with (
        first.held(),
        pytest.raises(ReassignmentInProgress, match="is working on a run of this cluster"),
        second.held(),
    ):
        raise AssertionError("both hold the runs")
    with second.held():
        begin(second)
    with first.held():
        assert len(first.all()) == 1


def test_a_process_that_only_looks_is_refused_at_once(place: RunBackend) -> None:
    first, second = place.open(), place.open()
    with first.held(), pytest.raises(ReassignmentInProgress), second.held(patient=False):
        raise AssertionError("both hold the runs")


def test_requests_arrive_in_order_while_another_process_holds_the_runs(place: RunBackend) -> None:
    store, other = place.open(), place.open()
    with store.held():
        run = begin(store)
        assert run.requests() == []
        (seen,) = other.all()
        seen.send_request(b'{"rate":1}\n')
        seen.send_request(b'{"rate":2}\n')
        assert seen.requests() == [b'{"rate":1}', b'{"rate":2}']  # at once, where they were sent
        until(lambda: run.requests() == seen.requests())
        run.enter(RunState.MOVING)
        assert run.requests() == [b'{"rate":1}', b'{"rate":2}']


def test_runs_are_listed_in_their_sequence_and_found_by_a_part_of_their_id(
    place: RunBackend,
) -> None:
    store = place.open()
    with store.held():
        names = [begin(store).name for _ in range(3)]
    other = place.open()
    assert [run.name for run in other.all()] == names
    assert other.chosen(None).name == names[-1]
    assert other.chosen(names[0]).name == names[0]
    with pytest.raises(InvalidRequest, match="3 runs fit"):
        other.chosen(names[0][:8])
    with pytest.raises(InvalidRequest, match="No run fits"):
        other.chosen("absent")


def test_a_rollback_decides_the_state_of_the_run_that_it_undoes(place: RunBackend) -> None:
    store = place.open()
    with store.held():
        run = begin(store)
        run.enter(RunState.DONE, moved=1)
        rollback = begin(store, undoes=run)
        rollback.enter(RunState.MOVING)
        assert store.state_of(run) is RunState.ROLLING_BACK
        assert store.chosen(None).name == run.name
        rollback.enter(RunState.DONE, moved=1)
    other = place.open()
    assert other.state_of(other.chosen(None)) is RunState.ROLLED_BACK


def test_throttles_of_all_runs_are_known(place: RunBackend) -> None:
    store = place.open()
    with store.held():
        begin(store).write(lines.leased(THROTTLES))
    assert place.open().own_settings() == frozenset(THROTTLES.settings())


def test_plans_and_lines_of_many_megabytes_are_kept_whole(place: RunBackend) -> None:
    draw = random.Random(1)
    names = [f"{draw.getrandbits(256):x}" for _ in range(30_000)]
    entries = tuple(Reassignment.anywhere(TopicPartition(n, 0), (B3, B2)) for n in names)
    plan = Plan(entries, {each.tp: (B1, B2) for each in entries}, cluster_id=CLUSTER_ID)
    store = place.open()
    with store.held():
        run = begin(store, plan)
        run.write(lines.started(each.tp for each in entries))
    (seen,) = place.open().all()
    assert seen.plan() == plan
    assert len(seen.record().started) == len(names)
