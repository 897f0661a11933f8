"""Files of metrics, as far as they are looked at before Spark is; and rows for a topic."""

from __future__ import annotations

import gzip
import json
import tempfile
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from kedge.pipeline.jobs.produce import replay
from kedge.pipeline.sources.sample_files import Format, find_files, new_files
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes, mutated_json


def fuzz(seed: int) -> None:
    """Check a damaged file of metrics and send its rows."""
    random = Random(seed)
    rows = [_row(random) for _ in range(random.randint(1, 3))]
    form, ending, data = random.choice((_jsonl, _csv, _parquet))(rows, random)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, f"metrics{ending}")
        path.write_bytes(data)
        with only_refusals():
            new_files(find_files(Path(directory), form), form, ())
        with only_refusals():
            replay(path, lambda value, key: None)


def _row(random: Random) -> dict[str, Any]:
    named = {"cluster": "c0", "broker": random.randrange(3), "topic": "t", "partition": 0}
    times = {"ts": "2026-01-01T00:00:00Z", "ingest_ts": "2026-01-01T00:00:05Z", "seq": 1}
    figures = {"size_bytes": random.randrange(10**9), "bytes_in": 60, "bytes_out": 60}
    return {**named, **times, "is_leader": True, **figures, "isr": 1, "rf": 1}


def _jsonl(rows: list[dict[str, Any]], random: Random) -> tuple[Format, str, bytes]:
    return Format.JSONL, ".jsonl", b"\n".join(mutated_json(row, random, 2) for row in rows)


def _csv(rows: list[dict[str, Any]], random: Random) -> tuple[Format, str, bytes]:
    sink = BytesIO()
    pc.write_csv(pa.Table.from_pylist(rows), sink)
    data = mutated_bytes(sink.getvalue(), random, most=2)
    if random.random() < 0.5:
        return Format.CSV, ".csv", data
    return Format.CSV, ".csv.gz", mutated_bytes(gzip.compress(data, 1), random, most=2)


def _parquet(rows: list[dict[str, Any]], random: Random) -> tuple[Format, str, bytes]:
    sink = BytesIO()
    pq.write_table(pa.Table.from_pylist(json.loads(json.dumps(rows))), sink)
    return Format.PARQUET, ".parquet", mutated_bytes(sink.getvalue(), random, most=3)


if __name__ == "__main__":
    start(fuzz)
