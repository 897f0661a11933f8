"""Snapshots in Parquet: damaged files, and whole ones with columns that they should not have."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kedge.files import read_snapshot
from kedge.model import parse_snapshot, snapshot_to_arrow
from tests.fuzz.documents import snapshot_document
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import TEXTS, mutated_bytes

NAMES = ("brokers.parquet", "partitions.parquet")
KINDS = (pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.string(), pa.large_string())


def fuzz(seed: int) -> None:
    """Read the tables of a snapshot, of which at least one is spoiled."""
    random = Random(seed)
    tables = snapshot_to_arrow(parse_snapshot(json.dumps(snapshot_document(random)).encode()))
    spoiled = random.choice((*NAMES, *NAMES, ""))
    with tempfile.TemporaryDirectory() as directory:
        for name, table in zip(NAMES, tables, strict=True):
            spoil = spoiled in (name, "")
            path = Path(directory, name)
            path.write_bytes(_spoiled(table, random) if spoil else _packed(table, random))
        with only_refusals():
            read_snapshot(directory)


def _spoiled(table: Any, random: Random) -> bytes:
    if random.random() < 0.5:
        return _bytes_changed(_packed(table, random), random)
    for _ in range(random.randint(1, 3)):
        table = random.choice(_CHANGES)(table, random)
    return _packed(table, random)


def _bytes_changed(data: bytes, random: Random) -> bytes:
    """Damage in the pages, in the footer, or anywhere."""
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    where = random.randrange(4)
    if where == 0:
        return mutated_bytes(data, random)
    if where == 1:
        return mutated_bytes(data[:footer], random, most=2) + data[footer:]
    place = random.randrange(footer, len(data) - 8) if where == 2 else random.randrange(len(data))
    return data[:place] + random.randbytes(1) + data[place + 1 :]


def _packed(table: Any, random: Random) -> bytes:
    sink = BytesIO()
    pq.write_table(
        table,
        sink,
        compression=random.choice(("none", "snappy", "zstd", "gzip")),
        use_dictionary=random.random() < 0.5,
        data_page_version=random.choice(("1.0", "2.0")),
        row_group_size=random.choice((1, 3, 1000)),
    )
    return sink.getvalue()


def _dropped(table: Any, random: Random) -> Any:
    names: list[str] = table.column_names
    return table.remove_column(random.randrange(len(names))) if len(names) > 1 else table


def _renamed(table: Any, random: Random) -> Any:
    names: list[str] = list(table.column_names)
    names[random.randrange(len(names))] = random.choice(("", "cluster", "topic", *names))
    return table.rename_columns(names)


def _cast(table: Any, random: Random) -> Any:
    place = random.randrange(table.num_columns)
    try:
        column = table.column(place).cast(random.choice(KINDS))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return table
    return table.set_column(place, table.column_names[place], column)


def _nulled(table: Any, random: Random) -> Any:
    place = random.randrange(table.num_columns)
    column = pa.nulls(table.num_rows, random.choice((None, table.column(place).type)))
    return table.set_column(place, table.column_names[place], column)


def _texts(table: Any, random: Random) -> Any:
    place = random.randrange(table.num_columns)
    text = random.choice(TEXTS).encode("utf-8", "surrogatepass")
    column = pa.array([text] * table.num_rows, pa.binary())
    kind = random.choice((pa.binary(), pa.string()))
    column = pa.Array.from_buffers(kind, len(column), column.buffers())  # UTF-8 or not
    return table.set_column(place, table.column_names[place], column)


def _repeated(table: Any, random: Random) -> Any:
    return pa.concat_tables([table] * random.choice((2, 50))).slice(0, 200)


def _metadata(table: Any, random: Random) -> Any:
    found: dict[bytes, bytes] = table.schema.metadata or {}
    spoiled = {name: mutated_bytes(value, random) for name, value in found.items()}
    return table.replace_schema_metadata(spoiled)


_CHANGES: tuple[Callable[[Any, Random], Any], ...] = (
    *(_dropped, _renamed, _cast, _nulled, _texts, _repeated, _metadata),
)


if __name__ == "__main__":
    start(fuzz)
