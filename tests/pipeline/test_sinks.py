"""Files of tables: merging columns, counting rows, and time ranges from Parquet footers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from kedge.errors import MalformedInput, SparkUnavailable
from kedge.pipeline.manifest import Day
from kedge.pipeline.sinks import (
    count_by_day,
    count_by_value,
    count_rows,
    merge_columns,
    time_range,
    translate_spark_errors,
)

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
COLUMNS = {"ts": "timestamp", "reason": "string"}


def write(path: Path, **columns: list[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_merging_keeps_the_rows_of_all_files_and_the_columns_in_their_order(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.parquet", reason=["x"], seq=[1], ts=[NOON])
    write(tmp_path / "in" / "b.parquet", reason=["y", "x"], seq=[2, 3], ts=[NOON, NOON])
    merge_columns(tmp_path / "in", tmp_path / "out", COLUMNS)
    (file,) = (tmp_path / "out").iterdir()
    merged = pq.ParquetFile(file).read()
    assert merged.column_names == ["ts", "reason"]
    assert merged.column("reason").to_pylist() == ["x", "y", "x"]
    assert merged.schema.field("ts").type == pa.timestamp("us", tz="UTC")
    assert count_by_value(tmp_path / "out", "reason") == {"x": 2, "y": 1}


def test_merging_no_files_gives_an_empty_table_with_its_columns(tmp_path: Path) -> None:
    merge_columns(tmp_path / "missing", tmp_path / "out", COLUMNS)
    assert count_rows(tmp_path / "out") == 0
    (file,) = (tmp_path / "out").iterdir()
    assert pq.ParquetFile(file).schema_arrow.names == ["ts", "reason"]


def test_days_count_their_rows_and_copies(tmp_path: Path) -> None:
    write(tmp_path / "dt=2026-01-05" / "a.parquet", copies=[1, 3])
    write(tmp_path / "dt=2026-01-05" / "b.parquet", copies=[2])
    write(tmp_path / "dt=2026-01-06" / "a.parquet", copies=[1])
    assert count_by_day(tmp_path) == {"2026-01-05": Day(3, 6), "2026-01-06": Day(1, 1)}


def test_a_time_range_needs_statistics_of_every_file(tmp_path: Path) -> None:
    assert time_range(tmp_path, "ts") is None
    later = NOON.replace(hour=13)
    write(tmp_path / "a.parquet", ts=[later, NOON])
    assert time_range(tmp_path, "ts") == (NOON.replace(tzinfo=None), later.replace(tzinfo=None))
    pq.write_table(pa.table({"ts": [NOON]}), tmp_path / "b.parquet", write_statistics=False)
    assert time_range(tmp_path, "ts") is None


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("x\n[FAILED_READ_FILE.NO_HINT] a file. SQLSTATE: KD001", MalformedInput, "a file"),
        ("first line\nsecond line", SparkUnavailable, "the Spark job failed: first line"),
    ],
)
def test_an_error_of_spark_is_one_sentence(text: str, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence), translate_spark_errors():
        raise PySparkException(text)
