"""The bridge to Arrow: columns in and out of its arrays, with every surprise told apart.

pyarrow comes without types and takes a while to import, so it is met here and nowhere else, when
it is first wanted. What comes in may be any Arrow type that holds the same values (narrow or wide
integers, large or dictionary-encoded strings); other types are refused by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.errors import MalformedInput
from kedge.model.columns import PAD, Bools, Floats, Int64s, Ragged, no_lists, offsets_of
from kedge.model.partition_table import Lists, Real, Whole

Table = Any  # a pyarrow.Table
Column = Any  # a pyarrow.Array


def arrow() -> Any:
    """The pyarrow module."""
    import pyarrow

    return pyarrow


def compute() -> Any:
    """Arrow's functions on whole columns."""
    import pyarrow.compute

    return pyarrow.compute


def table_of_objects(objects: list[dict[str, Any]]) -> Table:
    """Objects as a table of whatever types Arrow infers; MalformedInput if it finds none."""
    pa = arrow()
    try:
        return pa.Table.from_struct_array(pa.array(objects))
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise MalformedInput(f"not a table: {error}") from error


class Reader:
    """The columns of one table, each checked for its type; `name` is what the table is called.

    `rows` are the numbers that the rows had in the file, where only some of them were taken.
    """

    def __init__(self, table: Table, name: str, rows: Int64s | None = None) -> None:
        self.table = table
        self.name = name
        self.rows = rows

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def has(self, column: str) -> bool:
        """Whether the table has a column by that name."""
        return column in self.table.column_names

    def refuse(self, what: str, column: str, row: int | None = None) -> MalformedInput:
        """The error that names the table, the row and the column."""
        return MalformedInput(what, place=self.place(column, row))

    def place(self, column: str, row: int | None = None) -> str:
        """`partitions.parquet row 17 replicas`; rows are counted from 0."""
        if row is None:
            return f"{self.name} {column}"
        return f"{self.name} row {row if self.rows is None else self.rows[row]} {column}"

    def _column(self, column: str) -> Column:
        count = self.table.column_names.count(column)
        if count != 1:
            raise self.refuse("no such column" if count == 0 else "several such columns", column)
        return self.table.column(column).combine_chunks()

    def inside(self, column: str) -> Reader:
        """The fields of a column of objects, as a table of their own."""
        pa = arrow()
        found = self._column(column) if self.has(column) else pa.nulls(len(self))
        if pa.types.is_null(found.type):
            return Reader(pa.table({"": found}), f"{self.name} {column}", self.rows)
        self._must(pa.types.is_struct(found.type), column, "objects", found.type)
        # `from_struct_array` would lose the count of rows of objects that are all empty.
        fields = {found.type.field(i).name: part for i, part in enumerate(found.flatten())}
        fields.setdefault("", pa.nulls(len(self)))
        return Reader(pa.table(fields), f"{self.name} {column}", self.rows)

    # ---- values of one type ---------------------------------------------------------------------

    def wholes(self, column: str) -> Whole:
        """Whole numbers; a column that is not there is told nowhere."""
        if not self.has(column):
            return Whole(np.zeros(len(self), np.int64), np.zeros(len(self), np.bool_))
        found = self._column(column)
        self._must(arrow().types.is_integer(found.type), column, "whole numbers", found.type)
        return Whole(self._int64(found, column), _told(found))

    def every_whole(self, column: str) -> Int64s:
        """Whole numbers, all of them there."""
        self._column(column)
        found = self.wholes(column)
        self._no_gap(found.told, column)
        return found.values

    def reals(self, column: str) -> Real:
        """Numbers; a column that is not there is told nowhere."""
        if not self.has(column):
            return Real(np.full(len(self), np.nan), np.zeros(len(self), np.bool_))
        found, types = self._column(column), arrow().types
        is_number = types.is_floating(found.type) or types.is_integer(found.type)
        self._must(is_number, column, "numbers", found.type)
        return Real(_float64(found), _told(found))

    def texts(self, column: str) -> tuple[list[str], Int64s]:
        """Distinct texts and the index of each row's; -1 where there is none."""
        if not self.has(column):
            return [], np.full(len(self), PAD, np.int64)
        found = self._column(column)
        self._must(_is_text(found.type), column, "text", found.type)
        return _indexed(found)

    def every_text(self, column: str) -> tuple[list[str], Int64s]:
        """Distinct texts and the index of each row's, all of them there."""
        self._column(column)
        names, index = self.texts(column)
        self._no_gap(index >= 0, column)
        return names, index

    def lists(self, column: str) -> Lists:
        """Lists of whole numbers; a column that is not there is told nowhere."""
        if not self.has(column):
            return Lists(no_lists(len(self)), np.zeros(len(self), np.bool_))
        offsets, values, told = self._parts(column)
        is_whole = arrow().types.is_integer(values.type)
        self._must(is_whole or not len(values), column, "lists of whole numbers", values.type)
        inner = Ragged(_told(values).astype(np.int64), offsets)
        self._no_gap(inner.values.astype(np.bool_), column, inner.rows)
        numbers = self._int64(values, column) if is_whole else np.zeros(0, np.int64)
        return Lists(Ragged(numbers, offsets), told)

    def every_list(self, column: str) -> Ragged:
        """Lists of whole numbers, all of them there."""
        self._column(column)
        found = self.lists(column)
        self._no_gap(found.told, column)
        return found.lists

    def text_lists(self, column: str) -> tuple[Lists, list[str]]:
        """Lists of texts as indexes into the distinct ones; -1 for null."""
        if not self.has(column):
            return Lists(no_lists(len(self)), np.zeros(len(self), np.bool_)), []
        offsets, values, told = self._parts(column)
        is_text = _is_text(values.type) or arrow().types.is_null(values.type)
        self._must(is_text, column, "lists of text", values.type)
        names, index = _indexed(values)
        return Lists(Ragged(index, offsets), told), names

    # ---- how it is done -------------------------------------------------------------------------

    def _must(self, holds: bool, column: str, wanted: str, got: Any) -> None:
        if not holds:
            raise self.refuse(f"expected {wanted}, got {got}", column)

    def _no_gap(self, told: Bools, column: str, rows: Int64s | None = None) -> None:
        if not told.all():
            gap = int(np.argmin(told))
            raise self.refuse("null", column, gap if rows is None else int(rows[gap]))

    def _int64(self, found: Column, column: str) -> Int64s:
        try:
            wide = found.cast(arrow().int64())
        except arrow().ArrowInvalid:  # an unsigned number of 64 bits
            raise self.refuse("a number does not fit in 64 bits", column) from None
        return wide.fill_null(0).to_numpy(zero_copy_only=False)

    def _parts(self, column: str) -> tuple[Int64s, Column, Bools]:
        """A list column as offsets, the values end to end, and which lists are there."""
        found, types = self._column(column), arrow().types
        kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
        self._must(any(is_kind(found.type) for is_kind in kinds), column, "lists", found.type)
        lengths = compute().list_value_length(found).fill_null(0).to_numpy(zero_copy_only=False)
        return offsets_of(lengths), compute().list_flatten(found), _told(found)


