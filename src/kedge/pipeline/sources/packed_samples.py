"""Reads Parquet files of samples in Spark's workers, and packs the valid rows by replica.

To find the newest row of each sample, all rows of a replica must be in one task. A row for each
sample in Spark's shuffle and sort costs more than all the rest. So workers read and validate the
files, and return for each part of a file one row for each bucket of replicas, which has its samples
as one binary: an Arrow stream, compressed.

    files ── packed_rows ──► bucket, packed ── one shuffle ── map_buckets ──► rows of a function

A replica is known by a hash of its key, as `kedge.pipeline.transforms.replica_hash` has it, but
another: texts are hashed once for each distinct text. Each bucket is one task after the shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from kedge.files import parquet
from kedge.model.arrow import Table, arrow
from kedge.pipeline.in_process.newest_rows import newest_rows
from kedge.pipeline.in_process.sample_rows import ROWS_PER_BATCH, encoded_samples
from kedge.pipeline.in_process.silver_rows import as_silver, combined, silver_schema
from kedge.pipeline.in_process.verdicts import are_valid
from kedge.pipeline.models.key_index import ints, plain
from kedge.pipeline.sources.packed_tables import packed_table, unpacked_tables
from kedge.pipeline.sources.sample_files import SampleFile
from kedge.pipeline.tables.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kedge.pipeline.transforms.validate import ValidationRules

Hashes = NDArray[np.uint64]

ROWS_PER_TASK: Final = 2_000_000
PACKED_DDL: Final = "bucket int, rows long, packed binary"


class RowSource(Protocol):
    """Where a task reads valid rows from."""

    def tables(self) -> Iterator[Table]:
        """The rows, some at a time, with the columns of a sample; texts are encoded."""
        ...


@dataclass(frozen=True, slots=True)
class NewSamples:
    """One of the parts of a file of samples, and what its rows are validated with."""

    file: SampleFile
    part: int
    parts: int
    brokers: Sequence[tuple[str, int]]
    rules: ValidationRules

    def tables(self) -> Iterator[Table]:
        """The valid rows."""
        for rows in encoded_samples(self.file, part=self.part, parts=self.parts):
            valid = are_valid(rows, brokers=self.brokers, rules=self.rules)
            yield rows.filter(arrow().array(valid))


@dataclass(frozen=True, slots=True)
class StoredSamples:
    """A file of silver: its rows are valid."""

    path: str

    def tables(self) -> Iterator[Table]:
        """All rows; older files have no columns of attribution."""
        directory, _, name = self.path.rpartition("/")
        location = Location(directory)
        with location.errors(name), location.files.open_input_file(name) as opened:
            texts = [field.name for field in silver_schema() if field.type == arrow().string()]
            file = parquet().ParquetFile(opened, read_dictionary=texts)
            for batch in file.iter_batches(ROWS_PER_BATCH):
                yield arrow().Table.from_batches([batch])


def new_samples(
    files: Sequence[SampleFile], *, brokers: Sequence[tuple[str, int]], rules: ValidationRules
) -> list[RowSource]:
    """The files as sources of rows; large ones in several parts."""
    return [
        NewSamples(file, part, parts, brokers, rules)
        for file in files
        for parts in [-(-file.rows // ROWS_PER_TASK) or 1]
        for part in range(parts)
    ]


def packed_rows(
    session: SparkSession, sources: Sequence[RowSource], columns: Sequence[str], *, buckets: int
) -> DataFrame:
    """These columns of all rows by bucket, and the hash `replica`; `rows` counts them."""
    labels = partition_labels(buckets)
    of_label = dict(zip(partition_labels(len(sources)).tolist(), sources, strict=True))

    def pack(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for label in batch.column("source").to_pylist():
                for rows in of_label[label].tables():
                    yield _packed(rows, columns, labels)

    tasks: Any = session.createDataFrame(
        arrow().table({"source": arrow().array([*of_label], arrow().int32())})
    )
    return tasks.repartition(len(sources), "source").mapInArrow(pack, PACKED_DDL)


def map_buckets(
    packed: DataFrame, function: Callable[[Table], Table], schema: Any, *, buckets: int
) -> DataFrame:
    """The rows that a function makes of all rows of a bucket; `schema` is that of its result."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        parts = [part for batch in batches for part in batch.column("packed")]
        if parts:
            yield from _plain(function(combined(unpacked_tables(parts)))).to_batches()

    spread = packed.select("bucket", "packed").repartition(buckets, "bucket")
    return spread.mapInArrow(work, schema)


