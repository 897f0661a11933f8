"""Writing tables, and counting what was written by looking at the files themselves."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.errors import MalformedInput, SparkUnavailable
from kedge.files import parquet
from kedge.model.arrow import compute
from kedge.pipeline.manifest import Day

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write(frame: DataFrame, path: Path, *, by: Sequence[str] = (), files: int = 0) -> None:
    """Write a frame to a directory that only this run writes to.

    With `by`, one directory for each value; with `files`, in at most so many files.
    """
    from kedge.pipeline.schemas import VARIED

    placed = frame.coalesce(files) if files else frame
    plain = {f"parquet.enable.dictionary#{name}": "false" for name in VARIED}
    writer = placed.write.mode("overwrite").options(**plain)
    with spark_faults():
        (writer.partitionBy(*by) if by else writer).parquet(str(path))


def move_parts(source: Path, target: Path) -> None:
    """Put the parts of a table (`dt=…`) in their place; the source is gone afterwards."""
    target.mkdir(parents=True, exist_ok=True)
    for part in sorted(source.iterdir()) if source.exists() else ():
        if part.is_dir():
            part.rename(target / part.name)
    shutil.rmtree(source, ignore_errors=True)


@contextmanager
def spark_faults() -> Generator[None]:
    """What Spark raises becomes one sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        said = _told(str(error))
        if "FAILED_READ_FILE" in said or "CANNOT_READ_FILE" in said:
            hint = "the file is damaged: remove it and run again"
            raise MalformedInput(said, hint=hint) from error
        raise SparkUnavailable(f"the Spark job failed: {said}") from error


def _told(text: str) -> str:
    """The line of Java's trace that names the fault."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith("[") or ("[" in line and "SQLSTATE" in line)]
    return (named or lines or ["no reason given"])[0][:400]


def parquet_files(path: Path) -> list[Path]:
    """The files of a table, in order; none if it is not there."""
    return sorted(path.rglob("*.parquet")) if path.exists() else []


def rows_in(path: Path) -> int:
    """How many rows the files of a table have."""
    return sum(int(parquet().read_metadata(file).num_rows) for file in parquet_files(path))


def days_in(silver: Path) -> dict[str, Day]:
    """The rows of each day of silver, by its directory."""
    days: dict[str, Day] = {}
    for file in parquet_files(silver):
        day = file.parent.name.removeprefix("dt=")
        copies: Any = parquet().ParquetFile(file).read(columns=["copies"]).column("copies")
        total: int = compute().sum(copies).as_py() or 0
        days[day] = days.get(day, Day()) + Day(len(copies), total)
    return days


def counts_by(path: Path, column: str) -> dict[str, int]:
    """How often each value of a column is there."""
    counts: dict[str, int] = {}
    for file in parquet_files(path):
        values: Any = parquet().ParquetFile(file).read(columns=[column]).column(column)
        for entry in compute().value_counts(values).to_pylist():
            counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
    return counts


def range_of(path: Path, column: str) -> tuple[datetime, datetime] | None:
    """The least and the greatest time in a column (UTC), as the footers tell.

    None where there are no rows, or a footer does not say.
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
