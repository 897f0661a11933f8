"""A cluster with servers that watch it, on labs and on real brokers; time is set by hand."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from kedge.apply import RunStore
from kedge.apply.run_store import Runs
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import Cluster, ConfigSource, broker_resource
from kedge.database import open_database
from kedge.watch_runtime import LoopRunner, WatchedCluster, WatchStore
from tests.lab.labs import until

ONE_AM = 1_774_659_600.0  # 2026-03-28 01:00 UTC
MINUTE = 60.0


class Watched:
    """A cluster, and servers that share a database; a look is a minute after the one before."""

    def __init__(self, bootstrap: str, place: Path) -> None:
        self.bootstrap, self._place, self.now = bootstrap, place, ONE_AM
        self.database = open_database(f"sqlite:///{place}/watch.db")

    @contextmanager
    def _cluster(self) -> Generator[Cluster]:
        with closing(KafkaAdmin(self.bootstrap)) as admin:
            yield admin

    @contextmanager
    def _runs(self, cluster: Cluster) -> Generator[RunStore]:
        yield Runs(self._place / "runs", cluster.describe().cluster_id)

    def server(self, name: str) -> LoopRunner:
        watched = WatchedCluster("lab", self._cluster, self._runs)
        store = WatchStore(self.database, "lab", name)
        return LoopRunner(watched, store, now=lambda: self.now, run_interval_s=0.05)

    def look(self, server: LoopRunner, times: int = 1) -> None:
        for _ in range(times):
            self.now += MINUTE
            assert server.look() is not None

    def finish(self, server: LoopRunner) -> None:
        until(lambda: not server.carrier.at_work_on, "the end of the run", 120.0)
        self.look(server)

    def missing(self) -> int:
        with self._cluster() as cluster:
            topics = cluster.describe_topics(list(cluster.topic_names()))
        parts = [p for t in topics.values() if not isinstance(t, Exception) for p in t.partitions]
        return sum(len(p.isr) < len(p.replicas) for p in parts)

    def throttles(self) -> list[str]:
        with self._cluster() as cluster:
            brokers = [broker_resource(b) for b in sorted(cluster.describe().alive)]
            found = cluster.describe_configs(brokers)
        return [
            entry.name
            for configs in found.values()
            if not isinstance(configs, Exception)
            for entry in configs
            if "throttled" in entry.name and entry.source is ConfigSource.BROKER
        ]
