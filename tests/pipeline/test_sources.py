"""Files read as raw rows: timestamps of every unit, and paths with special characters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kedge.errors import MalformedInput
from kedge.pipeline.sources.file_reader import read_raw_rows
from kedge.pipeline.sources.sample_files import Format, find_files, new_files

pytestmark = pytest.mark.real

AT_US = 1_767_614_400_123_000
UNITS = [pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in ("UTC", None)]


def one_row(kind: pa.DataType, cluster: str) -> pa.Table:
    """A sample whose times are of that type."""
    times = pa.array([AT_US], pa.timestamp("us", getattr(kind, "tz", None))).cast(kind)
    texts = {"cluster": [cluster], "topic": ["t"]}
    ints = dict.fromkeys(("broker", "partition", "isr", "rf"), pa.array([1], pa.int32()))
    longs = dict.fromkeys(("seq", "size_bytes", "bytes_in", "bytes_out"), pa.array([5]))
    return pa.table(
        {**texts, **ints, **longs, "ts": times, "ingest_ts": times, "is_leader": [True]}
    )


def test_times_of_every_unit_are_the_same_moment(spark: SparkSession, tmp_path: Path) -> None:
    for number, kind in enumerate(UNITS):
        pq.write_table(one_row(kind, str(kind)), tmp_path / f"[{number}] of {{6}}.parquet")
    files = new_files(find_files(tmp_path, Format.PARQUET), Format.PARQUET, ())
    rows: list[Any] = read_raw_rows(spark, files, Format.PARQUET).collect()
    assert sorted(row.cluster for row in rows) == sorted(str(kind) for kind in UNITS)
    assert {row.ts.timestamp() for row in rows} == {AT_US / 1e6}
    assert {row.ingest_ts.timestamp() for row in rows} == {AT_US / 1e6}
    assert len({row.file for row in rows}) == len(UNITS)


def test_times_of_another_zone_are_refused(tmp_path: Path) -> None:
    pq.write_table(one_row(pa.timestamp("us", "Europe/Oslo"), "c"), tmp_path / "a.parquet")
    with pytest.raises(MalformedInput, match="Europe/Oslo"):
        new_files(find_files(tmp_path, Format.PARQUET), Format.PARQUET, ())
