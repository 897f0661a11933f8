"""Makes tables of measurements by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from kedge.metrics.attribution import Attributed
from kedge.metrics.measurement import NONE, SCHEMA, Measurement, Series

MINUTE = 60_000
START = 1_800_000_000_000  # a whole minute
TOPIC = "orders"


def table(*rows: Iterable[Measurement]) -> pa.Table:
    every = [row for part in rows for row in part]
    columns = {name: [getattr(row, name) for row in every] for name in SCHEMA.names}
    columns["series"] = [str(row.series) for row in every]
    return pa.table(columns, schema=SCHEMA)


def series(
    name: Series,
    values: Sequence[float | None],
    *,
    broker: int = 1,
    partition: int = NONE,
    group: str = "",
    topic: str = TOPIC,
    step: int = 15_000,
    start: int = START,
) -> list[Measurement]:
    """Values at equal distances; None where there is no sample."""
    return [
        Measurement("lab", start + at * step, name, float(value), broker, topic, partition, group)
        for at, value in enumerate(values)
        if value is not None
    ]


def up(values: Sequence[float | None], broker: int = 1, step: int = 15_000) -> list[Measurement]:
    return series(Series.UP, values, broker=broker, topic="", step=step)


def log(
    partition: int,
    ends: Sequence[float | None],
    sizes: Sequence[float | None],
    starts: Sequence[float | None] | None = None,
    *,
    broker: int = 1,
    step: int = 15_000,
) -> list[Measurement]:
    """End offset, size and start offset of one replica."""
    if starts is None:
        starts = [None if end is None else 0 for end in ends]
    return [
        *series(Series.LOG_END_OFFSET, ends, broker=broker, partition=partition, step=step),
        *series(Series.LOG_SIZE, sizes, broker=broker, partition=partition, step=step),
        *series(Series.LOG_START_OFFSET, starts, broker=broker, partition=partition, step=step),
    ]


def line(first: float, slope: float, count: int) -> list[float]:
    return [first + slope * at for at in range(count)]


def sums(found: Attributed, column: str) -> Mapping[int, float]:
    """The sum of a column by partition."""
    values = found.partitions[column].to_numpy()
    partitions = found.partitions["partition"].to_numpy()
    return {int(one): float(values[partitions == one].sum()) for one in np.unique(partitions)}


def by_interval(found: Attributed, column: str, partition: int = 0) -> list[float]:
    rows = found.partitions["partition"].to_numpy() == partition
    return found.partitions[column].to_numpy(zero_copy_only=False)[rows].tolist()
