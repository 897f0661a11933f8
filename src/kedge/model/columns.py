"""Lists of unequal length as numpy columns, end to end or as a padded matrix.

`Ragged` is the form of input (from JSON or Arrow): all values end to end, with offsets. A *padded
matrix* is the stored form: one row per partition, -1 after the end of a row.

    [[1, 2, 3], [4]]    values [1, 2, 3, 4]  offsets [0, 3, 4]    [[1, 2, 3], [4, -1, -1]]

Checks run on the ragged form, whose size is that of the input: an absurdly long list is rejected
before it widens the matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PAD = -1  # no replica here
UNKNOWN = -2  # the source has no value; `PAD` in the same column means that there is none


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view; the caller's own array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Lists of integers, end to end; list `i` is `values[offsets[i]:offsets[i + 1]]`."""

    values: Int64s
    offsets: Int64s

    @property
    def lengths(self) -> Int64s:
        """The length of each list."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Int64s:
        """The index of the list of each value."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def keys(self) -> Int64s:
        """Return one number for each (list, value), in order; values must fit in 32 bits."""
        return (self.rows << 32) | self.values

    def padded(self, width: int | None = None) -> Int32s:
        """Return the matrix form, as wide as the longest list or as `width`."""
        lengths = self.lengths
        longest = int(lengths.max(initial=0))
        matrix = np.full((len(lengths), longest if width is None else width), PAD, np.int32)
        matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = self.values
        return matrix


@dataclass(frozen=True, slots=True, eq=False)
class IntColumn:
    """Integers, and which of them are known."""

    values: Int64s
    known: Bools


@dataclass(frozen=True, slots=True, eq=False)
class FloatColumn:
    """Numbers, and which of them are known."""

    values: Floats
    known: Bools


@dataclass(frozen=True, slots=True, eq=False)
class ListColumn:
    """Lists of integers, and which of them are known (the others are empty here)."""

    lists: Ragged
    known: Bools


def offsets_of(lengths: npt.NDArray[Any]) -> Int64s:
    """Return where each list starts, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def ragged_of_lists(lists: Sequence[Sequence[int]]) -> Ragged:
    """Return lists of 64-bit integers, end to end."""
    offsets = offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))
    values = np.fromiter(chain.from_iterable(lists), np.int64, int(offsets[-1]))
    return Ragged(values, offsets)


def empty_lists(rows: int) -> Ragged:
    """Return this many empty lists."""
    return Ragged(np.zeros(0, np.int64), np.zeros(rows + 1, np.int64))


def row_lengths(matrix: Int32s) -> Int64s:
    """Return the number of entries in each row of a padded matrix."""
    return np.count_nonzero(matrix >= 0, axis=1).astype(np.int64)


def non_empty_rows(matrix: Int32s) -> Bools:
    """Return whether each row of a padded matrix has any entry."""
    return row_lengths(matrix) > 0


def ragged_of_matrix(matrix: Int32s) -> Ragged:
    """Return the end-to-end form of a padded matrix."""
    return Ragged(matrix[matrix >= 0].astype(np.int64), offsets_of(row_lengths(matrix)))


def lists_of_matrix(matrix: Int32s) -> list[list[int]]:
    """Return the rows of a padded matrix as Python lists."""
    rows: list[list[int]] = matrix.tolist()
    lengths = row_lengths(matrix)
    if bool((lengths == matrix.shape[1]).all()):
        return rows
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]


def trimmed(matrix: Int32s) -> Int32s:
    """Return the matrix without trailing columns that are padding in every row."""
    used = np.flatnonzero((matrix != PAD).any(axis=0))
    return matrix[:, : int(used[-1]) + 1 if len(used) else 0]


def same_matrix(a: Int32s, b: Int32s) -> bool:
    """Return whether two padded matrices have the same rows, regardless of their width."""
    return np.array_equal(trimmed(a), trimmed(b))


def widened(matrix: Int32s, width: int) -> Int32s:
    """Return the matrix padded to at least this width."""
    missing = width - matrix.shape[1]
    return np.pad(matrix, ((0, 0), (0, missing)), constant_values=PAD) if missing > 0 else matrix


def text_list(names: Iterable[object], limit: int = 5) -> str:
    """Return the first names for an error message: `a, b and 7 more`."""
    every = [str(name) for name in names]
    rest = len(every) - limit
    return ", ".join(every) if rest <= 0 else f"{', '.join(every[:limit])} and {rest} more"
