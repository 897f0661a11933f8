"""Runs of proposals on a cluster in memory: what begins them, and what takes a beginning back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from kedge.apply import Runs, RunStore
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import Cluster, TopicCreation
from kedge.database import Database, open_database
from kedge.watch.effects import RunPhase, RunSeen
from kedge.watch.policy import Kind
from kedge.watch.proposals import Proposal, ProposalState
from kedge.watch_runtime import WatchStore
from kedge.watch_runtime.run_carrier import RunCarrier
from tests.lab.labs import until
from tests.watch.clusters import NOON, QUICK, TP, ids, proposal


class Place:
    """A cluster in memory with one partition, its runs, and a database of servers."""

    def __init__(self, folder: Path, url: str) -> None:
        self.cluster = MemoryCluster(4)
        self.cluster.create_topics([TopicCreation(TP.topic, assignment={0: ids(1, 2)})])
        self.folder = folder / "runs"
        self.runs = Runs(self.folder, "memory")
        self.database: Database = open_database(url)
        self.opens = Event()
        self.opens.set()

    @contextmanager
    def _open(self) -> Generator[Cluster]:
        assert self.opens.wait(60.0)
        yield self.cluster

    @contextmanager
    def _runs(self, cluster: Cluster) -> Generator[RunStore]:
        del cluster
        yield self.runs

    def server(self, name: str) -> tuple[WatchStore, RunCarrier]:
        store = WatchStore(self.database, "memory", name)
        return store, RunCarrier(store, self._open, self._runs, lambda: NOON, interval_s=0.01)

    def replicas(self) -> tuple[int, ...]:
        topic = self.cluster.describe_topics([TP.topic])[TP.topic]
        assert not isinstance(topic, Exception)
        return topic.partitions[0].replicas


def test_what_runs_are_kept_in_is_created_before_the_first_run(place: Place) -> None:
    _, carrier = place.server("a")
    assert not place.folder.exists()
    carrier.prepare()
    assert place.folder.exists()
    with place.runs.held():
        carrier.prepare()  # another process has created it
    assert not place.runs.all()


@pytest.fixture
def place(tmp_path: Path, new_database: Callable[[], str]) -> Generator[Place]:
    found = Place(tmp_path, new_database())
    yield found
    found.database.close()


def running_in(store: WatchStore, made: Proposal) -> Proposal:
    """A proposal as the loop stores it before its run begins."""
    running = made.in_state(ProposalState.RUNNING, NOON)
    assert store.replace(made)
    assert store.replace(running)
    return running


def finish(carrier: RunCarrier) -> None:
    until(lambda: not carrier.at_work_on, "the end of the run", 60.0)


def election() -> Proposal:
    return proposal(Kind.LEADERS, plan=None, elect=(TP,))


def test_a_run_is_carried_out_and_observed(place: Place) -> None:
    store, carrier = place.server("a")
    assert store.acquire(NOON, 30.0)
    running = running_in(store, proposal())
    assert not carrier.sees_other_process()
    assert carrier.start(running, QUICK) is None
    finish(carrier)
    assert carrier.observe(running) == RunSeen(RunPhase.DONE)
    assert place.replicas() == (3, 2)


def test_a_start_that_found_the_runs_locked_is_taken_back(place: Place) -> None:
    store, carrier = place.server("a")
    assert store.acquire(NOON, 30.0)
    running = running_in(store, proposal())
    with place.runs.held():
        assert carrier.sees_other_process()
        assert carrier.start(running, QUICK) is None
        finish(carrier)
        assert store.begun_run(running.id) == (True, None)
        assert carrier.observe(running) == RunSeen(RunPhase.ABSENT)
        assert store.begun_run(running.id) == (False, None)
    assert carrier.observe(running) == RunSeen(RunPhase.ABSENT)
    assert not carrier.sees_other_process()
    assert place.runs.all() == []


def test_an_election_of_a_server_that_died_is_taken_back(place: Place) -> None:
    store, carrier = place.server("a")
    assert store.acquire(NOON, 30.0)
    running = running_in(store, election())
    assert store.begin_run(running, NOON)
    assert carrier.observe(running) == RunSeen(RunPhase.ABSENT)
    assert carrier.start(running, QUICK) is None
    finish(carrier)
    assert carrier.observe(running) == RunSeen(RunPhase.DONE)


@pytest.mark.parametrize("made", [proposal(), election()], ids=["moves", "election"])
def test_a_server_that_was_replaced_begins_nothing_that_was_taken_back(
    place: Place, made: Proposal
) -> None:
    """It is still connecting to the cluster when another server takes the lead."""
    (store, carrier), (other_store, other) = place.server("a"), place.server("b")
    assert store.acquire(NOON, 30.0)
    running = running_in(store, made)
    place.opens.clear()
    assert carrier.start(running, QUICK) is None
    assert other_store.acquire(NOON + 31, 30.0)
    other_store.take_back_run(made.id)
    place.opens.set()
    finish(carrier)
    assert other.observe(running) == RunSeen(RunPhase.ABSENT)
    assert place.runs.all() == []
    assert place.replicas() == (1, 2)
