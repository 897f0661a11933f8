"""Rows into files: an hour of arrival for each directory, text with broken lines in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from kedge.files import parquet
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.generator.rows import Rows
from kedge.pipeline.generator.sizes import MICROS
from kedge.pipeline.generator.world import World

FORMATS = ("parquet", "jsonl", "csv")
ROWS_PER_BROKEN_LINE = 5000
HOUR_US = 3600 * MICROS


def as_table(world: World, rows: Rows) -> Table:
    """The rows as a pipeline should meet them: names for numbers, nulls where they are marked."""
    pa = arrow()
    time = pa.timestamp("us", tz="UTC")
    named = pa.array(rows.topic, mask=rows.has("empty_topic"))
    topics = compute().fill_null(pa.array(world.topics).take(named), "")
    return pa.table(
        {
            "cluster": pa.array(world.clusters).take(pa.array(rows.cluster)),
            "broker": pa.array(rows.broker.astype(np.int32), mask=rows.has("null_broker")),
            "topic": topics,
            "partition": rows.partition.astype(np.int32),
            "ts": pa.array(rows.ts, mask=rows.has("null_ts")).cast(time),
            "ingest_ts": pa.array(rows.ingest_ts).cast(time),
            "seq": rows.seq,
            "is_leader": rows.is_leader,
            "size_bytes": rows.size_bytes,
            "bytes_in": rows.bytes_in,
            "bytes_out": rows.bytes_out,
            "isr": rows.isr.astype(np.int32),
            "rf": np.full(len(rows), world.size.replication_factor, np.int32),
        }
    )


class FileWriter:
    """Collects tables and writes them as files of about so many rows, each of one hour."""

    def __init__(
        self, directory: Path, formats: Sequence[str], luck: np.random.Generator, rows_per_file: int
    ) -> None:
        self.directory = directory
        self.formats = formats
        self.luck = luck
        self.rows_per_file = rows_per_file
        self.files = self.rows = 0
        self.broken_lines: Counter[str] = Counter()
        self._tables: list[Table] = []
        self._hour = 0

    def add(self, table: Table, arrival_us: int) -> None:
        """Take rows that arrive at that time, later than all before."""
        hour = arrival_us // HOUR_US
        if hour != self._hour or sum(map(len, self._tables)) >= self.rows_per_file:
            self.flush()
        self._hour = hour
        self._tables.append(table)

    def flush(self) -> None:
        """Write what has been collected."""
        if not self._tables:
            return
        table = arrow().concat_tables(self._tables)
        self._tables = []
        at = datetime.fromtimestamp(self._hour * 3600, UTC)
        for form in self.formats:
            folder = self.directory / f"raw_{form}" / f"dt={at:%Y-%m-%d}" / f"hour={at:%H}"
            folder.mkdir(parents=True, exist_ok=True)
            self._write(table, folder / f"part-{self.files:05d}.{form}", form)
        self.files += 1
        self.rows += len(table)

    def _write(self, table: Table, path: Path, form: str) -> None:
        if form == "parquet":
            parquet().write_table(table, path, compression="zstd", row_group_size=1_000_000)
        elif form == "csv":
            self._write_csv(table, path)
        else:
            self._write_jsonl(table, path)

    def _write_csv(self, table: Table, path: Path) -> None:
        """The rows, then lines with far too few fields."""
        broken = table.slice(0, max(1, len(table) // ROWS_PER_BROKEN_LINE))
        columns = (broken.column(name).to_pylist() for name in ("cluster", "partition"))
        with path.open("wb") as file:
            import_module("pyarrow.csv").write_csv(_with_texts(table), file)
            for cluster, partition in zip(*columns, strict=True):
                file.write(f"{cluster},{partition}\n".encode())
        self.broken_lines["csv"] += len(broken)

    def _write_jsonl(self, table: Table, path: Path) -> None:
        """The rows, and here and there one cut off or with a word for a number."""
        rows = _with_texts(table).to_pylist()
        count = min(len(rows), max(2, len(rows) // ROWS_PER_BROKEN_LINE))
        after = set(self.luck.choice(len(rows), count, replace=False).tolist())
        with path.open("wb") as file:
            for index, row in enumerate(rows):
                file.write(orjson.dumps(row) + b"\n")
                if index in after:
                    file.write(_broken(row, cut=index % 2 == 1) + b"\n")
        self.broken_lines["jsonl"] += count


def _broken(row: dict[str, Any], *, cut: bool) -> bytes:
    line = orjson.dumps(row)
    return line[: len(line) // 2] if cut else orjson.dumps({**row, "size_bytes": "many"})


def _with_texts(table: Table) -> Table:
    """Times as ISO 8601, in whole seconds."""
    for name in ("ts", "ingest_ts"):
        seconds = table.column(name).cast(arrow().timestamp("s", tz="UTC"))
        text = compute().strftime(seconds, "%Y-%m-%dT%H:%M:%SZ")
        table = table.set_column(table.schema.get_field_index(name), name, text)
    return table