def _packed(rows: Table, columns: Sequence[str], labels: NDArray[np.int32]) -> Any:
    """One row for each bucket that has rows."""
    pa = arrow()
    hashes = replica_hashes(rows)
    # Numbers of up to sixteen bits are sorted without comparisons.
    bucket = (hashes % np.uint64(len(labels))).astype(np.min_scalar_type(len(labels)))
    order = np.argsort(bucket, kind="stable")
    present = [name for name in columns if name in rows.column_names]
    sorted_rows = rows.select(present).take(pa.array(order))
    sorted_rows = sorted_rows.append_column("replica", pa.array(hashes.view(np.int64)[order]))
    counts = np.bincount(bucket, minlength=len(labels))
    starts = np.cumsum(counts) - counts
    found = np.flatnonzero(counts)
    parts = [packed_table(sorted_rows.slice(int(starts[one]), int(counts[one]))) for one in found]
    return pa.record_batch(
        {
            "bucket": pa.array(labels[found]),
            "rows": pa.array(counts[found].astype(np.int64)),
            "packed": pa.array(parts, pa.binary()),
        }
    )


def _plain(rows: Table) -> Table:
    return arrow().table({name: plain(rows.column(name)) for name in rows.column_names})


def newest_silver(rows: Table) -> Table:
    """The rows of silver that samples of a batch and of silver make; a new sample is one copy."""
    return as_silver(newest_rows(rows))


# ---- hashes -------------------------------------------------------------------------------------


def replica_hashes(rows: Table) -> Hashes:
    """A hash of the replica of each row; of rows without a complete key any number."""
    hashes = _text_hashes(rows.column("cluster"))
    hashes = _mixed(hashes ^ _mixed(_whole(rows.column("broker"))))
    hashes = _mixed(hashes + _text_hashes(rows.column("topic")))
    return _mixed(hashes ^ _mixed(_whole(rows.column("partition"))))


def _whole(column: Any) -> Hashes:
    return ints(column.fill_null(0)).astype(np.uint64)


def _text_hashes(column: Any) -> Hashes:
    """The hash of each text of an encoded column: of its bytes, which need not be UTF-8."""
    pa = arrow()
    encoded = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    texts = encoded.dictionary.cast(pa.binary()).to_pylist()
    digests = [blake2b(text or b"", digest_size=8).digest() for text in texts]
    hashes = np.frombuffer(b"".join(digests) or bytes(8), np.uint64)
    return hashes[np.asarray(encoded.indices.fill_null(0))]


def _mixed(values: Hashes) -> Hashes:
    """SplitMix64's finalizer: a bijection, so that different numbers never collide here."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


# ---- buckets ------------------------------------------------------------------------------------


def partition_labels(count: int) -> NDArray[np.int32]:
    """A number for each partition, such that Spark's hash partitioning puts it there.

    Spark takes the Murmur3 hash of a column modulo the number of partitions. The numbers from 0
    on would leave a third of the tasks without work, and others with several buckets in memory.
    """
    tried = np.arange(64 * count + 64, dtype=np.int32)
    partition = _spark_hashes(tried).astype(np.int64) % count
    found, first = np.unique(partition, return_index=True)
    assert len(found) == count
    return tried[first]


def _spark_hashes(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Spark's `hash` of integers: Murmur3 of four bytes with the seed 42."""

    def rotated(bits: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
        return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))

    block = rotated(values.view(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    hashes = rotated(np.uint32(42) ^ block, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashes ^= np.uint32(4)
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (hashes ^ (hashes >> np.uint32(16))).view(np.int32)
