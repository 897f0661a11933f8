"""Remote files are read one by one, with the rows that Arrow's scanner gives of local ones."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kedge.pipeline.table_reader import Condition, _all_hold, _read_one_by_one

FORMER = pa.table({"cluster": ["a", "b", "b"], "rows": [1, 2, 3]})
PRESENT = pa.table({"cluster": ["b", "a"], "rows": [4, 5], "origin": ["prometheus", None]})


@pytest.mark.parametrize("columns", [["rows"], ["origin", "rows"], ["cluster", "origin"]])
@pytest.mark.parametrize(
    "where",
    [
        (),
        (("cluster", "=", "b"),),
        (("cluster", "=", "b"), ("rows", ">=", 3)),
        (("origin", "=", "prometheus"),),
        (("cluster", "=", "z"),),
    ],
)
def test_rows_are_those_of_the_scanner(
    columns: list[str], where: tuple[Condition, ...], tmp_path: Path
) -> None:
    for number, table in enumerate((FORMER, PRESENT)):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    dataset = ds.dataset(tmp_path, schema=PRESENT.schema)
    files = dataset.get_fragments(filter=_all_hold(where))
    found = _read_one_by_one(files, dataset.schema, columns, where)
    assert found.equals(dataset.to_table(columns=columns, filter=_all_hold(where)))
