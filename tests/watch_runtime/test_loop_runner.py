"""A loop whose cluster cannot be opened, on a real database."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from kedge.apply import RunStore
from kedge.cluster.port import Cluster
from kedge.database import open_database
from kedge.errors import ClusterUnavailable
from kedge.watch.findings import Finding, FindingKind
from kedge.watch_runtime import LoopRunner, WatchedCluster, WatchStore
from tests.watch.clusters import NOON

DOWN = Finding(FindingKind.BROKER_DOWN, NOON, "Broker 3 is down", (3,))


@contextmanager
def unopened() -> Generator[Cluster]:
    raise ClusterUnavailable("no broker could be reached")
    yield


@contextmanager
def no_runs(cluster: Cluster) -> Generator[RunStore]:
    raise AssertionError(cluster)
    yield


def test_an_unreachable_cluster_ends_no_finding(new_database: Callable[[], str]) -> None:
    database = open_database(new_database())
    store = WatchStore(database, "east", "server")
    runner = LoopRunner(WatchedCluster("east", unopened, no_runs), store, now=lambda: NOON + 60)
    assert runner.lead()
    store.store_findings(NOON, (DOWN,), ())
    assert runner.look() is not None
    assert runner.look() is not None
    assert [each.kind for each in store.findings()] == [FindingKind.UNREACHABLE, DOWN.kind]
    titles = [event.title for _, event in store.events_to_deliver()]
    assert titles == ["east: broker down found", "east: unreachable found"]
    database.close()
