"""Rows in, rows out: a function carried to every worker, by Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kedge.errors import SparkUnavailable
from kedge.model.arrow import Table, arrow
from kedge.pipeline.sinks import spark_faults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Work = Callable[[Row], Iterable[Row]]
Columns = Mapping[str, str]  # the name of each column, and its type in Spark's words

MAP = "map<string,double>"
MOST_TASKS = (
    128  # enough for the cores of a large cluster; a task costs some hundredths of a second
)
OUR_FAULT = re.compile(r"kedge\.errors\.\w+: (.+)")


def spread(
    spark: SparkSession, rows: list[Row], work: Work, *, takes: Columns, gives: Columns
) -> Table:
    """What `work` makes of each row, wherever it runs; the first column tells the order."""

    def batches(incoming: Iterator[Any]) -> Iterator[Any]:
        schema = arrow_schema(gives)
        for batch in incoming:
            for row in batch.to_pylist():
                yield arrow().RecordBatch.from_pylist(list(work(row)), schema=schema)

    asked = arrow().Table.from_pylist(rows, schema=arrow_schema(takes))
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in gives.items())
    with _our_faults(), spark_faults():
        frame: Any = spark.createDataFrame(asked).repartition(min(len(rows), MOST_TASKS))
        answered: Any = frame.mapInArrow(batches, ddl).toArrow()
    order = [(name, "ascending") for name in gives if gives[name] != MAP]
    return answered.cast(arrow_schema(gives)).sort_by(order[:1])


def arrow_schema(columns: Columns) -> Any:
    """The same columns in Arrow's words."""
    pa = arrow()
    kinds = {
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        MAP: pa.map_(pa.string(), pa.float64()),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in columns.items()])


def rows_of(table: Table) -> list[Row]:
    """The rows of an answer, its maps as dictionaries."""
    maps = [field.name for field in table.schema if str(field.type).startswith("map")]
    rows: list[Row] = table.to_pylist()
    return [row | {name: dict(row[name] or ()) for name in maps} for row in rows]


@contextmanager
def _our_faults() -> Generator[None]:
    """What a worker refused, in its own words rather than in those of its traceback."""
    try:
        yield
    except SparkUnavailable as error:
        told = OUR_FAULT.findall(str(error.__cause__))
        if not told:
            raise
        raise SparkUnavailable(f"a worker failed: {told[-1]}") from error


__all__ = ["MAP", "Columns", "Row", "arrow_schema", "rows_of", "spread"]
