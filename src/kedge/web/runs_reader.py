"""Reads the runs of clusters for pages and programs; what was just read is not read again."""

from __future__ import annotations

import threading
import time
from typing import Any

from kedge.apply.run_status import moved_partitions, run_status
from kedge.report.runs import run_row, status_row
from kedge.web.clusters.registry import ClusterRegistry
from kedge.web.run_meters import RunMeters
from kedge.web.shared_reads import SharedReads

Row = dict[str, Any]
FRESH_S = 1.5


class RunsReader:
    """The runs of each cluster, as they were a moment ago."""

    def __init__(self, registry: ClusterRegistry) -> None:
        self._registry = registry
        self._locks = {name: threading.Lock() for name in registry.names}
        self._read: dict[str, tuple[float, list[Row]]] = {}
        self._statuses = {name: SharedReads[Row]() for name in registry.names}
        self._meters = {name: RunMeters() for name in registry.names}

    def forget(self, cluster: str) -> None:
        """Read again at the next request: something was changed."""
        self._read.pop(cluster, None)

    def all(self, cluster: str) -> list[Row]:
        """Every run, newest first."""
        self._registry.of(cluster)
        with self._locks[cluster]:  # those who wait for a read get what it read
            known = self._read.get(cluster)
            if known is not None and time.monotonic() - known[0] < FRESH_S:
                return known[1]
            rows = self._rows(cluster)
            self._read[cluster] = (time.monotonic(), rows)
            return rows

    def _rows(self, cluster: str) -> list[Row]:
        with self._registry.open_runs(cluster) as (opened, runs):
            rows = [
                run_row(
                    each.name,
                    runs.record_of(each),
                    runs.state_of(each),
                    moved=moved_partitions(opened, runs, each),
                    partitions=len(each.plan().partitions),
                    now=time.time(),
                )
                for each in runs.all()
            ]
        return rows[::-1]

    def status(self, cluster: str, run_id: str | None) -> Row:
        """How far one run is, with its flows; the latest, if none is named."""
        self._registry.of(cluster)
        return self._statuses[cluster].read(run_id, lambda: self._status(cluster, run_id))

    def _status(self, cluster: str, run_id: str | None) -> Row:
        with self._registry.open_runs(cluster) as (opened, runs):
            status = run_status(opened, runs, runs.chosen(run_id))
        meter, now = self._meters[cluster].of(status.name), time.time()
        return status_row(status, now) | {"progress": meter.row(status, now)}
