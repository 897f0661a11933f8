"""Keys are numbered in their order, whichever of two ways is taken."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kedge.pipeline.models.key_index import index_keys

NARROW = st.integers(-3, 3)  # numbered by a table
WIDE = st.sampled_from([-(2**62), -1, 0, 5, 2**40, 2**62])  # numbered by a sort
ROWS = st.lists(st.tuples(st.sampled_from(["", "a", "ab", "b", "é"]), NARROW, WIDE), max_size=30)


def as_table(rows: Sequence[tuple[str, int, int]], *, encoded: bool) -> pa.Table:
    text = pa.dictionary(pa.int32(), pa.string()) if encoded else pa.string()
    types = (text, pa.int64(), pa.int64())
    columns = [[row[n] for row in rows] for n in range(len(types))]
    return pa.table(
        {
            name: pa.array(values, type_)
            for name, values, type_ in zip("tnw", columns, types, strict=True)
        }
    )


@given(ROWS, ROWS, st.booleans())
def test_keys_of_two_tables_have_the_numbers_of_a_sorted_list(
    first: list[tuple[str, int, int]], second: list[tuple[str, int, int]], encoded: bool
) -> None:
    tables = as_table(first, encoded=encoded), as_table(second, encoded=False)
    found = index_keys(("t", "n", "w"), *tables)
    keys = sorted({*first, *second})  # the order of UTF-8 is that of the characters
    assert [tuple(row.values()) for row in found.keys.to_pylist()] == keys
    assert [part.tolist() for part in found.rows] == [
        [keys.index(row) for row in rows] for rows in (first, second)
    ]
