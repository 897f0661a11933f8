"""Writes generated samples as files by hour of arrival; text files get malformed lines."""

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
from kedge.pipeline.generator.sample_arrays import SampleArrays
from kedge.pipeline.generator.sizes import MICROS
from kedge.pipeline.generator.synthetic_clusters import SyntheticClusters

FORMATS = ("parquet", "jsonl", "csv")
ROWS_PER_MALFORMED_LINE = 5000
HOUR_US = 3600 * MICROS


def to_table(clusters: SyntheticClusters, rows: SampleArrays) -> Table:
    """The samples as a table, with names for indices and nulls for marked values."""
    pa = arrow()
    time = pa.timestamp("us", tz="UTC")
    topic_index = pa.array(rows.topic, mask=rows.has("empty_topic"))
    topics = compute().fill_null(pa.array(clusters.topic_names).take(topic_index), "")
    return pa.table(
        {
            "cluster": pa.array(clusters.cluster_names).take(pa.array(rows.cluster)),
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
            "rf": np.full(len(rows), clusters.size.replication_factor, np.int32),
        }
    )


class FileWriter:
    """Buffers tables and writes files of about `rows_per_file` rows, each of one hour."""

    def __init__(
        self, directory: Path, formats: Sequence[str], rng: np.random.Generator, rows_per_file: int
    ) -> None:
        self.directory = directory
        self.formats = formats
        self.rng = rng
        self.rows_per_file = rows_per_file
        self.files = self.rows = 0
        self.broken_lines: Counter[str] = Counter()
        self._tables: list[Table] = []
        self._hour = 0

    def add(self, table: Table, arrival_us: int) -> None:
        """Add rows that arrive at this time; times must not decrease."""
        hour = arrival_us // HOUR_US
        if hour != self._hour or sum(map(len, self._tables)) >= self.rows_per_file:
            self.flush()
        self._hour = hour
        self._tables.append(table)

    def flush(self) -> None:
        """Write the buffered rows."""
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
        """Write the rows, then lines with too few fields."""
        broken = table.slice(0, max(1, len(table) // ROWS_PER_MALFORMED_LINE))
        columns = (broken.column(name).to_pylist() for name in ("cluster", "partition"))
        with path.open("wb") as file:
            import_module("pyarrow.csv").write_csv(_with_text_times(table), file)
            for cluster, partition in zip(*columns, strict=True):
                file.write(f"{cluster},{partition}\n".encode())
        self.broken_lines["csv"] += len(broken)

    def _write_jsonl(self, table: Table, path: Path) -> None:
        """Write the rows, and between them truncated lines and lines with a wrong type."""
        rows = _with_text_times(table).to_pylist()
        count = min(len(rows), max(2, len(rows) // ROWS_PER_MALFORMED_LINE))
        after = set(self.rng.choice(len(rows), count, replace=False).tolist())
        with path.open("wb") as file:
            for index, row in enumerate(rows):
                file.write(orjson.dumps(row) + b"\n")
                if index in after:
                    file.write(_malformed(row, cut=index % 2 == 1) + b"\n")
        self.broken_lines["jsonl"] += count


def _malformed(row: dict[str, Any], *, cut: bool) -> bytes:
    line = orjson.dumps(row)
    return line[: len(line) // 2] if cut else orjson.dumps({**row, "size_bytes": "many"})


def _with_text_times(table: Table) -> Table:
    """The table with times as ISO 8601 text, in seconds."""
    for name in ("ts", "ingest_ts"):
        seconds = table.column(name).cast(arrow().timestamp("s", tz="UTC"))
        text = compute().strftime(seconds, "%Y-%m-%dT%H:%M:%SZ")
        table = table.set_column(table.schema.get_field_index(name), name, text)
    return table
