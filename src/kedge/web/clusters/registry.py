"""The configured clusters: opened for one request or one job at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from kedge import wiring
from kedge.cluster.snapshot_taker import take_snapshot
from kedge.errors import UnknownResource
from kedge.web.clusters.loads import ClusterLoads
from kedge.web.clusters.places import Places
from kedge.web.clusters.read_only import read_only
from kedge.web.settings import ClusterSettings

if TYPE_CHECKING:
    from kedge.apply import RunStore
    from kedge.cluster.port import Cluster
    from kedge.model import Snapshot

# of reads that a person waits for, where the properties of the cluster have none of their own
BRIEF = {"request.timeout.ms": "8000", "default.api.timeout.ms": "15000"}


class ClusterRegistry:
    """Finds clusters by name and opens connections to them."""

    def __init__(self, clusters: Mapping[str, ClusterSettings], *, read_only: bool = False) -> None:
        self.settings, self.read_only = dict(clusters), read_only
        self.places = {name: Places(name) for name in clusters}
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
    def open(self, name: str, *, brief: bool = False) -> Generator[Cluster]:
        """A connection of its own for the time of a `with` block; so many at once per cluster.

        `brief` is for reads: they give up sooner on a cluster that does not answer.
        """
        self.of(name)
        with self.places[name].working(), self.connect(name, brief=brief) as cluster:
            yield read_only(cluster) if self.read_only else cluster

    def snapshot_of(self, cluster: Cluster, name: str) -> Snapshot:
        """A cluster that is connected as it is now, with the rates that are known."""
        now = datetime.now(UTC).replace(microsecond=0)
        return self.loads[name].on(take_snapshot(cluster, taken_at=now))

    @contextmanager
    def connect(self, name: str, *, brief: bool = False) -> Generator[Cluster]:
        """A connection that no other request waits for: for work on a thread of its own."""
        bootstrap = self.of(name).bootstrap_servers
        with wiring.open_cluster(bootstrap, self._properties(name, brief=brief)) as cluster:
            yield cluster

    def _properties(self, name: str, *, brief: bool) -> dict[str, str]:
        own = wiring.read_properties(self.of(name).command_config)
        return BRIEF | own if brief else own

    @contextmanager
    def runs_of(
        self,
        cluster: Cluster,
        name: str,
        on_note: Callable[[str], None] = lambda _text: None,
        *,
        brief: bool = False,
    ) -> Generator[RunStore]:
        """The runs of a cluster that is connected."""
        settings = self.of(name)
        properties = self._properties(name, brief=brief)
        place = wiring.RunsPlace(settings.bootstrap_servers, properties, settings.state)
        with wiring.open_runs(cluster, place, take_over=False, on_note=on_note) as runs:
            yield runs

    @contextmanager
    def working_on_runs(self, name: str) -> Generator[tuple[Cluster, RunStore]]:
        """A cluster and its runs for a request: so many at once per cluster."""
        self.of(name)
        with self.places[name].working(), self.open_runs(name) as opened:
            yield opened

    @contextmanager
    def open_runs(
        self,
        name: str,
        on_note: Callable[[str], None] = lambda _text: None,
        *,
        brief: bool = False,
    ) -> Generator[tuple[Cluster, RunStore]]:
        """A cluster and its runs; a connection that no other request waits for."""
        with (
            self.connect(name, brief=brief) as cluster,
            self.runs_of(cluster, name, on_note, brief=brief) as runs,
        ):
            acting = runs.guarded(cluster)
            yield read_only(acting) if self.read_only else acting, runs
