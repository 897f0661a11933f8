"""Reads Parquet from outside; refused before a page is unpacked if it needs too much memory.

Text is read in dictionary form, so that a long text that is repeated in every row is in memory
once.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from kedge.errors import MalformedInput
from kedge.files.parquet_size import ParquetSize, parquet_size
from kedge.model.arrow import arrow


@dataclass(frozen=True, slots=True)
class TableLimits:
    """What a table may unpack to."""

    rows: int = 10_000_000
    values: int = 40_000_000  # of one column: a list has several values in a row
    decoded_bytes: int = 1 << 30


DEFAULT_LIMITS = TableLimits()


def parquet() -> Any:
    """Arrow's reader and writer of Parquet, imported when it is first wanted."""
    import pyarrow.parquet

    return pyarrow.parquet


def read_parquet(
    data: bytes,
    *,
    columns: Collection[str] | None = None,
    limits: TableLimits = DEFAULT_LIMITS,
) -> Any:
    """The table that the bytes of a Parquet file hold, or those of its columns that are named."""
    size = parquet_size(data, columns)
    _check_size(size, limits)
    with _translated():
        file = parquet().ParquetFile(BytesIO(data), read_dictionary=size.texts)
        names: list[str] = file.schema_arrow.names
        return file.read(columns=[name for name in names if columns is None or name in columns])


def read_table(path: Path, **options: Any) -> Any:
    """A table that Kedge has written, a file or a directory of parts."""
    try:
        with _translated():
            return parquet().read_table(path, **options)
    except MalformedInput as fault:
        raise MalformedInput(fault.what, place=str(path), hint=fault.hint) from fault


@contextmanager
def _translated() -> Generator[None]:
    """Faults of Arrow as refusals.

    It raises OSError for damaged pages, and KeyError for a column that a footer names in one place
    and not in the other.
    """
    try:
        yield
    except (OSError, arrow().ArrowException, UnicodeDecodeError, KeyError) as error:
        what = f"does not read as Parquet ({' '.join(str(error).split())[:200]})"
        raise MalformedInput(what, hint="it may be damaged or half written") from error


def _check_size(size: ParquetSize, limits: TableLimits) -> None:
    if size.rows > limits.rows:
        raise MalformedInput(f"{size.rows} rows, more than {limits.rows}")
    for path, column in size.columns.items():
        if column.values > limits.values:
            name = path.partition(".")[0]
            what = f"column {name} has {column.values} values, more than {limits.values}"
            raise MalformedInput(what)
    if size.decoded_bytes > limits.decoded_bytes:
        what = f"{size.decoded_bytes} bytes unpacked, more than {limits.decoded_bytes}"
        raise MalformedInput(what)
