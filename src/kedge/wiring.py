"""Chooses the adapters: every concrete implementation of a port is opened here.

Commands open a cluster here and work with the port alone. `clusters_from` replaces the adapter
within a block, and `logs_from` that of runs which are kept in the cluster, for programs and tests.
The lab, the simulator, the controller service and the Spark jobs are whole processes that compose
their own adapters; no other package imports one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kedge.cluster.port import Cluster
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.apply import RunStore
    from kedge.cluster.log_port import FencedLog
    from kedge.store.port import Store

IN_CLUSTER = "cluster"  # `--state cluster`; a directory of that name is `--state ./cluster`

OpenCluster = Callable[[str, Mapping[str, str]], Cluster]


def kafka_cluster(bootstrap: str, settings: Mapping[str, str]) -> Cluster:
    """A live Kafka cluster, reached with the settings of a client properties file."""
    from kedge.cluster.access import access_from
    from kedge.cluster.kafka_admin import KafkaAdmin

    return KafkaAdmin(bootstrap, access_from(settings))


def read_properties(path: Path | None) -> dict[str, str]:
    """The client properties in a file; none without a file."""
    if path is None:
        return {}
    from kedge.cluster.properties import parse_properties
    from kedge.files import read_text, with_path_context

    text = read_text(path)
    with with_path_context(path):
        return parse_properties(text)


_opening: ContextVar[OpenCluster] = ContextVar("opening", default=kafka_cluster)


@contextmanager
def clusters_from(opening: OpenCluster) -> Generator[None]:
    """Within the block, clusters are opened by this function."""
    token = _opening.set(opening)
    try:
        yield
    finally:
        _opening.reset(token)


@contextmanager
def open_cluster(bootstrap: str, settings: Mapping[str, str]) -> Generator[Cluster]:
    """A cluster for the time of a `with` block."""
    with closing(_opening.get()(bootstrap, settings)) as cluster:
        yield cluster


@contextmanager
def open_cluster_through_zookeeper(address: str) -> Generator[Cluster]:
    """A cluster changed through its ZooKeeper, for the time of a `with` block."""
    from kedge.store.zookeeper import ZooKeeperStore

    with open_cluster_on_store(ZooKeeperStore(address)) as cluster:
        yield cluster


@contextmanager
def open_cluster_on_store(store: Store) -> Generator[Cluster]:
    """A cluster changed through its metadata store; the store is closed with the block."""
    from kedge.zookeeper_cluster import ZooKeeperCluster

    with closing(ZooKeeperCluster(store)) as cluster:
        yield cluster


OpenLog = Callable[[Cluster, str, Mapping[str, str]], "FencedLog"]


def kafka_log(cluster: Cluster, bootstrap: str, settings: Mapping[str, str]) -> FencedLog:
    """The log of runs in a live cluster: a topic of Kafka's, or a lab's own store."""
    from kedge.cluster.access import access_from
    from kedge.cluster.lab_log import LabLog

    access = access_from(settings)
    in_lab = LabLog(bootstrap, access)
    if in_lab.is_served():
        return in_lab
    in_lab.close()
    from kedge.cluster.kafka_log import KafkaLog

    return KafkaLog(cluster, bootstrap, access)


_opening_log: ContextVar[OpenLog] = ContextVar("opening_log", default=kafka_log)


@contextmanager
def logs_from(opening: OpenLog) -> Generator[None]:
    """Within the block, the logs of runs are opened by this function."""
    token = _opening_log.set(opening)
    try:
        yield
    finally:
        _opening_log.reset(token)


class RunsPlace(NamedTuple):
    """Where the runs of a cluster are kept: `state` as typed, and how the cluster is reached."""

    bootstrap: str
    settings: Mapping[str, str]
    state: str | None = None


@contextmanager
def open_runs(
    cluster: Cluster,
    place: RunsPlace,
    *,
    on_note: Callable[[str], None],
    begins: bool = False,
    take_over: bool = False,
) -> Generator[RunStore]:
    """The runs of a cluster, in a directory or in the cluster, for the time of a `with` block.

    Where `place` does not say which, the runs themselves do (`kedge.apply.runs_place`): `begins` is
    whether the command starts a run. Runs in a directory take a lease in the cluster as well.
    """
    with ExitStack() as stack:
        log = _log_of(cluster, place)
        if log is not None:
            stack.callback(log.close)
        yield _opened(
            cluster.describe().cluster_id,
            place.state,
            log,
            _How(on_note, begins=begins, take_over=take_over),
        )


class _How(NamedTuple):
    on_note: Callable[[str], None]
    begins: bool
    take_over: bool


def _log_of(cluster: Cluster, place: RunsPlace) -> FencedLog | None:
    """The log of runs; a cluster that a program has put in place of Kafka's may have none."""
    opening = _opening_log.get()
    if opening is kafka_log and _opening.get() is not kafka_cluster and place.state != IN_CLUSTER:
        return None
    return opening(cluster, place.bootstrap, place.settings)


def _opened(cluster_id: str, state: str | None, log: FencedLog | None, how: _How) -> RunStore:
    from kedge.apply import Runs, default_state
    from kedge.apply.cluster_runs import ClusterRuns
    from kedge.apply.directory_lease import DirectoryLease
    from kedge.apply.runs_place import chosen_place

    take_over, on_note = how.take_over, how.on_note
    if log is None and take_over:
        raise InvalidRequest(
            "--take-over needs --state cluster",
            hint="the lock of a directory ends with its process",
        )

    def in_cluster() -> ClusterRuns:
        assert log is not None
        return ClusterRuns(log, cluster_id, take_over=take_over, on_note=on_note)

    def in_directory(path: Path) -> Runs:
        if log is None:
            return Runs(path, cluster_id)
        lease = DirectoryLease(log, take_over=take_over, on_note=on_note)
        return Runs(path, cluster_id, lease)

    if state == IN_CLUSTER:
        return in_cluster()
    directory = in_directory(Path(state) if state else default_state())
    if state or log is None:
        return directory
    return chosen_place(directory, in_cluster(), log, begins=how.begins, on_note=on_note)


def controller_state_tables() -> dict[str, dict[str, list[str]]]:
    """The tables of states that a controller goes by, for pages that draw them.

    By the name of the machine: each state with those that may follow it, in Kafka's names.
    """
    from kedge.controller.states import PARTITION_MAY_COME_FROM, REPLICA_MAY_COME_FROM

    def turned(may_come_from: Mapping[Any, Collection[Any]]) -> dict[str, list[str]]:
        return {
            state.value: [after.value for after in may_come_from if state in may_come_from[after]]
            for state in may_come_from
        }

    return {
        "partition": turned(PARTITION_MAY_COME_FROM),
        "replica": turned(REPLICA_MAY_COME_FROM),
    }
