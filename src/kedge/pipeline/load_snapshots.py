"""Builds snapshots, the input of plans, from the load models in gold; needs no Spark.

`--at` selects the load of the snapshot:

| at            | bytes in and out                                   | size                        |
|---------------|----------------------------------------------------|-----------------------------|
| `p95`, `p50`, `max` | that percentile of the samples               | the last one                |
| `mean`        | the mean of the samples                            | the last one                |
| `ewma`        | the exponentially weighted moving average          | the last one                |
| `forecast+7d` | the mean plus seven times its daily trend          | the last one and its growth |

Rates are bytes per second: a sample's bytes divided by the sampling interval. A partition without
samples has no load in the snapshot. The cpu model is fitted to the last hours of measurements, and
left out where traffic explains too little of the cpu.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

import numpy as np

from kedge.errors import InvalidRequest
from kedge.model import Assignment, Broker, BrokerId, Snapshot
from kedge.model.arrow import Table, arrow, compute
from kedge.model.broker import Capacity
from kedge.pipeline.cpu_models import cpu_model_of_tables
from kedge.pipeline.reference import Reference
from kedge.pipeline.table_reader import Tables
from kedge.pipeline.warehouse import Place

DEFAULT_AT = "p95"
LOADS = "gold/partition_load"
FORECAST = re.compile(r"forecast\+(\d{1,4})d")
STATISTICS = ("p50", "p95", "max", "mean", "ewma")


@dataclass(frozen=True, slots=True)
class LoadStatistic:
    """The load of a snapshot: a statistic, or a forecast for a number of days ahead."""

    name: str
    days: int = 0


def parse_load_statistic(text: str) -> LoadStatistic:
    """Parse the value of `--at`."""
    if text in STATISTICS:
        return LoadStatistic(text)
    forecast = FORECAST.fullmatch(text)
    if forecast is None:
        hint = f"use {', '.join(STATISTICS)} or forecast+7d"
        raise InvalidRequest(f"unknown load {text!r}", hint=hint)
    return LoadStatistic("forecast", int(forecast[1]))


def snapshots(tables: Tables) -> Generator[tuple[str, Snapshot]]:
    """The snapshot of every cluster, at the default load."""
    if not tables.has(LOADS):
        return
    loads, taken = tables.read(LOADS), _last_time(tables)
    at, interval_s = LoadStatistic(DEFAULT_AT), tables.settings.interval_s
    for cluster in tables.reference.clusters:
        made = _snapshot(loads, tables.reference, cluster, at, interval_s, taken)
        yield cluster, _with_cpu_model(made, tables, cluster)


def snapshot_at(place: Place, cluster: str, statistic: LoadStatistic) -> Snapshot:
    """The snapshot of one cluster with the given load."""
    tables = Tables(place)
    tables.chosen_clusters(cluster)
    if not tables.has(LOADS):
        raise InvalidRequest(f"{place}: no loads yet", hint="run `kedge pipeline ingest`")
    loads, interval_s = tables.read(LOADS), tables.settings.interval_s
    taken = _last_time(tables)
    made = _snapshot(loads, tables.reference, cluster, statistic, interval_s, taken)
    return _with_cpu_model(made, tables, cluster)


def only_cluster(tables: Place) -> str:
    """The name of the cluster, if the tables have one only."""
    clusters = Tables(tables).reference.clusters
    if len(clusters) != 1:
        hint = f"name one with --cluster: {', '.join(clusters[:10])}"
        raise InvalidRequest(f"{tables}: has {len(clusters)} clusters", hint=hint)
    return clusters[0]


def loads_on(snapshot: Snapshot, loads: Snapshot) -> tuple[Snapshot, int]:
    """A snapshot with the rates of another one, and how many of its partitions have them.

    Sizes and the cpu model are those of the first where it knows them.
    """
    keys = snapshot.assignment.keys()
    index = {tp: row for row, tp in enumerate(loads.assignment.keys())}
    rows = np.array([index.get(tp, -1) for tp in keys], np.int64)
    known = rows >= 0
    if not known.any():
        raise InvalidRequest("the tables have none of the cluster's partitions")

    def taken(column: Any, missing: Any) -> Any:
        return cast("Any", np.where(known, column[np.maximum(rows, 0)], missing))

    size = np.where(snapshot.size >= 0, snapshot.size, taken(loads.size, -1))
    rates = {name: taken(getattr(loads, name), np.nan) for name in ("bytes_in", "bytes_out")}
    found = int((~np.isnan(rates["bytes_in"])).sum())
    cpu_model = snapshot.cpu_model or loads.cpu_model
    return replace(snapshot, size=size, cpu_model=cpu_model, **rates), found


def _with_cpu_model(snapshot: Snapshot, tables: Tables, cluster: str) -> Snapshot:
    return replace(snapshot, cpu_model=cpu_model_of_tables(tables, cluster, snapshot.taken_at))


def _last_time(tables: Tables) -> datetime | None:
    windows = tables.read("gold/window_load", ["window_start"])
    last: datetime | None = compute().max(windows.column("window_start")).as_py()
    return last


def _snapshot(
    loads: Table,
    reference: Reference,
    cluster: str,
    statistic: LoadStatistic,
    interval_s: int,
    taken_at: datetime | None,
) -> Snapshot:
    key = ["topic", "partition"]
    order = [(name, "ascending") for name in key]
    placed = _of_cluster(reference.assignment, cluster).sort_by(order)
    # Arrow cannot join tables with list columns; both sides are sorted alike.
    flat = placed.drop_columns(["replicas"])
    joined = flat.join(_of_cluster(loads, cluster), key, join_type="left outer").sort_by(order)
    names, topic = _indexed(joined.column("topic"))
    replicas = placed.column("replicas").to_pylist()
    width = max(map(len, replicas), default=0)
    matrix = np.full((len(replicas), width), -1, np.int32)
    for row, ids in enumerate(replicas):
        matrix[row, : len(ids)] = ids
    assignment = Assignment(names, topic, _whole(joined, "partition", 0).astype(np.int32), matrix)
    return Snapshot.of(
        _brokers(reference, cluster),
        assignment,
        cluster_id=cluster,
        taken_at=taken_at,
        leader=_whole(joined, "leader", -2),
        size=_size(joined, statistic),
        bytes_in=_rate(joined, statistic, "") / interval_s,
        bytes_out=_rate(joined, statistic, "out_") / interval_s,
    )


def _brokers(reference: Reference, cluster: str) -> list[Broker]:
    rows = _of_cluster(reference.brokers, cluster).to_pylist()
    return [
        Broker(
            BrokerId(row["broker"]),
            row["rack"],
            capacity=Capacity(disk=_float(row["disk_capacity_bytes"])),
        )
        for row in rows
    ]


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


def _size(rows: Table, statistic: LoadStatistic) -> Any:
    size = _whole(rows, "last_size", -1)
    if statistic.name != "forecast":
        return size
    later = size + _real(rows, "growth_bytes_per_day", 0.0) * statistic.days
    return np.where(size < 0, -1, np.maximum(later, 0)).astype(np.int64)


def _rate(rows: Table, statistic: LoadStatistic, prefix: str) -> Any:
    """Bytes per sampling interval; NaN for partitions without samples."""
    if statistic.name in ("mean", "forecast"):
        count = _real(rows, "n", np.nan)
        mean = _real(rows, f"{prefix}sum", np.nan) / np.where(count > 0, count, np.nan)
        growth = _real(rows, f"{'out' if prefix else 'in'}_growth_per_day", 0.0)
        return np.maximum(mean + growth * statistic.days, 0)
    return _real(rows, f"{prefix}{statistic.name}", np.nan)


def _whole(rows: Table, column: str, missing: int) -> Any:
    filled = compute().fill_null(rows.column(column), missing)
    return filled.combine_chunks().to_numpy(zero_copy_only=False)


def _real(rows: Table, column: str, missing: float) -> Any:
    values = compute().cast(rows.column(column), arrow().float64())
    return compute().fill_null(values, missing).combine_chunks().to_numpy(zero_copy_only=False)


def _indexed(column: Any) -> tuple[tuple[str, ...], Any]:
    encoded = column.combine_chunks().dictionary_encode()
    return tuple(encoded.dictionary.to_pylist()), encoded.indices.to_numpy().astype(np.int32)


def _of_cluster(table: Table, cluster: str) -> Table:
    chosen = table.filter(compute().equal(table.column("cluster"), cluster))
    columns = [name for name in chosen.column_names if name != "cluster"]
    return chosen.select([name for name in columns if not name.endswith("_pattern")])
