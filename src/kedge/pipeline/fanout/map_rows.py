"""Applies a Python function to rows on Spark workers, with Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kedge.errors import SparkUnavailable
from kedge.model.arrow import Table, arrow
from kedge.pipeline.sinks import MAP, Columns, arrow_schema, translate_spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
RowFunction = Callable[[Row], Iterable[Row]]

MAX_TASKS = 128  # enough for the cores of a large cluster; a task costs some hundredths of a second
WORKER_ERROR = re.compile(r"kedge\.errors\.\w+: (.+)")


def map_rows(
    spark: SparkSession,
    rows: list[Row],
    work: RowFunction,
    *,
    input_columns: Columns,
    output_columns: Columns,
) -> Table:
    """Apply `work` to each row; the result is sorted by its first column."""

    def batches(incoming: Iterator[Any]) -> Iterator[Any]:
        schema = arrow_schema(output_columns)
        for batch in incoming:
            for row in batch.to_pylist():
                yield arrow().RecordBatch.from_pylist(list(work(row)), schema=schema)

    incoming_rows = arrow().Table.from_pylist(rows, schema=arrow_schema(input_columns))
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in output_columns.items())
    with _unwrap_worker_errors(), translate_spark_errors():
        frame: Any = spark.createDataFrame(incoming_rows).repartition(min(len(rows), MAX_TASKS))
        result: Any = frame.mapInArrow(batches, ddl).toArrow()
    order = [(name, "ascending") for name in output_columns if output_columns[name] != MAP]
    return result.cast(arrow_schema(output_columns)).sort_by(order[:1])


def rows_of_table(table: Table) -> list[Row]:
    """The rows of a table, with maps as dictionaries."""
    maps = [field.name for field in table.schema if str(field.type).startswith("map")]
    rows: list[Row] = table.to_pylist()
    return [row | {name: dict(row[name] or ()) for name in maps} for row in rows]


@contextmanager
def _unwrap_worker_errors() -> Generator[None]:
    """Raise the error of a worker with its own message instead of the traceback."""
    try:
        yield
    except SparkUnavailable as error:
        messages = WORKER_ERROR.findall(str(error.__cause__))
        if not messages:
            raise
        raise SparkUnavailable(f"a worker failed: {messages[-1]}") from error
