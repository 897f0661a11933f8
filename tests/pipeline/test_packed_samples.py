"""Workers read files of samples, and pack their rows by replica."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kedge.pipeline.in_process.newest_rows import newest_rows
from kedge.pipeline.sources.packed_samples import (
    NewSamples,
    map_buckets,
    new_samples,
    packed_rows,
    partition_labels,
    replica_hashes,
)
from kedge.pipeline.sources.sample_files import Format, find_files, new_files
from kedge.pipeline.transforms import ValidationRules
from tests.pipeline.conftest import Metrics
from tests.pipeline.oracle import check_all


def keys(*rows: tuple[str, int, str, int]) -> pa.Table:
    """Rows with these keys."""
    cluster, broker, topic, partition = zip(*rows, strict=True)
    return pa.table(
        {
            "cluster": pa.array(cluster).dictionary_encode(),
            "broker": pa.array(broker, pa.int32()),
            "topic": pa.array(topic).dictionary_encode(),
            "partition": pa.array(partition, pa.int32()),
        }
    )


def brokers_of(made: Metrics) -> list[tuple[str, int]]:
    """The brokers of generated metrics."""
    listed = pq.read_table(made.directory / "brokers.parquet")
    return [(row["cluster"], row["broker"]) for row in listed.to_pylist()]


def test_equal_replicas_have_equal_hashes_in_all_files_and_others_differ() -> None:
    drawn = [(c, b, t, p) for c in "ab" for b in range(-1, 9) for t in "abc" for p in range(9)]
    hashes = replica_hashes(keys(*drawn))
    assert len(np.unique(hashes)) == len(drawn)
    assert np.array_equal(replica_hashes(keys(*drawn[::-1])), hashes[::-1])


def test_texts_that_are_not_utf_8_are_hashed_by_their_bytes() -> None:
    rows = keys(("c", 1, "t", 0), ("c", 1, "u", 0))
    odd = pa.array([b"\xff", b"\xfe"], pa.binary()).view(pa.string())
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), odd)
    assert len(np.unique(replica_hashes(rows.set_column(2, "topic", texts)))) == 2


@pytest.mark.real
@pytest.mark.parametrize("count", [1, 2, 7, 80])
def test_each_label_is_in_the_partition_of_its_own(count: int, spark: SparkSession) -> None:
    labels = partition_labels(count).tolist()
    frame = spark.createDataFrame([(one,) for one in labels], "label int")
    placed = frame.select(F.pmod(F.hash("label"), F.lit(count)).alias("at")).collect()
    assert [row["at"] for row in placed] == list(range(count))


def test_the_parts_of_a_file_have_all_its_rows_once(
    metrics: Callable[[str, int], Metrics], tmp_path: Path
) -> None:
    made = metrics("XS", 7).directory / "raw_parquet"
    (tmp_path / "input").mkdir()
    table = pq.ParquetFile(sorted(made.rglob("*.parquet"))[0]).read()
    pq.write_table(table, tmp_path / "input" / "1.parquet", row_group_size=len(table) // 5)
    (file,) = new_files(find_files(tmp_path / "input", Format.PARQUET), Format.PARQUET, ())
    brokers = brokers_of(metrics("XS", 7))

    def read(parts: int) -> pa.Table:
        each = [NewSamples(file, part, parts, brokers, ValidationRules()) for part in range(parts)]
        plain = table.schema
        return pa.concat_tables([rows.cast(plain) for one in each for rows in one.tables()])

    assert len(read(1)) > 0
    assert read(3).equals(read(1))
    assert read(9).equals(read(1))


@pytest.mark.real
def test_a_bucket_has_all_rows_of_its_replicas(
    metrics: Callable[[str, int], Metrics], spark: SparkSession
) -> None:
    made = metrics("XS", 7)
    files = new_files(
        find_files(made.directory / "raw_parquet", Format.PARQUET), Format.PARQUET, ()
    )
    sources = new_samples(files, brokers=brokers_of(made), rules=ValidationRules())
    packed = packed_rows(spark, sources, ("ts", "seq", "bytes_in"), buckets=3)

    def newest(rows: pa.Table) -> pa.Table:
        return newest_rows(rows).select(["replica", "bytes_in", "copies"])

    schema = "replica long, bytes_in long, copies long"
    found = map_buckets(packed, newest, schema, buckets=3).toArrow()
    assert len(found) == made.expected["clean_unique"]
    assert sum(found["bytes_in"].to_pylist()) == made.expected["clean_bytes_in"]


@pytest.mark.real
def test_the_generated_answers_are_found_by_workers(
    metrics: Callable[[str, int], Metrics], ingesting: Callable[..., object], tmp_path: Path
) -> None:
    made = metrics("XS", 7)
    request = made.request(Format.PARQUET, tmp_path / "history")
    ingesting(request, rows_for_workers=0)
    check_all(made, tmp_path / "history", Format.PARQUET)
