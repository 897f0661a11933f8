"""Reads the runs of clusters for pages and programs; those who ask at once share a read."""

from __future__ import annotations

import time
from typing import Any

from kedge.apply.run_status import moved_partitions, run_status
from kedge.report.runs import run_row, status_row
from kedge.web.clusters.registry import ClusterRegistry
from kedge.web.run_meters import RunMeters
from kedge.web.shared_reads import SharedReads

Row = dict[str, Any]
THREADS = 2  # that reads of the runs of one cluster may hold: of all of them, and of one


class RunsReader:
    """The runs of each cluster, as they are when they are asked for."""

    def __init__(self, registry: ClusterRegistry) -> None:
        self._registry = registry
        self._lists = {name: SharedReads[list[Row]]() for name in registry.names}
        self._statuses = {name: SharedReads[Row]() for name in registry.names}
        self._meters = {name: RunMeters() for name in registry.names}

    async def all(self, cluster: str) -> list[Row]:
        """Every run, newest first."""
        self._registry.of(cluster)
        return await self._lists[cluster].read(None, lambda: self._rows(cluster))

    def _rows(self, cluster: str) -> list[Row]:
        with self._registry.open_runs(cluster, brief=True) as (opened, runs):
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

    async def status(self, cluster: str, run_id: str | None) -> Row:
        """How far one run is, with its flows; the latest, if none is named."""
        self._registry.of(cluster)
        return await self._statuses[cluster].read(run_id, lambda: self._status(cluster, run_id))

    def _status(self, cluster: str, run_id: str | None) -> Row:
        with self._registry.open_runs(cluster, brief=True) as (opened, runs):
            status = run_status(opened, runs, runs.chosen(run_id))
        meter, now = self._meters[cluster].of(status.name), time.time()
        return status_row(status, now) | {"progress": meter.row(status, now)}
