"""Accumulates the expected tables: sums by broker and window, and percentiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.generator.sample_arrays import Integers, SampleArrays
from kedge.pipeline.generator.sizes import INTERVAL_S, MICROS, START_S, WINDOW_S
from kedge.pipeline.generator.synthetic_clusters import SyntheticClusters

SUMS = ("rows", "bytes_in", "bytes_out", "leader_bytes_in", "leader_rows")


class ExpectedTables:
    """The expected content of gold."""

    def __init__(self, clusters: SyntheticClusters) -> None:
        size = clusters.size
        self.clusters = clusters
        self.by_broker = {name: np.zeros(size.clusters * size.brokers, np.int64) for name in SUMS}
        self.largest = np.zeros(size.clusters * size.brokers, np.int64)
        self.by_window = {
            name: np.zeros((size.clusters, size.windows), np.int64) for name in SUMS[:3]
        }
        numbers = (
            clusters.partition * size.topics + clusters.topic + clusters.cluster * size.partitions
        )
        self._tracked = {int(numbers[index]): list[int]() for index in clusters.tracked}

    def add(self, index: int, rows: SampleArrays) -> None:
        """Add the rows of one sample that silver must have."""
        self._add_to_brokers(rows)
        window = index * INTERVAL_S // WINDOW_S
        figures = {"rows": None, "bytes_in": rows.bytes_in, "bytes_out": rows.bytes_out}
        for name, values in figures.items():
            sums = _summed(rows.cluster, values, self.clusters.size.clusters)
            self.by_window[name][:, window] += sums
        self._add_to_tracked(rows)

    def _add_to_brokers(self, rows: SampleArrays) -> None:
        place = rows.cluster * self.clusters.size.brokers + rows.broker
        led = rows.is_leader
        count = len(self.largest)
        self.by_broker["rows"] += _summed(place, None, count)
        self.by_broker["bytes_in"] += _summed(place, rows.bytes_in, count)
        self.by_broker["bytes_out"] += _summed(place, rows.bytes_out, count)
        self.by_broker["leader_rows"] += _summed(place[led], None, count)
        self.by_broker["leader_bytes_in"] += _summed(place[led], rows.bytes_in[led], count)
        np.maximum.at(self.largest, place, rows.size_bytes)

    def _add_to_tracked(self, rows: SampleArrays) -> None:
        size = self.clusters.size
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
        cluster, broker = np.divmod(np.arange(len(self.largest)), self.clusters.size.brokers)
        return arrow().table(
            {
                "cluster": np.array(self.clusters.cluster_names)[cluster],
                "broker": broker.astype(np.int32),
                "max_size_bytes": self.largest,
                **self.by_broker,
            }
        )

    def windows(self) -> Table:
        """`expected_window.parquet`."""
        pa, count = arrow(), self.clusters.size.windows
        cluster, window = np.divmod(np.arange(self.clusters.size.clusters * count), count)
        start = pa.array((START_S + window * WINDOW_S) * MICROS)
        return pa.table(
            {
                "cluster": np.array(self.clusters.cluster_names)[cluster],
                "window_start": start.cast(pa.timestamp("us", tz="UTC")),
                **{name: sums.ravel() for name, sums in self.by_window.items()},
            }
        )

    def tracked(self) -> Table:
        """`expected_tracked.parquet`: nearest-rank percentiles of the leader's bytes in."""
        figures = [np.sort(np.array(taken)) for taken in self._tracked.values()]
        named: list[list[Any]] = [
            self.clusters.named(int(index)) for index in self.clusters.tracked
        ]
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
    """The nearest-rank percentile of an ascending array."""
    return int(ascending[max(0, -(-percent * len(ascending) // 100) - 1)])


def _summed(group: Integers, values: Integers | None, count: int) -> Integers:
    """Exact integer sums by group; `np.bincount` would sum in floating point."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, 1 if values is None else values)
    return sums
