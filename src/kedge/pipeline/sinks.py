"""Writes DataFrames as files of staged tables, and counts rows in the files that were written."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from kedge.errors import MalformedInput, SparkUnavailable
from kedge.files import parquet
from kedge.model.arrow import arrow, compute
from kedge.pipeline.manifest import Day
from kedge.pipeline.tables.data_files import DataFile
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.staged_run import DAY, StagedRun, partition_columns
from kedge.pipeline.tables.store_errors import store_error, without_secrets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Columns = Mapping[str, str]  # column names and their Spark types
MAP = "map<string,double>"


def write(frame: DataFrame, path: str, *, by: Sequence[str] = (), files: int = 0) -> None:
    """Write a DataFrame to a directory that only this run writes to.

    `by` partitions the table by these columns; `files` is the maximum number of files.
    """
    from kedge.pipeline.schemas import HIGH_CARDINALITY

    placed = frame.coalesce(files) if files else frame
    encoding = {f"parquet.enable.dictionary#{name}": "false" for name in HIGH_CARDINALITY}
    writer = placed.write.mode("overwrite").options(**encoding)
    with translate_spark_errors(path):
        (writer.partitionBy(*by) if by else writer).parquet(path)


def replace_table(staged: StagedRun, table: str, frame: DataFrame, *, files: int = 1) -> None:
    """Replace a table by the rows of a frame, in at most so many files (0: one per task)."""
    directory = staged.new_directory()
    write(frame, staged.target(table, directory), files=files)
    staged.replace(table, staged.written(table, directory), frame.schema.json())


def replace_days(
    staged: StagedRun, table: str, frame: DataFrame, days: Collection[str]
) -> list[DataFile]:
    """Replace these days of a table by the rows of a frame with the column `dt`."""
    directory = staged.new_directory()
    write(frame, staged.target(table, directory), by=(DAY,))
    files = staged.written(table, directory)
    staged.replace(table, files, frame.schema.json(), days)
    return files


def table_schema(table: str, columns: StructType) -> str:
    """The columns of a table as JSON for Delta, with those that it is partitioned by."""
    from pyspark.sql.types import StringType, StructField, StructType

    days = [StructField(name, StringType()) for name in partition_columns(table)]
    return StructType([*columns.fields, *days]).json()


def read(
    session: SparkSession, staged: StagedRun, table: str, schema: StructType, *, days: Any = None
) -> DataFrame:
    """A staged table, or some of its days, as a DataFrame."""
    paths = staged.paths(table, days)
    if not paths:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(*paths)


def stored_schema(staged: StagedRun, table: str) -> StructType:
    """The columns of a staged table that its files have."""
    from pyspark.sql.types import StructType

    found = StructType.fromJson(orjson.loads(staged.schema(table)))
    return StructType([one for one in found.fields if one.name not in partition_columns(table)])


@contextmanager
def translate_spark_errors(place: str = "") -> Generator[None]:
    """Raise Spark's exceptions as Kedge errors of one sentence; `place` is what it writes to."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        line = _error_line(str(error))
        found = store_error(place, str(error)) if place else None
        if found is not None:
            raise found from error
        if "FAILED_READ_FILE" in line or "CANNOT_READ_FILE" in line:
            hint = "the file is damaged: remove it and run again"
            raise MalformedInput(line, hint=hint) from error
        raise SparkUnavailable(f"the Spark job failed: {line}") from error


def _error_line(text: str) -> str:
    """The line of a Java stack trace that names the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith("[") or ("[" in line and "SQLSTATE" in line)]
    return without_secrets((named or lines or ["no reason given"])[0])[:400]


def append_columns(
    staged: StagedRun,
    table: str,
    source: Location,
    columns: Columns,
    *,
    partition: Mapping[str, Any],
    schema: StructType,
) -> list[DataFile]:
    """Append some columns of all files in a scratch directory to a table, in one file.

    The column `run_id` is added; without rows no file is written.
    """
    kinds = arrow_schema(columns)
    parts = [part.select([*columns]).cast(kinds) for part in _parts(source, columns)]
    rows = arrow().concat_tables(parts) if parts else kinds.empty_table()
    return append_rows(staged, table, rows, partition=partition, schema=schema)


def append_rows(
    staged: StagedRun, table: str, rows: Any, *, partition: Mapping[str, Any], schema: StructType
) -> list[DataFile]:
    """Append rows to a table in one file, with the column `run_id`; without rows none."""
    files: list[DataFile] = []
    if len(rows):
        directory = staged.new_directory()
        run = arrow().repeat(arrow().scalar(staged.run_id), len(rows))
        with staged.location.open_output(f"{table}/{directory}/part-0.parquet") as stream:
            parquet().write_table(rows.append_column("run_id", run), stream, compression="zstd")
        files = with_partition(staged.written(table, directory), partition)
    staged.append(table, files, table_schema(table, schema))
    return files


def with_partition(files: Sequence[DataFile], partition: Mapping[str, Any]) -> list[DataFile]:
    """The files as those of one partition, which their rows do not have as a column."""
    return [replace(one, partition=dict(partition)) for one in files]


def _parts(source: Location, columns: Columns) -> Generator[Any]:
    for info in sorted(source.list(""), key=lambda info: info.path):
        if info.is_file and info.base_name.endswith(".parquet"):
            file = parquet().ParquetFile(info.path, filesystem=source.files)
            yield file.read(columns=[*columns])


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


def count_by_day(location: Location, table: str, files: Sequence[DataFile]) -> dict[str, Day]:
    """Rows and copies of each day of silver."""
    days: dict[str, Day] = {}
    for one in files:
        file = parquet().ParquetFile(f"{table}/{one.path}", filesystem=location.files)
        copies: Any = file.read(columns=["copies"]).column("copies")
        day, total = one.partition[DAY] or "", compute().sum(copies).as_py() or 0
        days[day] = days.get(day, Day()) + Day(len(copies), total)
    return days


def count_by_value(
    location: Location, table: str, files: Sequence[DataFile], column: str
) -> dict[str, int]:
    """The number of rows per value of a column."""
    counts: dict[str, int] = {}
    for one in files:
        file = parquet().ParquetFile(f"{table}/{one.path}", filesystem=location.files)
        values: Any = file.read(columns=[column]).column(column)
        for entry in compute().value_counts(values).to_pylist():
            counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
    return counts
