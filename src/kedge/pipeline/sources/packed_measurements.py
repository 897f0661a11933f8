"""Reads measurements of topics for attribution: all that one group needs, packed in few rows.

Attribution needs all measurements of a topic around one day in one process. A row for each value in
Spark's shuffle costs more than all the rest. So workers read the files of the table, and return for
each file one row for each day and bucket of topics, which has the values of its topics as one
binary: an Arrow stream, compressed.

| topic           | bucket                       |
|-----------------|------------------------------|
| `orders`        | 3: a hash of the name        |
| `shop.clicks.v1`| 3: attributed one by one     |
| `audit`         | 7                            |

The number of buckets follows from the number of values, so that a group has some hundred thousand
of them: with one group for each topic, thousands of small topics would be a million tiny parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import numpy as np

from kedge.files import parquet
from kedge.metrics.replica_samples import OVERLAP_MS
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.sources.packed_tables import packed_table, unpacked_tables
from kedge.pipeline.tables.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EPOCH: Final = date(1970, 1, 1)
DAY_MS: Final = 86_400_000
COLUMNS: Final = (
    *("cluster", "ts_ms", "series", "value", "broker", "topic", "partition", "group"),
    *("replica", "origin"),
)
TEXTS: Final = ("cluster", "series", "topic", "group", "replica", "origin")
PACKED_DDL: Final = "chunk int, bucket int, packed binary"
ROWS_PER_BUCKET: Final = 300_000  # values of one day
ROWS_PER_TASK: Final = 2_000_000
ROWS_PER_READ: Final = 500_000
BUCKETS_MAX: Final = 1024
DICTIONARY_MAX: Final = 64  # texts that are sent with each part, needed or not


def packed_measurements(
    session: SparkSession, paths: Sequence[str], cluster: str, *, days: Collection[str], rows: int
) -> DataFrame:
    """The measurements of a cluster around these days; the files have about so many rows."""
    chunks = sorted(map(day_number, days))
    buckets = min(max(rows // max(len(chunks), 1) // ROWS_PER_BUCKET, 1), BUCKETS_MAX)

    def pack(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for path in batch.column("path").to_pylist():
                for table in _tables(path, cluster):
                    yield from _packed(table, chunks, buckets)

    tasks = min(max(rows // ROWS_PER_TASK, 2), max(len(paths), 1))
    frame: Any = session.createDataFrame(arrow().table({"path": list(paths)}))
    return frame.repartition(int(tasks)).mapInArrow(pack, PACKED_DDL)


def day_number(day: str) -> int:
    """Days since 1970."""
    return (date.fromisoformat(day) - EPOCH).days


def unpacked(parts: Any) -> Table:
    """The values of all parts of a group."""
    return arrow().concat_tables(unpacked_tables(parts)).unify_dictionaries()


def _tables(path: str, cluster: str) -> Iterator[Table]:
    """The rows of a cluster in a file, some at a time; texts are encoded as they are stored."""
    directory, _, name = path.rpartition("/")
    location = Location(directory)
    with location.errors(name):
        file = parquet().ParquetFile(name, filesystem=location.files, read_dictionary=list(TEXTS))
        for batch in file.iter_batches(ROWS_PER_READ, columns=list(COLUMNS)):
            table = arrow().Table.from_batches([batch]).select(list(COLUMNS))
            yield table.filter(compute().equal(table.column("cluster"), cluster))


def _packed(table: Table, chunks: Sequence[int], buckets: int) -> Iterator[Any]:
    """One row for each day and bucket that has values in this table."""
    pa, found = arrow(), list[dict[str, Any]]()
    if not table.num_rows:
        return
    bucket, ts = _buckets(table, buckets), np.asarray(table.column("ts_ms"))
    for chunk in chunks:
        low, high = chunk * DAY_MS - OVERLAP_MS, (chunk + 1) * DAY_MS + OVERLAP_MS
        near = np.flatnonzero((ts >= low) & (ts < high))
        order = near[np.argsort(bucket[near], kind="stable")]
        rows, start = table.take(pa.array(order)), 0
        for one, length in enumerate(np.bincount(bucket[near], minlength=buckets).tolist()):
            if length:
                part = packed_table(_encoded_anew(rows.slice(start, length)))
                found.append({"chunk": chunk, "bucket": one, "packed": part})
                start += length
    if found:
        kinds = (("chunk", pa.int32()), ("bucket", pa.int32()), ("packed", pa.binary()))
        yield pa.RecordBatch.from_pylist(found, schema=pa.schema(kinds))


def _buckets(table: Table, buckets: int) -> Any:
    """The bucket of each row: the same for a topic in all files."""
    topics = table.column("topic").combine_chunks()
    names = topics.dictionary.to_pylist()
    of_name = np.array([crc32(name.encode()) % buckets for name in names], np.int64)
    return of_name[np.asarray(topics.indices)]


def _encoded_anew(table: Table) -> Table:
    """The rows with the texts that they need: a file may have the names of thousands of topics."""
    for at, name in enumerate(table.column_names):
        column = table.column(name)
        if name in TEXTS and len(column.chunk(0).dictionary) > DICTIONARY_MAX:
            anew = compute().dictionary_encode(column.cast(arrow().string()))
            table = table.set_column(at, name, anew)
    return table
