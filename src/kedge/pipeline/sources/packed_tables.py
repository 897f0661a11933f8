"""Tables as one binary each: rows of a shuffle that hold thousands of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedge.model.arrow import Table, arrow


def packed_table(table: Table) -> bytes:
    """A table as an Arrow stream, compressed."""
    pa = arrow()
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpacked_tables(parts: Sequence[Any]) -> list[Table]:
    """The tables of binary scalars."""
    return [arrow().ipc.open_stream(part.as_buffer()).read_all() for part in parts]
