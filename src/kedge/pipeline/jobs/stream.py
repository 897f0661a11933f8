"""A topic of samples into the tables, batch by batch: what `kedge pipeline stream` runs.

Each batch is what a run of `ingest` is: the same transforms, a new version of the tables that is
published as a whole. With it the manifest learns the number of the batch, in the same step, so a
batch that comes again after a crash is known and passed over: exactly once, whenever the process
dies.

| killed                              | what is there                 | after the restart       |
|-------------------------------------|-------------------------------|-------------------------|
| before or while the batch is merged | the version before, leavings  | swept, the batch is run |
| after it was published              | the batch, in the tables      | passed over             |
| after Spark noted that it is done   | the batch                     | the next one is run     |
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kedge.errors import InvalidRequest, KedgeError, SparkUnavailable, UnknownTopicOrPartition
from kedge.pipeline.jobs.ingest import OpenSession
from kedge.pipeline.manifest import Accounts, Settings
from kedge.pipeline.reference import Reference, read_reference, write_reference
from kedge.pipeline.sources.checkpoint import (
    Checkpoint,
    TopicIdentity,
    check_checkpoint,
    check_tables,
    claimed,
)
from kedge.pipeline.warehouse import Warehouse, check_ours, owned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kedge.pipeline.sources.kafka import KafkaSource

LOOK_EVERY_S = 1


@dataclass(frozen=True, slots=True)
class StreamOrder:
    """What to read, and where the tables and the checkpoint are.

    With `once`, what the topic holds now and no more; otherwise on and on, a batch at most every
    `interval_s` seconds.
    """

    source: KafkaSource
    identity: TopicIdentity
    brokers: Path
    assignment: Path
    output: Path
    checkpoint: Path
    once: bool = True
    interval_s: int = 60
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class StreamedBatch:
    """A batch that has reached the tables; `again` if it had before and was passed over."""

    number: int
    rows: int
    accounts: Accounts
    again: bool = False


@dataclass(frozen=True, slots=True)
class Streamed:
    """What a run of a stream has done, and the accounts of all runs."""

    batches: int
    rows: int
    accounts: Accounts


class Told(Protocol):
    """Is told of each batch."""

    def __call__(self, batch: StreamedBatch, /) -> None: ...


def nobody(batch: StreamedBatch) -> None:
    """Tells nobody."""


def stream(
    order: StreamOrder,
    session: OpenSession,
    *,
    told: Told = nobody,
    stopped: Callable[[], bool] = lambda: False,
) -> Streamed:
    """Run the stream until the topic is read up (`once`) or `stopped` says so.

    Everything is checked before anything is written.
    """
    check_ours(order.output)
    if not order.once and order.interval_s < 0:
        raise InvalidRequest(f"a batch every {order.interval_s} s", hint="ask for 0 or more")
    check_checkpoint(order.checkpoint, order.identity, order.output)
    reference = read_reference(order.brokers, order.assignment)
    with owned(order.output, f"stream-{order.identity.topic_id or 'x'}") as warehouse:
        if warehouse.current is not None:
            order.settings.check_same(warehouse.manifest.settings)
        checkpoint = claimed(order.checkpoint, order.identity, order.output)
        check_tables(checkpoint, warehouse.manifest.streams)
        sink = _Sink(order, warehouse, checkpoint, reference, told)
        with session() as spark:
            _run(order, spark, sink, stopped)
        return Streamed(sink.batches, sink.rows, warehouse.manifest.accounts)


class _Sink:
    """Carries batches into the tables, one at a time; keeps the first fault."""

    def __init__(
        self,
        order: StreamOrder,
        warehouse: Warehouse,
        checkpoint: Checkpoint,
        reference: Reference,
        told: Told,
    ) -> None:
        self.order = order
        self.warehouse = warehouse
        self.checkpoint = checkpoint
        self.reference = reference
        self.told = told
        self.batches = self.rows = 0
        self.fault: KedgeError | None = None
        self.closed = False
        self._busy = threading.Lock()

    def take(self, rows: DataFrame, number: int) -> None:
        """What Spark calls for each batch."""
        with self._busy:
            if self.closed:
                raise InvalidRequest("the stream is being stopped")
            try:
                self.told(self._into_tables(rows, number))
            except KedgeError as error:
                self.fault = self.fault or error
                raise

    def close(self) -> None:
        """Take no more batches; returns when the one under way is in the tables."""
        with self._busy:
            self.closed = True

    def _into_tables(self, rows: DataFrame, number: int) -> StreamedBatch:
        from kedge.pipeline.jobs.bronze import keep_rows
        from kedge.pipeline.jobs.gold import refresh_gold
        from kedge.pipeline.jobs.merge import Batch, merge
        from kedge.pipeline.sources.kafka import PROVENANCE

        before, name = self.warehouse.manifest, self.checkpoint.stream
        if number <= before.streams.get(name, -1):
            return StreamedBatch(number, 0, before.accounts, again=True)
        run_id = f"{name.partition('#')[2]}-{number:06d}"
        count = self.checkpoint.rows_planned(number)
        settled = replace(before, run_id=run_id, settings=self.order.settings)
        session = rows.sparkSession
        with self.warehouse.change() as staged:
            write_reference(self.reference, staged.path("reference"))
            batch = Batch(keep_rows(rows, PROVENANCE), PROVENANCE, count, run_id)
            after, days = merge(session, staged, batch, manifest=settled)
            after = replace(after, streams={**before.streams, name: number})
            refresh_gold(session, staged, manifest=after, changed=days)
            self.warehouse.publish(staged, after)
        fresh = after.rows_read - before.rows_read
        self.batches, self.rows = self.batches + 1, self.rows + fresh
        return StreamedBatch(number, fresh, after.accounts)


def _run(order: StreamOrder, spark: SparkSession, sink: _Sink, stopped: Callable[[], bool]) -> None:
    from kedge.pipeline.sources.kafka import kafka_stream

    rows = kafka_stream(spark, order.source)
    writer = rows.writeStream.foreachBatch(sink.take).queryName(f"kedge-{order.identity.topic}")
    writer = writer.option("checkpointLocation", str(sink.checkpoint.spark.resolve()))
    if order.once:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{order.interval_s} seconds")
    with _faults(sink, order.identity):
        query = writer.start()
        try:
            _wait(query, stopped)
        finally:
            sink.close()
            query.stop()


def _wait(query: StreamingQuery, stopped: Callable[[], bool]) -> None:
    while not query.awaitTermination(LOOK_EVERY_S):
        if stopped():
            return


@contextlib.contextmanager
def _faults(sink: _Sink, identity: TopicIdentity) -> Generator[None]:
    """Why a stream ended, in one sentence: our own reason, or what Spark says of the topic."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if sink.fault is not None:
            raise sink.fault from error
        raise _said(str(error), identity.topic) from error


GONE = ("UnknownTopicOrPartition", "does not exist", "are gone", "Topic authorization failed")
MISSED = ("was changed from", "some data may have been missed", "KAFKA_DATA_LOSS", "OffsetOutOf")


def _said(text: str, topic: str) -> KedgeError:
    if any(sign in text for sign in MISSED):
        hint = "rows were deleted before they were read; a new --checkpoint starts afresh"
        return InvalidRequest(f"topic {topic} no longer has the offsets to go on from", hint=hint)
    if any(sign in text for sign in GONE):
        return UnknownTopicOrPartition(f"topic {topic} is gone", hint="nothing read before is lost")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "Exception" in line or line.startswith("[")]
    return SparkUnavailable(f"the stream failed: {(named or lines or ['no reason'])[0][:300]}")
