"""Gives rows the columns and types of silver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedge.model.arrow import Table, arrow
from kedge.pipeline.in_process.newest_rows import COPIES
from kedge.pipeline.schemas import SILVER
from kedge.pipeline.sinks import arrow_schema


def silver_schema() -> Any:
    """The columns of silver as an Arrow schema."""
    return arrow_schema({field.name: field.dataType.simpleString() for field in SILVER.fields})


def as_silver(rows: Table) -> Table:
    """The rows with the columns and types of silver: a new row stands for itself."""
    return arrow().table({field.name: _column(rows, field) for field in silver_schema()})


def combined(parts: Sequence[Table]) -> Table:
    """The rows of all parts in one chunk; columns that a part lacks are null."""
    every = arrow().concat_tables(parts, promote_options="default")
    return every.unify_dictionaries().combine_chunks()


def _column(rows: Table, field: Any) -> Any:
    pa = arrow()
    if field.name in rows.column_names:
        column = rows.column(field.name).cast(field.type)
    else:
        column = pa.nulls(len(rows), field.type)
    return column.fill_null(1) if field.name == COPIES else column
