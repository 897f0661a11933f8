"""Time series of partitions, drawn from a seed, for tests of the models made of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

START = datetime(2026, 1, 5, tzinfo=UTC)
WINDOWS = 288


def course(partitions: int, days: Sequence[int], seed: int = 1) -> pa.Table:
    """Windows of some days, some of them missing; a partition's rows depend on its day alone."""
    rows: list[dict[str, Any]] = []
    for day in days:
        for partition in range(partitions):
            dice = random.Random(f"{seed} {day} {partition}")
            for window in range(0, WINDOWS, 6):
                if dice.random() < 0.1:
                    continue
                samples = dice.choice([0, 1, 5, 5, 5])
                rows.append(
                    {
                        "cluster": "c",
                        "topic": f"t{partition % 3}",
                        "partition": partition,
                        "window_start": START + timedelta(days=day, seconds=300 * window),
                        "bytes_in": samples * dice.randrange(10**6),
                        "bytes_out": samples * dice.randrange(10**5),
                        "samples": samples,
                        "size": 10**9 + day * 10**7 + window * 10**4 + dice.randrange(10**5),
                        "min_isr": dice.choice([2, 3, 3, 3]),
                        "max_isr": 3,
                    }
                )
    schema = pa.schema(
        [
            *(("cluster", pa.string()), ("topic", pa.string()), ("partition", pa.int32())),
            ("window_start", pa.timestamp("us", tz="UTC")),
            *((name, pa.int64()) for name in ("bytes_in", "bytes_out", "samples", "size")),
            *((name, pa.int32()) for name in ("min_isr", "max_isr")),
        ]
    )
    return pa.Table.from_pylist(rows, schema=schema)
