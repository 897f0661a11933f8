"""Converts columns from and to Arrow arrays, with type checks on all input.

pyarrow has no types and takes a while to import, so only this module imports it, on first use.
Input may have any Arrow type with the same values (narrow or wide integers, large or
dictionary-encoded strings); an error names any other type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.errors import MalformedInput
from kedge.model.columns import (
    PAD,
    Bools,
    FloatColumn,
    Floats,
    Int64s,
    IntColumn,
    ListColumn,
    Ragged,
    empty_lists,
    offsets_of,
)

Table = Any  # a pyarrow.Table
Column = Any  # a pyarrow.Array


def arrow() -> Any:
    """Return the pyarrow module."""
    import pyarrow

    return pyarrow


def compute() -> Any:
    """Return the module of Arrow's functions on columns."""
    import pyarrow.compute

    return pyarrow.compute


def table_of_objects(objects: list[dict[str, Any]]) -> Table:
    """Return objects as a table with the types that Arrow infers, or raise MalformedInput."""
    pa = arrow()
    try:
        return pa.Table.from_struct_array(pa.array(objects))
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise MalformedInput(f"not a table: {error}") from error


class TableReader:
    """Reads the columns of one table with type checks; `name` is the table's name in errors.

    `rows` are the original row numbers in the file, where the table is a selection.
    """

    def __init__(self, table: Table, name: str, rows: Int64s | None = None) -> None:
        self.table = table
        self.name = name
        self.rows = rows

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def has(self, column: str) -> bool:
        """Return whether the table has a column of that name."""
        return column in self.table.column_names

    def malformed(self, what: str, column: str, row: int | None = None) -> MalformedInput:
        """Return the error that names the table, the row and the column."""
        return MalformedInput(what, place=self.place(column, row))

    def place(self, column: str, row: int | None = None) -> str:
        """Return `partitions.parquet row 17 replicas`; rows are counted from 0."""
        if row is None:
            return f"{self.name} {column}"
        return f"{self.name} row {row if self.rows is None else self.rows[row]} {column}"

    def _column(self, column: str) -> Column:
        count = self.table.column_names.count(column)
        if count != 1:
            raise self.malformed("no such column" if count == 0 else "several such columns", column)
        return self.table.column(column).combine_chunks()

    def nested(self, column: str) -> TableReader:
        """Return a reader of the fields of a column of objects."""
        pa = arrow()
        found = self._column(column) if self.has(column) else pa.nulls(len(self))
        if pa.types.is_null(found.type):
            return TableReader(pa.table({"": found}), f"{self.name} {column}", self.rows)
        self._require_type(pa.types.is_struct(found.type), column, "objects", found.type)
        # `from_struct_array` loses the row count if all objects are empty
        fields = {found.type.field(i).name: part for i, part in enumerate(found.flatten())}
        fields.setdefault("", pa.nulls(len(self)))
        return TableReader(pa.table(fields), f"{self.name} {column}", self.rows)

    # ---- typed columns -------------------------------------------------------------------------

    def ints(self, column: str) -> IntColumn:
        """Read integers; an absent column is unknown in every row."""
        if not self.has(column):
            return IntColumn(np.zeros(len(self), np.int64), np.zeros(len(self), np.bool_))
        found = self._column(column)
        self._require_type(
            arrow().types.is_integer(found.type), column, "whole numbers", found.type
        )
        return IntColumn(self._int64(found, column), _validity(found))

    def required_ints(self, column: str) -> Int64s:
        """Read integers that must all be present."""
        self._column(column)
        found = self.ints(column)
        self._require_no_null(found.known, column)
        return found.values

    def floats(self, column: str) -> FloatColumn:
        """Read numbers; an absent column is unknown in every row."""
        if not self.has(column):
            return FloatColumn(np.full(len(self), np.nan), np.zeros(len(self), np.bool_))
        found, types = self._column(column), arrow().types
        is_number = types.is_floating(found.type) or types.is_integer(found.type)
        self._require_type(is_number, column, "numbers", found.type)
        return FloatColumn(_float64(found), _validity(found))

    def strings(self, column: str) -> tuple[list[str], Int64s]:
        """Return distinct strings and the index of each row's; -1 for null."""
        if not self.has(column):
            return [], np.full(len(self), PAD, np.int64)
        found = self._column(column)
        self._require_type(_is_text(found.type), column, "text", found.type)
        return _dictionary_encoded(found)

    def required_strings(self, column: str) -> tuple[list[str], Int64s]:
        """Return distinct strings and the index of each row's; null is an error."""
        self._column(column)
        names, index = self.strings(column)
        self._require_no_null(index >= 0, column)
        return names, index

    def int_lists(self, column: str) -> ListColumn:
        """Read lists of integers; an absent column is unknown in every row."""
        if not self.has(column):
            return ListColumn(empty_lists(len(self)), np.zeros(len(self), np.bool_))
        offsets, values, known = self._parts(column)
        is_whole = arrow().types.is_integer(values.type)
        self._require_type(
            is_whole or not len(values), column, "lists of whole numbers", values.type
        )
        inner = Ragged(_validity(values).astype(np.int64), offsets)
        self._require_no_null(inner.values.astype(np.bool_), column, inner.rows)
        numbers = self._int64(values, column) if is_whole else np.zeros(0, np.int64)
        return ListColumn(Ragged(numbers, offsets), known)

    def required_int_lists(self, column: str) -> Ragged:
        """Read lists of integers that must all be present."""
        self._column(column)
        found = self.int_lists(column)
        self._require_no_null(found.known, column)
        return found.lists

    def string_lists(self, column: str) -> tuple[ListColumn, list[str]]:
        """Return lists of strings as indexes into the distinct ones; -1 for null."""
        if not self.has(column):
            return ListColumn(empty_lists(len(self)), np.zeros(len(self), np.bool_)), []
        offsets, values, known = self._parts(column)
        is_text = _is_text(values.type) or arrow().types.is_null(values.type)
        self._require_type(is_text, column, "lists of text", values.type)
        names, index = _dictionary_encoded(values)
        return ListColumn(Ragged(index, offsets), known), names

    # ---- checks ---------------------------------------------------------------------------------

    def _require_type(self, holds: bool, column: str, wanted: str, got: Any) -> None:
        if not holds:
            raise self.malformed(f"expected {wanted}, got {got}", column)

    def _require_no_null(self, known: Bools, column: str, rows: Int64s | None = None) -> None:
        if not known.all():
            gap = int(np.argmin(known))
            raise self.malformed("null", column, gap if rows is None else int(rows[gap]))

    def _int64(self, found: Column, column: str) -> Int64s:
        try:
            wide = found.cast(arrow().int64())
        except arrow().ArrowInvalid:  # an unsigned number of 64 bits
            raise self.malformed("a number does not fit in 64 bits", column) from None
        return _to_numpy(wide, 0)

    def _parts(self, column: str) -> tuple[Int64s, Column, Bools]:
        """Split a list column into offsets, the values end to end, and validity."""
        found, types = self._column(column), arrow().types
        kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
        self._require_type(
            any(is_kind(found.type) for is_kind in kinds), column, "lists", found.type
        )
        lengths = _to_numpy(compute().list_value_length(found), 0)
        return offsets_of(lengths), compute().list_flatten(found), _validity(found)


