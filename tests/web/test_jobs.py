"""Jobs without a cluster: which are limited, and what becomes of one whose database fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import text, update

from kedge.database import Database, open_database
from kedge.errors import Conflict, ReassignmentInProgress, TooManyRequests
from kedge.web.clusters.registry import ClusterRegistry
from kedge.web.events import Broadcaster
from kedge.web.jobs.job_context import JobContext
from kedge.web.jobs.job_runner import JobKind, JobRunner
from kedge.web.tables import JobRow

WAIT_S = 30.0


@pytest.fixture
def database(new_database: Callable[[], str]) -> Iterator[Database]:
    database = open_database(new_database())
    yield database
    database.close()


def _runner(database: Database, *, read_only: bool = False, **kinds: JobKind) -> JobRunner:
    registry = ClusterRegistry({}, read_only=read_only)
    return JobRunner(database, Broadcaster(1), registry, kinds, waiting_max=1)


def test_jobs_that_compute_never_keep_a_run_from_being_ended(database: Database) -> None:
    go_on = threading.Event()

    def wait(context: JobContext) -> Mapping[str, Any]:
        del context
        assert go_on.wait(WAIT_S)
        return {}

    runner = _runner(database, plan=JobKind(wait), cancel=JobKind(wait, computes=False))
    runs = [runner.submit("cancel", "orders", "me", {}) for _ in range(2)]
    plan = runner.submit("plan", "orders", "me", {})
    with pytest.raises(TooManyRequests, match="1 jobs are at work"):
        runner.submit("plan", "orders", "me", {})
    runs.append(runner.submit("cancel", "orders", "me", {}))
    go_on.set()
    assert all(job.ended.wait(WAIT_S) for job in (plan, *runs))
    assert {row.state for row in runner.store.latest("orders")} == {"done"}


# ---- a database that fails -----------------------------------------------------------------------


@contextmanager
def _failing(database: Database) -> Generator[None]:
    """Every statement about jobs fails within the block."""
    _rename(database, "jobs", "jobs_away")
    yield
    _rename(database, "jobs_away", "jobs")


def _rename(database: Database, name: str, other: str) -> None:
    with database.writes() as connection:
        connection.execute(text(f"ALTER TABLE {name} RENAME TO {other}"))


@dataclass
class Steps:
    """Work that waits for the test before each step."""

    steps: Sequence[Callable[[JobContext], None]]
    _may: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _done: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _begun: threading.Event = field(default_factory=threading.Event)

    def __call__(self, context: JobContext) -> Mapping[str, Any]:
        self._begun.set()
        for step in self.steps:
            assert self._may.acquire(timeout=WAIT_S)
            step(context)
            self._done.release()
        return {"steps": len(self.steps)}

    def await_begin(self) -> None:
        """Wait until the work is at its first step."""
        assert self._begun.wait(WAIT_S)

    def may_fail(self) -> None:
        """Let one step begin."""
        self._may.release()

    def let_one(self) -> None:
        """Let one step be done."""
        self._may.release()
        assert self._done.acquire(timeout=WAIT_S)


def test_a_run_goes_on_while_its_progress_cannot_be_kept(database: Database) -> None:
    work = Steps(
        [
            lambda context: context.began("first-run"),
            lambda context: context.report({"event": "note", "text": "half"}, keep=True),
            lambda context: context.report({"event": "progress", "moved": 2}),
        ]
    )
    runner = _runner(database, apply=JobKind(work, computes=False))
    job = runner.submit("apply", "orders", "me", {})
    work.await_begin()
    with _failing(database):
        work.let_one()
        work.let_one()
    work.let_one()
    assert job.ended.wait(WAIT_S)
    row = runner.store.get(job.row.id)
    assert (row.state, row.run, row.result) == ("done", "first-run", {"steps": 3})
    assert (row.progress["moved"], row.progress["notes"][0]["text"]) == (2, "half")


def test_the_end_of_a_job_is_written_once_the_database_is_back(database: Database) -> None:
    work = Steps([lambda context: None])
    runner = _runner(database, apply=JobKind(work, computes=False))
    job = runner.submit("apply", "orders", "me", {})
    work.await_begin()
    with _failing(database):
        work.let_one()
        assert not job.ended.wait(0.2)
    assert job.ended.wait(WAIT_S)
    assert runner.store.get(job.row.id).state == "done"


def test_a_run_whose_work_the_database_has_ended_is_continued_by_the_same_server(
    database: Database,
) -> None:
    work = Steps([lambda context: None, lambda context: context.store.get(context.row.id) and None])
    runner = _runner(database, apply=JobKind(work, computes=False))
    job = runner.submit("apply", "orders", "me", {})
    work.let_one()
    with _failing(database):
        work.may_fail()
        assert job.ended.wait(WAIT_S)
    assert runner.store.get(job.row.id).state == "running", "its end could not be written"
    runner.beat()
    again = runner.context(job.row.id)
    assert again is not None, "no server is at work on the job"
    work.let_one()
    work.let_one()
    assert again.ended.wait(WAIT_S)
    assert runner.store.get(job.row.id).state == "done"


# ---- another server on the same database ---------------------------------------------------------


def _owned(context: JobContext) -> Mapping[str, Any]:
    del context
    raise ReassignmentInProgress("Another process is working on a run of this cluster")


def _lose_heartbeat(database: Database, job: JobContext) -> None:
    """The row as it is when its server has not reached the database for long."""
    with database.begin() as session:
        session.execute(update(JobRow).where(JobRow.id == job.row.id).values(beat_at=1.0))


def test_a_run_that_its_server_still_works_on_is_not_lost_to_another_server(
    database: Database,
) -> None:
    work = Steps([lambda context: context.began("first-run")])
    first = _runner(database, apply=JobKind(work, computes=False))
    second = _runner(database, apply=JobKind(_owned, computes=False))
    job = first.submit("apply", "orders", "me", {})
    work.await_begin()
    for _ in range(2):
        _lose_heartbeat(database, job)
        second.beat()
        adopted = second.context(job.row.id)
        assert adopted is None or adopted.ended.wait(WAIT_S)
        assert first.store.get(job.row.id).state == "waiting"
    first.beat()
    assert first.store.get(job.row.id).owner == first.store.owner
    work.let_one()
    assert job.ended.wait(WAIT_S)
    row = first.store.get(job.row.id)
    assert (row.state, row.result) == ("done", {"steps": 1})


def test_an_adopted_run_goes_on_once_its_former_server_is_gone(database: Database) -> None:
    work = Steps([lambda context: None])
    dead = _runner(database, apply=JobKind(work, computes=False))
    job = dead.submit("apply", "orders", "me", {})
    work.await_begin()
    attempts = iter([_owned, _owned, lambda context: {"run": "went on"}])
    standby = _runner(
        database, apply=JobKind(lambda context: next(attempts)(context), computes=False)
    )
    _lose_heartbeat(database, job)
    for _ in range(3):
        standby.beat()
        adopted = standby.context(job.row.id)
        assert adopted is None or adopted.ended.wait(WAIT_S)
    row = standby.store.get(job.row.id)
    assert (row.state, row.result) == ("done", {"run": "went on"})
    work.let_one()
    assert job.ended.wait(WAIT_S)


def _until_stopped(context: JobContext) -> Mapping[str, Any]:
    assert context.stopping.wait(WAIT_S)
    return {"ended": "early"}


def test_a_read_only_server_goes_on_with_plans_and_with_no_run(database: Database) -> None:
    begun = Steps([lambda context: None])
    dead = _runner(database, plan=JobKind(begun), apply=JobKind(begun, computes=False))
    plan, run = (dead.submit(kind, "orders", "me", {}) for kind in ("plan", "apply"))
    for job in (plan, run):
        _lose_heartbeat(database, job)
    done = JobKind(lambda context: {"by": "the read-only server"})
    standby = _runner(
        database, read_only=True, plan=done, apply=JobKind(_until_stopped, computes=False)
    )
    standby.beat()
    assert standby.context(run.row.id) is None
    adopted = standby.context(plan.row.id)
    assert adopted is None or adopted.ended.wait(WAIT_S)
    assert standby.store.get(plan.row.id).result == {"by": "the read-only server"}
    assert standby.store.get(run.row.id).owner == dead.store.owner
    begun.let_one()
    begun.let_one()
    assert plan.ended.wait(WAIT_S)
    assert run.ended.wait(WAIT_S)


def test_a_job_is_stopped_through_another_server(database: Database) -> None:
    first = _runner(database, plan=JobKind(_until_stopped))
    second = _runner(database, plan=JobKind(_owned))
    job = first.submit("plan", "orders", "me", {})
    second.stop_job(job.row.id)
    first.beat()
    assert job.ended.wait(WAIT_S)
    row = second.store.get(job.row.id)
    assert (row.state, row.result) == ("done", {"ended": "early"})
    with pytest.raises(Conflict, match=f"Job {job.row.id} has ended"):
        second.stop_job(job.row.id)


def test_a_job_that_was_stopped_is_not_taken_up_by_the_server_that_adopts_it(
    database: Database,
) -> None:
    work = Steps([lambda context: None])
    dead = _runner(database, apply=JobKind(work, computes=False))
    job = dead.submit("apply", "orders", "me", {})
    work.await_begin()
    standby = _runner(database, apply=JobKind(_owned, computes=False))
    standby.stop_job(job.row.id)
    _lose_heartbeat(database, job)
    standby.beat()
    adopted = standby.context(job.row.id)
    assert adopted is None or adopted.ended.wait(WAIT_S)
    row = standby.store.get(job.row.id)
    assert (row.state, row.result) == ("done", {"left": True})
    work.let_one()
    assert job.ended.wait(WAIT_S)


def test_a_new_run_is_refused_while_another_process_works_on_one(database: Database) -> None:
    runner = _runner(database, apply=JobKind(_owned, computes=False))
    job = runner.submit("apply", "orders", "me", {})
    assert job.ended.wait(WAIT_S)
    row = runner.store.get(job.row.id)
    assert row.problem is not None
    assert (row.state, row.problem["status"]) == ("failed", 409)


def test_heartbeats_have_the_time_of_the_database(new_database: Callable[[], str]) -> None:
    """Servers on two machines share it, however far their own clocks are apart."""
    opened = open_database(new_database())
    ahead = Database(opened.engine, clock=lambda: time.time() + 3600)
    runner = _runner(ahead, apply=JobKind(_owned, computes=False))
    job = runner.submit("apply", "orders", "me", {})
    assert job.ended.wait(WAIT_S)
    shared = opened.engine.dialect.name == "postgresql"
    assert (abs(job.row.beat_at - opened.now()) < 60) is shared
    opened.close()
