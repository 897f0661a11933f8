"""Streams a topic of samples into the tables: the job of `kedge pipeline stream`.

Each micro-batch is a run like one of `ingest`: the same transforms, and one commit. The row of the
run has the number of the batch, so a batch that Spark repeats after a crash is recognised and
skipped: each row is merged exactly once.

| killed                          | state                             | after the restart |
|---------------------------------|-----------------------------------|-------------------|
| before or during the merge      | the run before, files unseen      | batch is run      |
| after the run was committed     | the batch is in the tables        | batch is skipped  |
| after Spark committed the batch | the batch is in the tables        | next batch is run |
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kedge.errors import (
    InvalidRequest,
    KedgeError,
    OutputInUse,
    SparkUnavailable,
    UnknownTopicOrPartition,
)
from kedge.pipeline.derived_files import write_derived_files
from kedge.pipeline.jobs.context import SessionFactory
from kedge.pipeline.manifest import Accounts, Settings
from kedge.pipeline.reference import Reference, read_reference, write_reference
from kedge.pipeline.sources.checkpoint import (
    Checkpoint,
    TopicIdentity,
    check_checkpoint,
    check_tables_match,
    open_checkpoint,
)
from kedge.pipeline.warehouse import Place, Warehouse, check_warehouse, open_warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kedge.pipeline.sources.kafka_reader import KafkaSource

POLL_S = 1
ATTEMPTS_MAX = 3  # to merge a batch while other runs change the tables


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The topic, the reference tables, and the directories of tables and checkpoint.

    With `once`, the stream ends after the rows that are in the topic now; otherwise it runs until
    it is stopped, with one batch at most every `interval_s` seconds.
    """

    source: KafkaSource
    identity: TopicIdentity
    brokers: str | Path
    assignment: str | Path
    tables: Place
    checkpoint: Place
    once: bool = True
    interval_s: int = 60
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """A batch that is in the tables; `skipped` if an earlier run had merged it."""

    number: int
    rows: int
    accounts: Accounts
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class StreamResult:
    """Batches and rows of this run, and the row counts of all runs."""

    batches: int
    rows: int
    accounts: Accounts


class OnBatch(Protocol):
    """Receives each batch after it is in the tables."""

    def __call__(self, batch: BatchResult, /) -> None: ...


def ignore_batch(batch: BatchResult) -> None:
    """Do nothing."""


def stream(
    request: StreamRequest,
    session: SessionFactory,
    *,
    on_batch: OnBatch = ignore_batch,
    stopped: Callable[[], bool] = lambda: False,
) -> StreamResult:
    """Run the stream to the end of the topic (`once`) or until `stopped` returns True.

    All input is validated before anything is written.
    """
    check_warehouse(request.tables)
    if not request.once and request.interval_s < 0:
        raise InvalidRequest(f"batch interval of {request.interval_s} s", hint="use 0 or more")
    check_checkpoint(request.checkpoint, request.identity, request.tables)
    reference = read_reference(request.brokers, request.assignment)
    with open_warehouse(request.tables, f"stream-{request.identity.topic_id or 'x'}") as warehouse:
        if warehouse.last is not None:
            request.settings.check_unchanged(warehouse.manifest.settings)
        checkpoint = open_checkpoint(request.checkpoint, request.identity, request.tables)
        check_tables_match(checkpoint, warehouse.manifest.streams)
        sink = _BatchSink(request, warehouse, checkpoint, reference, on_batch)
        write_derived_files(warehouse)
        with session() as spark:
            _run(request, spark, sink, stopped)
        return StreamResult(sink.batches, sink.rows, warehouse.manifest.accounts)