def _is_text(kind: Any) -> bool:
    types = arrow().types
    plain = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(plain) or types.is_large_string(plain))


def _told(found: Column) -> Bools:
    return found.is_valid().to_numpy(zero_copy_only=False)


def _float64(found: Column) -> Floats:
    # `safe=False`: a count of bytes beyond 2**53 may lose its last digits, as it would in JSON.
    return found.cast(arrow().float64(), safe=False).fill_null(np.nan).to_numpy()


def _indexed(found: Column) -> tuple[list[str], Int64s]:
    """Distinct texts in the order of their first row, and each row's index.

    Dictionaries are encoded anew: one from outside may repeat, or have texts of no row.
    """
    types = arrow().types
    if types.is_null(found.type):
        return [], np.full(len(found), PAD, np.int64)
    if types.is_dictionary(found.type):
        return _indexed_anew(found)
    encoded = found.dictionary_encode()
    return encoded.dictionary.to_pylist(), _int64s(encoded.indices)


def _indexed_anew(found: Column) -> tuple[list[str], Int64s]:
    """The same of a dictionary, without a copy of each row's text, which may be long."""
    texts, place = _indexed(found.dictionary)
    places = np.append(place, PAD)[_int64s(found.indices)]
    used = arrow().array(places, mask=places == PAD).dictionary_encode()
    return [texts[i] for i in used.dictionary.to_pylist()], _int64s(used.indices)


def _int64s(indices: Column) -> Int64s:
    return indices.cast(arrow().int64()).fill_null(PAD).to_numpy(zero_copy_only=False)


# ---- out ----------------------------------------------------------------------------------------


def list_column(lists: Ragged, told: Bools | None = None) -> Column:
    """Lists of whole numbers as list<int32>."""
    pa = arrow()
    values = pa.array(lists.values.astype(np.int32))
    return lists_around(values, lists.offsets, told)


def lists_around(values: Column, offsets: Int64s, told: Bools | None) -> Column:
    """A list column of values that lie end to end; null where not told."""
    pa = arrow()
    mask = None if told is None or told.all() else pa.array(~told)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, mask=mask)


def text_column(names: list[str] | tuple[str, ...], index: Any) -> Column:
    """Texts by their index; null where it is -1."""
    pa = arrow()
    indices = pa.array(np.asarray(index, np.int32), mask=np.asarray(index) < 0)
    return compute().take(pa.array(names, pa.string()), indices)


def told_column(values: Any, told: Bools, kind: Any) -> Column:
    """Numbers; null where not told."""
    return arrow().array(values, kind, mask=~told)
