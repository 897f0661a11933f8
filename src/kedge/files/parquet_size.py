"""Computes what a Parquet file would unpack to, from its footer and page headers alone.

A column of one repeated value packs to almost nothing: a megabyte may hold a thousand million
rows. Arrow's own view of a footer cannot be used for this, since it aborts the process on some
damaged ones; and a footer may lie about its pages. So both are read here, without unpacking
anything: rows, values of each column, and bytes of the unpacked pages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.errors import MalformedInput
from kedge.files.thrift import Fields, ThriftReader, Unreadable

MAGIC = b"PAR1"
FOOTER_BYTES_MAX = 1 << 20
PAGE_HEADER_BYTES_MAX = 1 << 20  # of all pages together
WIDTHS = {0: 1, 1: 4, 4: 4}  # bytes of a truth value, an int32, a float; other types take 8
BYTE_ARRAY = 6
DELTA_BYTE_ARRAY = 7  # each text as a change of the one before: its size is in no header


@dataclass(frozen=True, slots=True)
class ColumnSize:
    """What the chunks of one column come to."""

    values: int = 0
    page_bytes: int = 0
    width: int = 8
    is_text: bool = False

    @property
    def decoded_bytes(self) -> int:
        """The bytes in memory, where a repeated text is there once."""
        return self.page_bytes + self.values * self.width


@dataclass(frozen=True, slots=True)
class ParquetSize:
    """What a file would unpack to, by the columns that are wanted; paths are as `a.list.item`."""

    rows: int
    columns: dict[str, ColumnSize]

    @property
    def decoded_bytes(self) -> int:
        """The bytes in memory of all those columns."""
        return sum(column.decoded_bytes for column in self.columns.values())

    @property
    def texts(self) -> list[str]:
        """The paths of columns of text."""
        return [path for path, column in self.columns.items() if column.is_text]


def parquet_size(data: bytes, wanted: Collection[str] | None = None) -> ParquetSize:
    """The size of a file's columns, or of the ones wanted; MalformedInput if it is damaged."""
    try:
        footer = _footer(data)
        columns: dict[str, ColumnSize] = {}
        budget = _Budget()
        for chunk in _chunks(footer):
            path = ".".join(part.decode() for part in chunk[3])
            if wanted is None or path.partition(".")[0] in wanted:
                pages = list(_pages(data, chunk, budget))
                columns[path] = _with_chunk(columns.get(path, ColumnSize()), chunk, pages, path)
        return ParquetSize(int(footer[3]), columns)
    except (Unreadable, KeyError, TypeError, AttributeError, ValueError) as fault:
        what = f"does not read as Parquet ({fault or type(fault).__name__})"
        raise MalformedInput(what, hint="it may be damaged or half written") from fault


def _footer(data: bytes) -> Fields:
    """FileMetaData of parquet.thrift: 3 is the number of rows, 4 are the row groups."""
    if len(data) < 12 or not data.startswith(MAGIC) or not data.endswith(MAGIC):
        raise Unreadable("it does not begin and end as Parquet does")
    length = int.from_bytes(data[-8:-4], "little")
    if length > min(FOOTER_BYTES_MAX, len(data) - 12):
        raise Unreadable(f"a footer of {length} bytes")
    return ThriftReader(data[-8 - length : -8]).structure()


def _chunks(footer: Fields) -> Iterator[Fields]:
    """ColumnMetaData of every column chunk: RowGroup.1 are chunks, ColumnChunk.3 is this."""
    for group in footer[4]:
        for chunk in group[1]:
            yield chunk[3]


def _with_chunk(
    so_far: ColumnSize, chunk: Fields, pages: Sequence[Fields], path: str
) -> ColumnSize:
    """ColumnMetaData: 1 is the type, 5 the number of values, 6 the unpacked bytes."""
    kind, values = int(chunk[1]), int(chunk[5])
    if kind == BYTE_ARRAY and any(_encoding(page) == DELTA_BYTE_ARRAY for page in pages):
        name = path.partition(".")[0]
        hint = "write it in the plain or the dictionary encoding"
        raise MalformedInput(f"column {name} is encoded as DELTA_BYTE_ARRAY", hint=hint)
    unpacked = max(int(chunk[6]), sum(int(page[2]) for page in pages))
    if values < 0 or unpacked < 0:
        raise Unreadable("a negative size")
    return ColumnSize(
        so_far.values + values,
        so_far.page_bytes + unpacked,
        WIDTHS.get(kind, 8),
        kind == BYTE_ARRAY,
    )


class _Budget:
    """How many bytes of page headers may still be read."""

    def __init__(self) -> None:
        self.left = PAGE_HEADER_BYTES_MAX


def _pages(data: bytes, chunk: Fields, budget: _Budget) -> Iterator[Fields]:
    """The headers of a chunk's pages: 2 and 3 are the unpacked and the packed size.

    ColumnMetaData: 9 and 11 are where data and dictionary begin. As Arrow does, pages are taken
    until there are as many values as the footer says.
    """
    left = int(chunk[5])
    at = min(int(chunk[number]) for number in (9, 11) if number in chunk)
    while left > 0:
        if not 0 <= at < len(data):
            raise Unreadable("a page beyond the end")
        reader = ThriftReader(data, at, at + budget.left)
        page = reader.structure()
        budget.left -= reader.at - at
        packed = int(page[3])
        if packed < 0 or int(page[2]) < 0:
            raise Unreadable("a page of a negative size")
        yield page
        left -= _data_values(page)
        at = reader.at + packed


def _data_values(page: Fields) -> int:
    """Values of a data page: DataPageHeader is 5, DataPageHeaderV2 is 8; others have none."""
    header: Any = page.get(5) or page.get(8)
    return max(int(header[1]), 0) if header else 0


def _encoding(page: Fields) -> int | None:
    if header := page.get(5):
        return int(header[2])
    return int(header[4]) if (header := page.get(8)) else None