class _BatchSink:
    """Merges batches into the tables, one at a time; keeps the first error."""

    def __init__(
        self,
        request: StreamRequest,
        warehouse: Warehouse,
        checkpoint: Checkpoint,
        reference: Reference,
        on_batch: OnBatch,
    ) -> None:
        self.request = request
        self.warehouse = warehouse
        self.checkpoint = checkpoint
        self.reference = reference
        self.on_batch = on_batch
        self.batches = self.rows = 0
        self.error: KedgeError | None = None
        self.closed = False
        self._busy = threading.Lock()

    def merge(self, rows: DataFrame, number: int) -> None:
        """The function that Spark calls for each batch."""
        with self._busy:
            if self.closed:
                raise InvalidRequest("the stream is being stopped")
            try:
                self.on_batch(self._merged(rows, number))
            except KedgeError as error:
                self.error = self.error or error
                raise

    def close(self) -> None:
        """Refuse further batches; return when the running one is in the tables."""
        with self._busy:
            self.closed = True

    def _merged(self, rows: DataFrame, number: int) -> BatchResult:
        """Merge a batch; once more if another run was faster."""
        for _ in range(ATTEMPTS_MAX - 1):
            try:
                return self._merge_batch(rows, number)
            except OutputInUse:
                self.warehouse.refresh()
        return self._merge_batch(rows, number)

    def _merge_batch(self, rows: DataFrame, number: int) -> BatchResult:
        from kedge.pipeline.jobs.bronze import write_parsed_rows
        from kedge.pipeline.jobs.gold import refresh_gold
        from kedge.pipeline.jobs.merge import Batch, merge
        from kedge.pipeline.sources.kafka_reader import PROVENANCE

        before, name = self.warehouse.manifest, self.checkpoint.stream
        if number <= before.streams.get(name, -1):
            return BatchResult(number, 0, before.accounts, skipped=True)
        run_id = f"{name.partition('#')[2]}-{number:06d}"
        count = self.checkpoint.planned_rows(number)
        manifest = replace(before, run_id=run_id, settings=self.request.settings)
        session = rows.sparkSession
        with self.warehouse.stage(run_id) as staged:
            write_reference(self.reference, staged)
            batch = Batch(write_parsed_rows(rows, PROVENANCE), PROVENANCE, count, run_id)
            after, days = merge(session, staged, batch, manifest=manifest)
            after = replace(after, streams={**before.streams, name: number})
            refresh_gold(lambda: session, staged, manifest=after, changed=days)
            self.warehouse.publish(staged, after, "stream")
        write_derived_files(self.warehouse)
        new_rows = after.rows_read - before.rows_read
        self.batches, self.rows = self.batches + 1, self.rows + new_rows
        return BatchResult(number, new_rows, after.accounts)


def _run(
    request: StreamRequest, spark: SparkSession, sink: _BatchSink, stopped: Callable[[], bool]
) -> None:
    from kedge.pipeline.sources.kafka_reader import kafka_stream

    rows = kafka_stream(spark, request.source)
    writer = rows.writeStream.foreachBatch(sink.merge).queryName(f"kedge-{request.identity.topic}")
    writer = writer.option("checkpointLocation", sink.checkpoint.spark.uri)
    if request.once:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{request.interval_s} seconds")
    with _translate_errors(sink, request.identity):
        query = writer.start()
        try:
            _wait(query, stopped)
        finally:
            sink.close()
            query.stop()


def _wait(query: StreamingQuery, stopped: Callable[[], bool]) -> None:
    while not query.awaitTermination(POLL_S):
        if stopped():
            return


@contextlib.contextmanager
def _translate_errors(sink: _BatchSink, identity: TopicIdentity) -> Generator[None]:
    """Raise the first error of the sink, or the Kedge error for Spark's exception."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if sink.error is not None:
            raise sink.error from error
        raise _stream_error(str(error), identity.topic) from error


TOPIC_DELETED = (
    "UnknownTopicOrPartition",
    "does not exist",
    "are gone",
    "Topic authorization failed",
)
OFFSETS_DELETED = (
    "was changed from",
    "some data may have been missed",
    "KAFKA_DATA_LOSS",
    "OffsetOutOf",
)


def _stream_error(text: str, topic: str) -> KedgeError:
    if any(part in text for part in OFFSETS_DELETED):
        hint = "rows were deleted before they were read; start with a new --checkpoint"
        return InvalidRequest(f"topic {topic} no longer has the next offsets", hint=hint)
    if any(part in text for part in TOPIC_DELETED):
        hint = "the tables keep all rows that were read before"
        return UnknownTopicOrPartition(f"topic {topic} does not exist any more", hint=hint)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "Exception" in line or line.startswith("[")]
    return SparkUnavailable(f"the stream failed: {(named or lines or ['no reason'])[0][:300]}")
