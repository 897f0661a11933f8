"""Numbers the keys of tables: equal keys have one number, in the order of the keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kedge.model.arrow import Table, arrow, compute

REPLICA_KEY: Final = ("cluster", "broker", "topic", "partition")
PARTITION_KEY: Final = ("cluster", "topic", "partition")
BROKER_KEY: Final = ("cluster", "broker")
CLUSTER_KEY: Final = ("cluster",)
SPAN_PER_ROW: Final = 4  # numbers so dense are ranked by a table

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """The distinct keys of some tables in order, and the number of each row of each table."""

    keys: Table
    rows: tuple[Numbers, ...]

    @property
    def count(self) -> int:
        """The number of distinct keys."""
        return len(self.keys)


def index_keys(names: Sequence[str], *tables: Table) -> KeyIndex:
    """Number the keys in these columns of the tables; a key is a row of all of them together."""
    pa = arrow()
    columns = {name: _joined([table.column(name) for table in tables]) for name in names}
    codes = np.zeros(sum(len(table) for table in tables), np.int64)
    for column in columns.values():
        ranks = _ranks(column)
        # Compressed after each column, so that the product of two ranks cannot overflow.
        codes = _dense(codes * (int(ranks.max(initial=0)) + 1) + ranks)
    first = _first_rows(codes)
    keys = {name: plain(column.take(pa.array(first))) for name, column in columns.items()}
    ends = np.cumsum([len(table) for table in tables])
    return KeyIndex(pa.table(keys), tuple(np.split(codes, ends[:-1])))


def _dense(codes: Numbers) -> Numbers:
    """The rank of each number among the distinct ones, from 0."""
    if not len(codes):
        return codes
    low, high = int(codes.min()), int(codes.max())
    if high - low > SPAN_PER_ROW * len(codes):
        return np.unique(codes, return_inverse=True)[1].astype(np.int64)
    # A table of all numbers in between takes no sort.
    offsets = codes - low
    present = np.zeros(high - low + 1, bool)
    present[offsets] = True
    return (np.cumsum(present) - 1)[offsets]


def _first_rows(codes: Numbers) -> Numbers:
    """The first row of each code; codes are without gaps."""
    first = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def _joined(columns: Sequence[Any]) -> Any:
    """Columns of several tables as one array; texts are dictionary-encoded."""
    pa, chunks = arrow(), list[Any]()
    for column in columns:
        parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        chunks += [_encoded(part) for part in parts]
    if not chunks:
        return _encoded(pa.array([], columns[0].type))
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()


def _encoded(column: Any) -> Any:
    types = arrow().types
    whole = types.is_integer(column.type) or types.is_dictionary(column.type)
    return column if whole else column.dictionary_encode()


def plain(column: Any) -> Any:
    """A column whose texts are not dictionary-encoded."""
    pa = arrow()
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _ranks(column: Any) -> Numbers:
    """The rank of each value among the distinct values of an array."""
    pa, pc = arrow(), compute()
    if pa.types.is_integer(column.type):
        return _dense(ints(column))
    names = column.dictionary.cast(pa.string())
    order = np.asarray(pc.rank(names, tiebreaker="dense")).astype(np.int64) - 1
    return order[np.asarray(column.indices, np.int64)] if len(order) else np.zeros(0, np.int64)


def ints(column: Any) -> Numbers:
    """An integer, time or boolean column without nulls as an array."""
    pa = arrow()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    return np.asarray(column, np.int64)


def seconds(column: Any) -> Numbers:
    """A column of times as seconds since 1970."""
    return ints(column) // 1_000_000


def on_days(column: Any, days: Collection[str]) -> Any:
    """Which times of a column are on one of these days, in UTC."""
    numbers = np.array(sorted(days), "datetime64[D]").astype(np.int64)
    return arrow().array(np.isin(seconds(column) // 86_400, numbers))


def starts_of(sorted_numbers: Numbers) -> Numbers:
    """The positions where a new value begins in a sorted array."""
    if not len(sorted_numbers):
        return np.zeros(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(np.diff(sorted_numbers)) + 1)).astype(np.int64)
