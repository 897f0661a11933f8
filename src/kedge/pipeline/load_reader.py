"""Loads as the answers need them: series of brokers, bytes of topics by day, health of brokers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.analytics.capacity import BrokerSeries
from kedge.analytics.cost import Usage
from kedge.analytics.findings import ClusterFacts
from kedge.analytics.slow_brokers import MEASUREMENTS, BrokerHealth
from kedge.errors import InvalidRequest
from kedge.model.arrow import Table, compute
from kedge.model.columns import Floats
from kedge.pipeline.broker_health import COLUMNS as HEALTH_COLUMNS
from kedge.pipeline.broker_health import TABLE as HEALTH_TABLE
from kedge.pipeline.table_reader import Tables, floats_of, integers_of, seconds_of

COURSE = ("broker", "window_start", "bytes_in", "bytes_out", "leader_bytes_in", "samples", "size")
TRAFFIC = ("bytes_in", "bytes_out", "leader_bytes_in")
USAGE = ("cluster", "topic", *TRAFFIC, "last_size")


def broker_series(tables: Tables, cluster: str, *, disk: float | None = None) -> list[BrokerSeries]:
    """What each broker of the reference carried, ascending by id; `disk` where it has no capacity.

    Followers copy what leaders take in, so the copies that all brokers receive are sent by the
    leaders, in the proportion of what they take in.
    """
    course = tables.read("gold/broker_course", COURSE, where=[("cluster", "=", cluster)])
    course = course.sort_by([("broker", "ascending"), ("window_start", "ascending")])
    brokers, starts = (
        integers_of(course.column("broker")),
        seconds_of(course.column("window_start")),
    )
    whole_in, out, led = (floats_of(course.column(name)) for name in TRAFFIC)
    out = out + led * _copies_per_byte(starts, whole_in - led, led)
    covered = floats_of(course.column("samples")) * tables.settings.interval_s
    with np.errstate(divide="ignore", invalid="ignore"):
        rate_in, rate_out = (
            np.where(covered > 0, each / covered, np.nan) for each in (whole_in, out)
        )
    size, ends = floats_of(course.column("size")), starts + tables.settings.window_s
    series: list[BrokerSeries] = []
    for row in _of_cluster(tables.reference.brokers, cluster).sort_by("broker").to_pylist():
        own = slice(*np.searchsorted(brokers, [row["broker"], row["broker"] + 1]))
        known = row["disk_capacity_bytes"]
        capacity = disk if known is None else float(known)
        figures = (each[own] for each in (ends, size, rate_in, rate_out))
        series.append(BrokerSeries(row["broker"], capacity, *figures))
    return series


def _copies_per_byte(starts: Floats, copied: Floats, led: Floats) -> Floats:
    """Bytes that followers copied for each byte that leaders took in, in the window of each row."""
    windows, index = np.unique(starts, return_inverse=True)
    sums = [np.zeros(len(windows)), np.zeros(len(windows))]
    for total, values in zip(sums, (copied, led), strict=True):
        np.add.at(total, index, np.nan_to_num(values))
    return (sums[0] / np.where(sums[1] > 0, sums[1], np.inf))[index]


def replica_bounds(tables: Tables, cluster: str) -> tuple[int, float]:
    """The most replicas of a partition, and the size of the largest partition."""
    lists = _of_cluster(tables.reference.assignment, cluster).column("replicas")
    most: int | None = compute().max(compute().list_value_length(lists)).as_py()
    sizes = tables.read("gold/partition_load", ["last_size"], where=[("cluster", "=", cluster)])
    largest: int | None = compute().max(sizes.column("last_size")).as_py()
    return most or 1, float(largest or 0)


def topic_usage(
    tables: Tables, cluster: str | None, first: str = "", last: str = "9999"
) -> list[Usage]:
    """Bytes of each cluster, topic and day between two days; stored bytes are byte-seconds."""
    where = [] if cluster is None else [("cluster", "=", cluster)]
    usages: list[Usage] = []
    for day in tables.days("gold/rollup"):
        if not first <= day <= last:
            continue
        rows = tables.read("gold/rollup", USAGE, where=where, day=day)
        sums = rows.group_by(["cluster", "topic"]).aggregate(
            [(name, "sum") for name in (*TRAFFIC, "last_size")]
        )
        order = [("cluster", "ascending"), ("topic", "ascending")]
        for row in sums.sort_by(order).to_pylist():
            amounts = _amounts(row, tables.settings.window_s)
            usages.append(Usage(row["cluster"], row["topic"], day, amounts))
    return usages


def _amounts(row: dict[str, Any], window_s: int) -> dict[str, int]:
    whole_in, out, led = (int(row[f"{name}_sum"] or 0) for name in TRAFFIC)
    stored = int(row["last_size_sum"] or 0) * window_s
    return {"in": led, "out": out, "replication": whole_in - led, "stored": stored}


def measured_shares(tables: Tables) -> dict[str, float]:
    """The share of each day that has windows, from 0 to 1."""
    starts = np.unique(
        seconds_of(tables.read("gold/window_load", ["window_start"]).column("window_start"))
    )
    days, counts = np.unique(
        starts.astype("datetime64[s]").astype("datetime64[D]").astype(str), return_counts=True
    )
    windows = 86_400 / tables.settings.window_s
    return {
        day: min(count / windows, 1.0) for day, count in zip(days.tolist(), counts, strict=True)
    }


def cluster_facts(tables: Tables, cluster: str) -> ClusterFacts:
    """What findings of a cluster are weighed with."""
    brokers = _of_cluster(tables.reference.brokers, cluster)
    disks = brokers.column("disk_capacity_bytes").to_pylist()
    names = ("topic", "partition", "last_size", "growth_bytes_per_day", "sum", "n")
    loads = tables.read("gold/partition_load", names, where=[("cluster", "=", cluster)]).to_pylist()
    placed = _of_cluster(tables.reference.assignment, cluster).to_pylist()
    replicas = {(row["topic"], row["partition"]): tuple(row["replicas"]) for row in placed}
    partitions: dict[str, int] = {}
    for topic, _ in replicas:
        partitions[topic] = partitions.get(topic, 0) + 1
    bytes_in: dict[str, float] = {}
    for row in loads:
        mean = (row["sum"] or 0) / (row["n"] or 1)
        bytes_in[row["topic"]] = bytes_in.get(row["topic"], 0.0) + mean
    return ClusterFacts(
        brokers=len(brokers),
        disk_capacity=None if None in disks else float(sum(disks)),
        stored=float(
            sum(
                (row["last_size"] or 0) * len(replicas.get((row["topic"], row["partition"]), (0,)))
                for row in loads
            )
        ),
        partitions=partitions,
        bytes_in=bytes_in,
        growth_per_day={
            (row["topic"], row["partition"]): float(row["growth_bytes_per_day"] or 0)
            for row in loads
        },
        replicas=replicas,
    )


def broker_health(tables: Tables, cluster: str) -> list[BrokerHealth]:
    """The measurements of each broker, ascending by id; refused without the table."""
    if not tables.has(HEALTH_TABLE):
        what = f"{tables.root}: no table {HEALTH_TABLE}, so no latencies and flush times of brokers"
        raise InvalidRequest(what, hint="ingest a source that has them, such as Prometheus")
    names = [name for name in HEALTH_COLUMNS if name != "cluster"]
    rows = tables.read(HEALTH_TABLE, names, where=[("cluster", "=", cluster)])
    if not rows.num_rows:
        what = f"{tables.root}: no latencies and flush times of brokers of {cluster}"
        raise InvalidRequest(what, hint="ingest a source that has them, such as Prometheus")
    rows = rows.sort_by([("broker", "ascending"), ("ts", "ascending")])
    brokers, times = integers_of(rows.column("broker")), seconds_of(rows.column("ts"))
    values = {name: floats_of(rows.column(name)) for name in MEASUREMENTS}
    found: list[BrokerHealth] = []
    for broker in np.unique(brokers).tolist():
        own = brokers == broker
        of_broker = {name: column[own] for name, column in values.items()}
        found.append(BrokerHealth(broker, times[own], of_broker))
    return found


def _of_cluster(table: Table, cluster: str) -> Table:
    return table.filter(compute().equal(table.column("cluster"), cluster))
