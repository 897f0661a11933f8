"""The brokers and the assignment that metrics are read against: Parquet, CSV and JSON lines."""

from __future__ import annotations

import json
import tempfile
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from kedge.pipeline.reference import read_reference
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes, mutated_json

Rows = list[dict[str, Any]]


def fuzz(seed: int) -> None:
    """Read two tables, of which at least one is damaged."""
    random = Random(seed)
    brokers = [
        {"cluster": "c0", "broker": n, "rack": "a", "disk_capacity_bytes": 10**12} for n in range(3)
    ]
    placed = [
        {"cluster": "c0", "topic": "t", "partition": n, "replicas": [0, n % 2 + 1], "leader": 0}
        for n in range(random.randint(1, 4))
    ]
    endings = (".parquet", ".jsonl", ".csv")
    with tempfile.TemporaryDirectory() as directory:
        paths: list[Path] = []
        for name, rows in (("brokers", brokers), ("assignment", placed)):
            ending = random.choice(endings if name == "brokers" else endings[:2])
            whole = _written(rows, ending, random)
            data = whole if random.random() < 0.4 else mutated_bytes(whole, random, most=3)
            paths.append(Path(directory, name + ending))
            paths[-1].write_bytes(data)
        with only_refusals():
            read_reference(*paths)


def _written(rows: Rows, ending: str, random: Random) -> bytes:
    if ending == ".jsonl":
        spoil = random.random() < 0.5
        whole = (json.dumps(row).encode() for row in rows)
        return b"\n".join((mutated_json(row, random, 1) for row in rows) if spoil else whole)
    sink = BytesIO()
    if ending == ".csv":
        pc.write_csv(pa.Table.from_pylist(rows), sink)
    else:
        pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


if __name__ == "__main__":
    start(fuzz)