def _is_text(kind: Any) -> bool:
    types = arrow().types
    plain = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(plain) or types.is_large_string(plain))


def _validity(found: Column) -> Bools:
    bitmap = found.buffers()[0]
    if not found.null_count or bitmap is None:
        return np.full(len(found), not found.null_count)  # a column of nulls has no bitmap
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return bits[found.offset : found.offset + len(found)].astype(np.bool_)


def _to_numpy(found: Column, null: float) -> Any:
    """Return a column of numbers with nulls replaced, read from its buffer.

    Arrow's own `to_numpy`, `array` and `scalar` import pandas, which takes longer than the read.
    """
    kind = np.dtype(found.type.to_pandas_dtype())
    if not len(found):
        return np.zeros(0, kind)
    values = np.frombuffer(found.buffers()[1], kind)[found.offset : found.offset + len(found)]
    return values if not found.null_count else np.where(_validity(found), values, kind.type(null))


def _float64(found: Column) -> Floats:
    # `safe=False`: a byte count beyond 2**53 may lose its last digits, as in JSON
    return _to_numpy(found.cast(arrow().float64(), safe=False), np.nan)


def _dictionary_encoded(found: Column) -> tuple[list[str], Int64s]:
    """Return distinct strings in the order of their first row, and each row's index.

    Dictionaries are encoded again: one from outside may have duplicates or unused strings.
    """
    types = arrow().types
    if types.is_null(found.type):
        return [], np.full(len(found), PAD, np.int64)
    if types.is_dictionary(found.type):
        return _reindexed(found)
    encoded = found.dictionary_encode()
    return encoded.dictionary.to_pylist(), _int64s(encoded.indices)


def _reindexed(found: Column) -> tuple[list[str], Int64s]:
    """Encode a dictionary again without a copy of each row's string, which may be long."""
    strings, place = _dictionary_encoded(found.dictionary)
    places = np.append(place, PAD)[_int64s(found.indices)]
    distinct, first = np.unique(places[places != PAD], return_index=True)
    used = distinct[np.argsort(first)]  # in the order of their first row
    rank = np.full(len(strings) + 1, PAD, np.int64)
    rank[used] = np.arange(len(used))
    return [strings[i] for i in used.tolist()], rank[places]


def _int64s(indices: Column) -> Int64s:
    return _to_numpy(indices.cast(arrow().int64()), PAD)


# ---- output -------------------------------------------------------------------------------------


def list_column(lists: Ragged, known: Bools | None = None) -> Column:
    """Return lists of integers as list<int32>."""
    pa = arrow()
    values = pa.array(lists.values.astype(np.int32))
    return list_array(values, lists.offsets, known)


def list_array(values: Column, offsets: Int64s, known: Bools | None) -> Column:
    """Return a list column of values that lie end to end; null where unknown."""
    pa = arrow()
    mask = None if known is None or known.all() else pa.array(~known)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, mask=mask)


def string_column(names: list[str] | tuple[str, ...], index: Any) -> Column:
    """Return strings by their index; null where it is -1."""
    pa = arrow()
    indices = pa.array(np.asarray(index, np.int32), mask=np.asarray(index) < 0)
    return compute().take(pa.array(names, pa.string()), indices)


def nullable_column(values: Any, known: Bools, kind: Any) -> Column:
    """Return numbers; null where unknown."""
    return arrow().array(values, kind, mask=~known)
