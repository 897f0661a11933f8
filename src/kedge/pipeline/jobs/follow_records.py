"""Ingests a topic of records, once or on and on: Cruise Control's metrics in their binary form."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import ClusterMetadata, LeaderHistory
from kedge.pipeline.jobs.context import SizedSessionFactory
from kedge.pipeline.jobs.ingest import IngestResult
from kedge.pipeline.jobs.ingest_metrics import MetricsRequest, ingest_metrics
from kedge.pipeline.manifest import Manifest, Settings, read_manifest
from kedge.pipeline.sources.record_spool import MAX_RECORDS, RecordTopic, spool_records
from kedge.pipeline.warehouse import check_warehouse, current_version


def follow_records(
    source: RecordTopic,
    described: tuple[ClusterMetadata, LeaderHistory],
    tables: Path,
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
                    Origin.CRUISE_CONTROL,
                    described[0],
                    tables,
                    described[1],
                    settings=settings,
                    positions=spooled,
                )
                done = ingest_metrics(request, session)
        if spooled.records < max_records and wait():
            return done


def _manifest(tables: Path) -> Manifest:
    version = current_version(tables)
    return Manifest() if version is None else read_manifest(version)
