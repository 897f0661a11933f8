"""Rates of a cluster's partitions from Prometheus: read every few minutes, put on each snapshot."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kedge.errors import InvalidRequest, KedgeError
from kedge.model import Snapshot

if TYPE_CHECKING:
    from kedge.cluster.port import Cluster
    from kedge.web.settings import LoadSettings

FORGOTTEN_AFTER = 6  # reads that failed one after the other: rates of long ago are not those of now
log = logging.getLogger("kedge.web")
OpenCluster = Callable[[], AbstractContextManager["Cluster"]]


@dataclass(frozen=True, slots=True)
class KnownLoads:
    """What was read last: rates on the snapshot of that time, and by which rules."""

    at: float
    loaded: Snapshot
    partitions: int
    minutes: int
    rules: Mapping[str, int] = field(default_factory=dict[str, int])
    cpu_fit: float | None = None


class ClusterLoads:
    """The loads of one cluster: a thread that reads them, and what it has read."""

    def __init__(
        self,
        name: str,
        settings: LoadSettings | None,
        open_cluster: OpenCluster,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._name, self._settings, self._open, self._now = name, settings, open_cluster, now
        self._known: KnownLoads | None = None
        self._problem: str | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read, where the settings name a server."""
        if self._settings is not None:
            self._thread = threading.Thread(target=self._run, name=f"loads {self._name}")
            self._thread.daemon = True  # a download that hangs does not hold the server
            self._thread.start()

    def stop(self) -> None:
        """End the thread after what it is reading."""
        self._stopping.set()

    def _run(self) -> None:
        assert self._settings is not None
        while not self._stopping.is_set():
            self.read()
            self._stopping.wait(self._settings.every_s)

    def read(self) -> None:
        """Read the rates once; a fault is kept for those who ask, and what was known stays."""
        assert self._settings is not None
        try:
            self._known, self._problem = self._read(self._settings), None
        except KedgeError as fault:
            self._problem = fault.what
            log.warning("the loads of %s were not read: %s", self._name, fault.what)
        except Exception:
            self._problem = "Reading the loads failed; see the log of the server"
            log.exception("reading the loads of %s failed", self._name)

    def _read(self, settings: LoadSettings) -> KnownLoads:
        from kedge.cluster.snapshot_taker import take_snapshot
        from kedge.pipeline.live_loads import metadata_of, snapshot_with_loads
        from kedge.pipeline.sources.mapping_files import read_series_names
        from kedge.pipeline.sources.prometheus_files import PrometheusSource, access_to

        now = self._now()
        with self._open() as cluster:
            described = cluster.describe()
            bare = take_snapshot(cluster, taken_at=datetime.fromtimestamp(now, UTC))
        metadata = metadata_of(described.cluster_id, described.brokers)
        names = read_series_names(settings.mapping)
        source = PrometheusSource(
            access_to(settings.prometheus, settings.auth, settings.ca), settings.match
        )
        with source.downloaded(names, now - settings.range_s, now) as files:
            found = snapshot_with_loads(bare, metadata, files, names, settings.statistic)
        for text in found.warnings:
            log.warning("Prometheus warns of the loads of %s: %s", self._name, text)
        if found.unmeasured:
            log.warning("no metrics of the brokers %s of %s", [*found.unmeasured], self._name)
        return KnownLoads(
            now, found.snapshot, found.partitions, found.minutes, found.rules, found.cpu_fit
        )

    # ---- what others need -----------------------------------------------------------------------

    def on(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot with the rates that are known, if they are of now."""
        from kedge.pipeline.load_snapshots import loads_on

        known = self._current()
        if known is None:
            return snapshot
        try:
            loaded, _ = loads_on(snapshot, known.loaded)
        except InvalidRequest:  # none of its partitions is known yet
            return snapshot
        return replace(loaded, cpu_model=snapshot.cpu_model or known.loaded.cpu_model)

    def _current(self) -> KnownLoads | None:
        known, settings = self._known, self._settings
        if known is None or settings is None:
            return None
        old_s = self._now() - known.at
        return known if old_s <= settings.range_s + FORGOTTEN_AFTER * settings.every_s else None

    def row(self) -> dict[str, Any]:
        """Where rates come from, how many partitions have them, and what went wrong last."""
        known, settings = self._current(), self._settings
        return {
            "source": None if settings is None else "prometheus",
            "known": known is not None,
            "as_of": None if known is None else known.at,
            "statistic": None if settings is None else settings.statistic,
            "partitions": 0 if known is None else known.partitions,
            "minutes": 0 if known is None else known.minutes,
            "rules": {} if known is None else dict(known.rules),
            "cpu_explained": None if known is None else known.cpu_fit,
            "problem": self._problem,
        }
