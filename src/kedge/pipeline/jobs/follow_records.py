"""Ingests a topic of records, once or on and on: of Cruise Control, or scrapes and snapshots."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from kedge.metrics.parsing.cluster_metadata import ClusterMetadata, LeaderHistory
from kedge.pipeline.jobs.context import SizedSessionFactory
from kedge.pipeline.jobs.ingest import IngestResult
from kedge.pipeline.jobs.ingest_metrics import MetricsRequest, ingest_metrics
from kedge.pipeline.manifest import Manifest, Settings
from kedge.pipeline.sources.record_spool import MAX_RECORDS, RecordTopic, spool_records
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import last_run
from kedge.pipeline.warehouse import Place, check_warehouse


def follow_records(
    source: RecordTopic,
    described: tuple[ClusterMetadata, LeaderHistory],
    tables: Place,
    settings: Settings,
    session: SizedSessionFactory,
    *,
    wait: Callable[[], bool],
    max_records: int = MAX_RECORDS,
) -> IngestResult | None:
    """Ingest the records that are there, and again after each `wait` until it returns True.

    A batch has at most `max_records`; the next one follows at once while there are more. Returns
    the last batch, or None without new records.
    """
    check_warehouse(tables)
    done: IngestResult | None = None
    while True:
        with tempfile.TemporaryDirectory(prefix="kedge-records-") as directory:
            known = _manifest(tables).streams
            spooled = spool_records(source, known, Path(directory), max_records=max_records)
            if spooled.records:
                request = MetricsRequest(
                    Path(directory),
                    source.origin,
                    described[0],
                    tables,
                    described[1],
                    settings=settings,
                    positions=spooled,
                )
                done = ingest_metrics(request, session)
        if spooled.records < max_records and wait():
            return done


def _manifest(tables: Place) -> Manifest:
    run, _ = last_run(Location.of(tables))
    return Manifest() if run is None else run.manifest
