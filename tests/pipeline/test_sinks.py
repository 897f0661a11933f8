"""Files of tables: appending columns, counting rows, and what a footer tells of a file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from kedge.errors import MalformedInput, SparkUnavailable
from kedge.pipeline import schemas
from kedge.pipeline.manifest import Day
from kedge.pipeline.sinks import (
    append_columns,
    count_by_day,
    count_by_value,
    translate_spark_errors,
)
from kedge.pipeline.tables.data_files import earliest, latest, written_files
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.staged_run import StagedRun, read_files

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
COLUMNS = {"ts": "timestamp", "reason": "string"}


def write(path: Path, **columns: list[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def staged_at(root: Path) -> StagedRun:
    return StagedRun(Location.of(root), "run-1", None)


def test_appending_keeps_the_rows_of_all_files_and_adds_the_run(tmp_path: Path) -> None:
    staged = staged_at(tmp_path)
    source = Path(staged.scratch("rejected").uri)
    write(source / "a.parquet", reason=["x"], seq=[1], ts=[NOON])
    write(source / "b.parquet", reason=["y", "x"], seq=[2, 3], ts=[NOON, NOON])
    day = {"arrival_dt": "2026-01-05"}
    files = append_columns(
        *(staged, "late", Location.of(source), COLUMNS), partition=day, schema=schemas.LATE
    )
    rows = read_files(staged.location, "late", files)
    assert rows.column_names == ["ts", "reason", "run_id"]
    assert rows.column("reason").to_pylist() == ["x", "y", "x"]
    assert set(rows.column("run_id").to_pylist()) == {"run-1"}
    assert rows.schema.field("ts").type == pa.timestamp("us", tz="UTC")
    assert [one.partition for one in files] == [day]
    assert count_by_value(staged.location, "late", files, "reason") == {"x": 2, "y": 1}


def test_appending_no_files_gives_a_table_without_rows(tmp_path: Path) -> None:
    staged = staged_at(tmp_path)
    append_columns(
        *(staged, "late", Location.of(tmp_path / "missing"), COLUMNS),
        partition={"arrival_dt": None},
        schema=schemas.LATE,
    )
    assert staged.files("late") == []
    assert staged.has("late")


def test_days_count_their_rows_and_copies(tmp_path: Path) -> None:
    write(tmp_path / "silver" / "r" / "dt=2026-01-05" / "a.parquet", copies=[1, 3])
    write(tmp_path / "silver" / "r" / "dt=2026-01-05" / "b.parquet", copies=[2])
    write(tmp_path / "silver" / "r" / "dt=2026-01-06" / "a.parquet", copies=[1])
    files = written_files(Location.of(tmp_path), "silver", "r", ("dt",))
    assert count_by_day(Location.of(tmp_path), "silver", files) == {
        "2026-01-05": Day(3, 6),
        "2026-01-06": Day(1, 1),
    }


def test_a_time_range_needs_statistics_of_every_file(tmp_path: Path) -> None:
    at, later = Location.of(tmp_path), NOON.replace(hour=13)
    write(tmp_path / "bronze" / "r" / "a.parquet", ts=[later, NOON], topic=["b", "a"])
    files = written_files(at, "bronze", "r", ())
    assert (earliest(files, "ts"), latest(files, "ts")) == (NOON, later)
    stats = orjson.loads(files[0].stats)
    assert (stats["numRecords"], stats["minValues"]["topic"]) == (2, "a")
    bare = tmp_path / "bronze" / "r" / "b.parquet"
    pq.write_table(pa.table({"ts": [NOON]}), bare, write_statistics=False)
    assert latest(written_files(at, "bronze", "r", ()), "ts") is None
    assert latest([], "ts") is None


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
