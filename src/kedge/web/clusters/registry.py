"""The configured clusters: opened for one request or one job at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from kedge import wiring
from kedge.cluster.snapshot_taker import take_snapshot
from kedge.errors import TooManyRequests, UnknownResource
from kedge.web.clusters.loads import ClusterLoads
from kedge.web.clusters.read_only import read_only
from kedge.web.settings import ClusterSettings

if TYPE_CHECKING:
    from kedge.apply import RunStore
    from kedge.cluster.port import Cluster
    from kedge.model import Snapshot

REQUESTS_AT_ONCE = 8
WAIT_S = 20.0


class ClusterRegistry:
    """Finds clusters by name and opens connections to them."""

    def __init__(self, clusters: Mapping[str, ClusterSettings], *, read_only: bool = False) -> None:
        self.settings, self.read_only = dict(clusters), read_only
        self._slots = {name: threading.BoundedSemaphore(REQUESTS_AT_ONCE) for name in clusters}
        self.loads = {
            name: ClusterLoads(name, each.loads, partial(self.connect, name))
            for name, each in clusters.items()
        }

    @property
    def names(self) -> list[str]:
        """Every cluster, sorted."""
        return sorted(self.settings)

    def of(self, name: str) -> ClusterSettings:
        """The settings of one cluster."""
        found = self.settings.get(name)
        if found is None:
            raise UnknownResource(f"No cluster {name!r} is known")
        return found

    @contextmanager
    def open(self, name: str) -> Generator[Cluster]:
        """A connection of its own for the time of a `with` block; so many at once per cluster."""
        settings = self.of(name)
        slots = self._slots[name]
        if not slots.acquire(timeout=WAIT_S):
            raise TooManyRequests(f"Too many requests to the cluster {name} at once")
        try:
            with wiring.open_cluster(
                settings.bootstrap_servers, wiring.read_properties(settings.command_config)
            ) as cluster:
                yield read_only(cluster) if self.read_only else cluster
        finally:
            slots.release()

    def snapshot_of(self, cluster: Cluster, name: str) -> Snapshot:
        """A cluster that is connected as it is now, with the rates that are known."""
        now = datetime.now(UTC).replace(microsecond=0)
        return self.loads[name].on(take_snapshot(cluster, taken_at=now))

    @contextmanager
    def connect(self, name: str) -> Generator[Cluster]:
        """A connection that no other request waits for: for work that takes long."""
        settings = self.of(name)
        properties = wiring.read_properties(settings.command_config)
        with wiring.open_cluster(settings.bootstrap_servers, properties) as cluster:
            yield cluster

    @contextmanager
    def runs_of(
        self, cluster: Cluster, name: str, on_note: Callable[[str], None] = lambda _text: None
    ) -> Generator[RunStore]:
        """The runs of a cluster that is connected."""
        settings = self.of(name)
        properties = wiring.read_properties(settings.command_config)
        place = wiring.RunsPlace(settings.bootstrap_servers, properties, settings.state)
        with wiring.open_runs(cluster, place, take_over=False, on_note=on_note) as runs:
            yield runs

    @contextmanager
    def open_runs(
        self, name: str, on_note: Callable[[str], None] = lambda _text: None
    ) -> Generator[tuple[Cluster, RunStore]]:
        """A cluster and its runs; a connection that no other request waits for."""
        with self.connect(name) as cluster, self.runs_of(cluster, name, on_note) as runs:
            acting = runs.guarded(cluster)
            yield read_only(acting) if self.read_only else acting, runs
