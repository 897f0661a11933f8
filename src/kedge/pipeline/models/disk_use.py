"""Size and growth of the replicas of each broker, and the days until its disk is full."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.models.key_index import BROKER_KEY, PARTITION_KEY
from kedge.pipeline.models.ragged_series import half_up

LOADS: Final = ("last_size", "growth_bytes_per_day", "growth_low", "growth_high")


def broker_disk_use(partitions: Table, *, replicas: Table, brokers: Table) -> Table:
    """One row per broker with replicas of known partitions.

    The uncertainty of a partition's growth is half its interquartile range; partitions are taken as
    independent, so the squares add up. Days count from the last sample; null if the disk does not
    fill up or its capacity is unknown.
    """
    loads = partitions.select([*PARTITION_KEY, *LOADS])
    placed = replicas.select([*BROKER_KEY, "topic", "partition"])
    joined = placed.join(loads, list(PARTITION_KEY), join_type="inner")
    spread = (_floats(joined, "growth_high") - _floats(joined, "growth_low")) / 2
    squares = [
        None if math.isnan(one) else int(one) ** 2 for one in half_up(spread).tolist()
    ]  # exact: they are too large for 64 bits
    capacity = _capacities(brokers)
    totals: dict[tuple[str, int], _Use] = {}
    columns = (joined.column(name).to_pylist() for name in (*BROKER_KEY, *LOADS[:2]))
    for cluster, broker, size, growth, square in zip(*columns, squares, strict=True):
        totals.setdefault((cluster, broker), _Use()).add(size, growth, square)
    rows = [
        {"cluster": key[0], "broker": key[1], **totals[key].row(capacity.get(key))}
        for key in sorted(totals)
    ]
    return arrow().Table.from_pylist(rows, schema=_schema())


def _floats(table: Table, name: str) -> Any:
    return np.array(table.column(name).cast(arrow().float64()).to_numpy(), np.float64)


def _capacities(brokers: Table) -> dict[tuple[str, int], int | None]:
    columns = ("cluster", "broker", "disk_capacity_bytes")
    clusters, numbers, bytes_ = (brokers.column(name).to_pylist() for name in columns)
    return {
        (cluster, number): capacity
        for cluster, number, capacity in zip(clusters, numbers, bytes_, strict=True)
    }


class _Use:
    """The replicas of one broker."""

    def __init__(self) -> None:
        self.size = 0
        self.growth: int | None = None
        self.squares: int | None = None

    def add(self, size: int, growth: int | None, square: int | None) -> None:
        self.size += size
        if growth is not None:
            self.growth = (self.growth or 0) + growth
        if square is not None:
            self.squares = (self.squares or 0) + square

    def row(self, capacity: int | None) -> dict[str, Any]:
        spread = None if self.squares is None else math.floor(math.sqrt(self.squares) + 0.5)
        growth = self.growth
        bounds = [growth, None, None]
        if growth is not None and spread is not None:
            bounds = [growth, growth + spread, growth - spread]
        days = [self._days(capacity, one) for one in bounds]
        names = ("days_to_full", "days_to_full_low", "days_to_full_high")
        return {
            "used_bytes": self.size,
            "growth_bytes_per_day": growth,
            "growth_spread": spread,
            "disk_capacity_bytes": capacity,
            **dict(zip(names, days, strict=True)),
        }

    def _days(self, capacity: int | None, growth: int | None) -> float | None:
        if capacity is None or growth is None or growth <= 0:
            return None
        return max(capacity - self.size, 0) / growth


def _schema() -> Any:
    pa = arrow()
    whole = ("used_bytes", "growth_bytes_per_day", "growth_spread", "disk_capacity_bytes")
    return pa.schema(
        [
            *(("cluster", pa.string()), ("broker", pa.int32())),
            *((name, pa.int64()) for name in whole),
            *((f"days_to_full{part}", pa.float64()) for part in ("", "_low", "_high")),
        ]
    )
