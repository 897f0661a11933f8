"""Reads the rows of Parquet files as samples, with Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.schemas import SAMPLE
from kedge.pipeline.sinks import arrow_schema
from kedge.pipeline.sources.sample_files import Format, SampleFile, row_batches

# Times between the years 1 and 9999 have one text in Java and in Python, and cannot overflow.
FIRST_US: Final = -62_135_596_800_000_000
LAST_US: Final = 253_402_300_799_999_999
ROWS_PER_BATCH: Final = 500_000


class NeedsSpark(Exception):
    """Rows that only Spark handles: texts that are not UTF-8, or times outside of the calendar."""


def read_samples(file: SampleFile) -> Iterator[Table]:
    """The rows of a file, some at a time, with the columns of a sample, `source` and `file`.

    Texts are dictionary-encoded. A file without rows has one empty table.
    """
    provenance = {"source": str(Format.PARQUET), "file": file.path.uri}
    try:
        for rows in encoded_samples(file) if file.rows else [_sample_schema().empty_table()]:
            rows.validate(full=True)
            for name in ("ts", "ingest_ts"):
                _check_times(rows.column(name))
            yield _with_texts(rows, provenance)
    except arrow().ArrowException as error:
        raise NeedsSpark(str(error)) from error


def _with_texts(rows: Table, texts: Mapping[str, str]) -> Table:
    """The rows with columns that have one text each."""
    pa = arrow()
    for name, text in texts.items():
        zeros = pa.array(np.zeros(len(rows), np.int32))
        rows = rows.append_column(name, pa.DictionaryArray.from_arrays(zeros, [text]))
    return rows


def _check_times(column: Any) -> None:
    limits = compute().min_max(column.cast(arrow().int64()))
    first, last = limits["min"].as_py(), limits["max"].as_py()
    if first is not None and not FIRST_US <= first <= last <= LAST_US:
        raise NeedsSpark("times outside of the calendar")


def encoded_samples(file: SampleFile, *, part: int = 0, parts: int = 1) -> Iterator[Table]:
    """The samples of a part of a file, some at a time; texts, which repeat, are encoded."""
    pa, schema = arrow(), _sample_schema()
    texts = [field.name for field in schema if field.type == pa.string()]
    for batch in row_batches(file, ROWS_PER_BATCH, part=part, parts=parts, encoded=texts):
        columns = {
            field.name: _encoded(batch.column(field.name))
            if field.name in texts
            else _cast(batch.column(field.name), field.type)
            for field in schema
        }
        yield pa.table(columns)


def _sample_schema() -> Any:
    return arrow_schema({field.name: field.dataType.simpleString() for field in SAMPLE.fields})


def _encoded(column: Any) -> Any:
    wanted = arrow().dictionary(arrow().int32(), arrow().string())
    return column if column.type == wanted else column.cast(arrow().string()).dictionary_encode()


def _cast(column: Any, wanted: Any) -> Any:
    """The column with another type; integers that do not fit are null."""
    if column.type == wanted:
        return column
    types = arrow().types
    if types.is_timestamp(column.type):
        return _microseconds(column).cast(wanted)
    if types.is_integer(column.type) and wanted.bit_width < column.type.bit_width:
        limits = np.iinfo(wanted.to_pandas_dtype())
        fits = compute().and_(
            compute().greater_equal(column, int(limits.min)),
            compute().less_equal(column, int(limits.max)),
        )
        column = compute().if_else(fits, column, arrow().scalar(None, column.type))
    return column.cast(wanted)


def _microseconds(column: Any) -> Any:
    """Times as integers; nanoseconds are rounded down."""
    pa, pc = arrow(), compute()
    counts = column.cast(pa.int64())
    if column.type.unit != "ns":
        return counts if column.type.unit == "us" else pc.multiply_checked(counts, 1000)
    below = pc.less(pc.subtract(counts, pc.multiply(pc.divide(counts, 1000), 1000)), 0)
    return pc.subtract(pc.divide(counts, 1000), below.cast(pa.int64()))
