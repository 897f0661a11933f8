"""Writes DataFrames as Parquet tables, and counts rows in the files that were written."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.errors import MalformedInput, SparkUnavailable
from kedge.files import parquet
from kedge.model.arrow import arrow, compute
from kedge.pipeline.manifest import Day

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Columns = Mapping[str, str]  # column names and their Spark types
MAP = "map<string,double>"


def write(frame: DataFrame, path: Path, *, by: Sequence[str] = (), files: int = 0) -> None:
    """Write a DataFrame to a directory that only this run writes to.

    `by` partitions the table by these columns; `files` is the maximum number of files.
    """
    from kedge.pipeline.schemas import HIGH_CARDINALITY

    placed = frame.coalesce(files) if files else frame
    encoding = {f"parquet.enable.dictionary#{name}": "false" for name in HIGH_CARDINALITY}
    writer = placed.write.mode("overwrite").options(**encoding)
    with translate_spark_errors():
        (writer.partitionBy(*by) if by else writer).parquet(str(path))


def move_partitions(source: Path, target: Path) -> None:
    """Move the partitions (`dt=…`) of one table into another, and remove the first."""
    target.mkdir(parents=True, exist_ok=True)
    for part in sorted(source.iterdir()) if source.exists() else ():
        if part.is_dir():
            part.rename(target / part.name)
    shutil.rmtree(source, ignore_errors=True)


@contextmanager
def translate_spark_errors() -> Generator[None]:
    """Raise Spark's exceptions as Kedge errors of one sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        line = _error_line(str(error))
        if "FAILED_READ_FILE" in line or "CANNOT_READ_FILE" in line:
            hint = "the file is damaged: remove it and run again"
            raise MalformedInput(line, hint=hint) from error
        raise SparkUnavailable(f"the Spark job failed: {line}") from error


def _error_line(text: str) -> str:
    """The line of a Java stack trace that names the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith("[") or ("[" in line and "SQLSTATE" in line)]
    return (named or lines or ["no reason given"])[0][:400]


def merge_columns(source: Path, target: Path, columns: Columns) -> None:
    """Write some columns of all files in a directory to one file in another directory.

    Without files to read, the target is an empty table.
    """
    schema = arrow_schema(columns)
    target.mkdir(parents=True)
    path = target / "part-00000.parquet"
    with parquet().ParquetWriter(path, schema, compression="zstd") as writer:
        for file in parquet_files(source):
            for batch in parquet().ParquetFile(file).iter_batches(columns=[*columns]):
                writer.write_table(
                    arrow().Table.from_batches([batch]).select([*columns]).cast(schema)
                )


def arrow_schema(columns: Columns) -> Any:
    """The columns as an Arrow schema."""
    pa = arrow()
    types = {
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        MAP: pa.map_(pa.string(), pa.float64()),
    }
    return pa.schema([(name, types[type_]) for name, type_ in columns.items()])


def parquet_files(path: Path) -> list[Path]:
    """The files of a table, sorted; empty if the table does not exist."""
    return sorted(path.rglob("*.parquet")) if path.exists() else []


def count_rows(path: Path) -> int:
    """The number of rows of a table, from the Parquet footers."""
    return sum(int(parquet().read_metadata(file).num_rows) for file in parquet_files(path))


def count_by_day(silver: Path) -> dict[str, Day]:
    """Rows and copies of each day of silver."""
    days: dict[str, Day] = {}
    for file in parquet_files(silver):
        day = file.parent.name.removeprefix("dt=")
        copies: Any = parquet().ParquetFile(file).read(columns=["copies"]).column("copies")
        total: int = compute().sum(copies).as_py() or 0
        days[day] = days.get(day, Day()) + Day(len(copies), total)
    return days


def count_by_value(path: Path, column: str) -> dict[str, int]:
    """The number of rows per value of a column."""
    counts: dict[str, int] = {}
    for file in parquet_files(path):
        values: Any = parquet().ParquetFile(file).read(columns=[column]).column(column)
        for entry in compute().value_counts(values).to_pylist():
            counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
    return counts


def time_range(path: Path, column: str) -> tuple[datetime, datetime] | None:
    """Minimum and maximum of a timestamp column (UTC), from the Parquet footers.

    None if there are no rows, or a footer has no statistics.
    """
    ends: list[datetime] = []
    for file in parquet_files(path):
        metadata: Any = parquet().read_metadata(file)
        for group in range(metadata.num_row_groups):
            found = _statistics(metadata.row_group(group), column)
            if found is None or not found.has_min_max:
                return None
            ends += [found.min.replace(tzinfo=None), found.max.replace(tzinfo=None)]
    return (min(ends), max(ends)) if ends else None


def _statistics(group: Any, column: str) -> Any:
    columns = (group.column(i) for i in range(group.num_columns))
    return next((one.statistics for one in columns if one.path_in_schema == column), None)
