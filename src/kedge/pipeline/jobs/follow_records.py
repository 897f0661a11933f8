"""Ingests a topic of records, once or on and on: of Cruise Control, or scrapes and snapshots.

Leaders, brokers and topics change while a stream goes on, so the cluster is described again for
each batch, after its records were copied: a topic that they name exists by then.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kedge.errors import InvalidRequest, Unavailable
from kedge.metrics.parsing.cluster_metadata import ClusterMetadata, LeaderHistory
from kedge.metrics.parsing.series_names import ExporterNames, SeriesNames
from kedge.pipeline.jobs.context import SizedSessionFactory
from kedge.pipeline.jobs.ingest import IngestResult
from kedge.pipeline.jobs.ingest_metrics import MetricsRequest, ingest_metrics
from kedge.pipeline.manifest import Manifest, Settings
from kedge.pipeline.sources.record_spool import MAX_RECORDS, RecordSource
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import last_run
from kedge.pipeline.warehouse import Place, check_warehouse

Description = tuple[ClusterMetadata, LeaderHistory]


@dataclass(frozen=True, slots=True)
class RecordStream:
    """A topic of records, how its cluster is described, and the tables that they go to."""

    source: RecordSource
    describe: Callable[[], Description]
    tables: Place
    settings: Settings = field(default_factory=Settings)
    names: SeriesNames = field(default_factory=ExporterNames)
    max_records: int = MAX_RECORDS  # of a batch

    def copied(self, directory: Path) -> MetricsRequest | None:
        """The records of the next batch as files, and the cluster now; None without records."""
        known = _manifest(self.tables).streams
        spooled = self.source.spool(known, directory, max_records=self.max_records)
        if not spooled.records:
            return None
        metadata, leaders = self.describe()
        if metadata.cluster != self.source.cluster:
            what = (
                f"the records are of {self.source.cluster}, the cluster is now {metadata.cluster}"
            )
            raise InvalidRequest(what, hint="ingest each cluster with a command of its own")
        return MetricsRequest(
            directory,
            self.source.origin,
            metadata,
            self.tables,
            leaders,
            names=self.names,
            settings=self.settings,
            positions=spooled,
        )


def follow_records(
    stream: RecordStream,
    session: SizedSessionFactory,
    *,
    wait: Callable[[], bool],
    missed: Callable[[Unavailable], None] = lambda error: None,
) -> IngestResult | None:
    """Ingest the records that are there, and again after each `wait` until it returns True.

    The next batch follows at once while there are more records. A batch whose cluster cannot be
    reached is `missed`: its records stay in the topic, and are tried again after the wait. Returns
    the last batch, or None without new records.
    """
    check_warehouse(stream.tables)
    done: IngestResult | None = None
    while True:
        with tempfile.TemporaryDirectory(prefix="kedge-records-") as directory:
            try:
                request = stream.copied(Path(directory))
            except Unavailable as error:
                if wait():  # no batch follows that could try again
                    raise
                missed(error)
                continue
            if request is not None:
                done = ingest_metrics(request, session)
        if not _is_full(request, stream.max_records) and wait():
            return done


def _is_full(request: MetricsRequest | None, max_records: int) -> bool:
    spooled = None if request is None else request.positions
    return spooled is not None and spooled.records >= max_records


def _manifest(tables: Place) -> Manifest:
    run, _ = last_run(Location.of(tables))
    return Manifest() if run is None else run.manifest
