"""The answers, kept while the rows are made: sums by broker and window, and percentiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.generator.rows import Integers, Rows
from kedge.pipeline.generator.sizes import INTERVAL_S, MICROS, START_S, WINDOW_S
from kedge.pipeline.generator.world import World

SUMS = ("rows", "bytes_in", "bytes_out", "leader_bytes_in", "leader_rows")


class Truth:
    """What the tables of a faultless pipeline hold."""

    def __init__(self, world: World) -> None:
        size = world.size
        self.world = world
        self.by_broker = {name: np.zeros(size.clusters * size.brokers, np.int64) for name in SUMS}
        self.largest = np.zeros(size.clusters * size.brokers, np.int64)
        self.by_window = {
            name: np.zeros((size.clusters, size.windows), np.int64) for name in SUMS[:3]
        }
        numbers = world.partition * size.topics + world.topic + world.cluster * size.partitions
        self._tracked = {int(numbers[index]): list[int]() for index in world.tracked}

    def add(self, index: int, rows: Rows) -> None:
        """The rows of one sample that must be kept, with the figures that must win."""
        self._add_to_brokers(rows)
        window = index * INTERVAL_S // WINDOW_S
        figures = {"rows": None, "bytes_in": rows.bytes_in, "bytes_out": rows.bytes_out}
        for name, values in figures.items():
            sums = _summed(rows.cluster, values, self.world.size.clusters)
            self.by_window[name][:, window] += sums
        self._add_to_tracked(rows)

    def _add_to_brokers(self, rows: Rows) -> None:
        place = rows.cluster * self.world.size.brokers + rows.broker
        led = rows.is_leader
        count = len(self.largest)
        self.by_broker["rows"] += _summed(place, None, count)
        self.by_broker["bytes_in"] += _summed(place, rows.bytes_in, count)
        self.by_broker["bytes_out"] += _summed(place, rows.bytes_out, count)
        self.by_broker["leader_rows"] += _summed(place[led], None, count)
        self.by_broker["leader_bytes_in"] += _summed(place[led], rows.bytes_in[led], count)
        np.maximum.at(self.largest, place, rows.size_bytes)

    def _add_to_tracked(self, rows: Rows) -> None:
        size = self.world.size
        number = rows.partition * size.topics + rows.topic + rows.cluster * size.partitions
        wanted = rows.is_leader & np.isin(number, list(self._tracked))
        for partition, figure in zip(number[wanted], rows.bytes_in[wanted], strict=True):
            self._tracked[int(partition)].append(int(figure))

    def total(self, name: str) -> int:
        """The sum over all brokers."""
        return int(self.by_broker[name].sum())

    # ---- as tables ----

    def brokers(self) -> Table:
        """`expected_broker.parquet`."""
        cluster, broker = np.divmod(np.arange(len(self.largest)), self.world.size.brokers)
        return arrow().table(
            {
                "cluster": np.array(self.world.clusters)[cluster],
                "broker": broker.astype(np.int32),
                "max_size_bytes": self.largest,
                **self.by_broker,
            }
        )

    def windows(self) -> Table:
        """`expected_window.parquet`."""
        pa, count = arrow(), self.world.size.windows
        cluster, window = np.divmod(np.arange(self.world.size.clusters * count), count)
        start = pa.array((START_S + window * WINDOW_S) * MICROS)
        return pa.table(
            {
                "cluster": np.array(self.world.clusters)[cluster],
                "window_start": start.cast(pa.timestamp("us", tz="UTC")),
                **{name: sums.ravel() for name, sums in self.by_window.items()},
            }
        )

    def tracked(self) -> Table:
        """`expected_tracked.parquet`: percentiles by nearest rank of what the leader took in."""
        figures = [np.sort(np.array(taken)) for taken in self._tracked.values()]
        named: list[list[Any]] = [self.world.named(int(index)) for index in self.world.tracked]
        pa = arrow()
        return pa.table(
            {
                "cluster": [name[0] for name in named],
                "topic": [name[1] for name in named],
                "partition": pa.array([name[2] for name in named], pa.int32()),
                "n": [len(taken) for taken in figures],
                "p50": [nearest_rank(taken, 50) for taken in figures],
                "p95": [nearest_rank(taken, 95) for taken in figures],
                "max": [int(taken[-1]) for taken in figures],
                "sum": [int(taken.sum()) for taken in figures],
            }
        )


def nearest_rank(ascending: Integers, percent: int) -> int:
    """The least value that so many per cent of all do not exceed."""
    return int(ascending[max(0, -(-percent * len(ascending) // 100) - 1)])


def _summed(place: Integers, figures: Integers | None, count: int) -> Integers:
    """Exact sums by place: counting alone could go through floats, bytes may not."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, place, 1 if figures is None else figures)
    return sums
