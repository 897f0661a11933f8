"""Loads of a live cluster's partitions from some hours of metrics; needs no Spark.

The samples are made by the same functions as in `kedge pipeline ingest`; here the measurements of
one cluster are held in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from kedge.errors import InvalidRequest
from kedge.metrics.attribution.brokers import broker_traffic
from kedge.metrics.attribution.cpu import CpuModel as FittedCpu
from kedge.metrics.attribution.cpu import fit_cpu
from kedge.metrics.measurement import NONE, SCHEMA, Series
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import (
    BrokerMetadata,
    ClusterMetadata,
    LeaderHistory,
    MetadataChange,
    PartitionState,
)
from kedge.metrics.parsing.series_names import SeriesNames
from kedge.metrics.replica_samples import SampleWindow, StateRow, replica_samples
from kedge.model import Broker, CpuModel, Snapshot
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.sources.metric_files import (
    ParseSettings,
    distinct_files,
    instances_in,
    parse_metric_file,
)

GRID_MS: Final = 60_000
PERCENTILES: Final = {"p50": 50.0, "p95": 95.0, "max": 100.0}
STATISTICS: Final = (*PERCENTILES, "mean")


@dataclass(frozen=True, slots=True)
class LoadedSnapshot:
    """A snapshot with loads, how many partitions have them, and by which rules."""

    snapshot: Snapshot
    partitions: int
    minutes: int
    rules: dict[str, int]  # partitions by rule of bytes in
    cpu_fit: float | None = None  # the part of the variance of cpu that a model explains


def snapshot_with_loads(
    snapshot: Snapshot,
    metadata: ClusterMetadata,
    files: Sequence[Path],
    names: SeriesNames,
    statistic: str,
) -> LoadedSnapshot:
    """The snapshot of a live cluster with the loads that files of Prometheus' answers tell."""
    if statistic not in STATISTICS:
        raise InvalidRequest(f"unknown load {statistic!r}", hint=f"use {', '.join(STATISTICS)}")
    keys = snapshot.assignment.keys()
    states: dict[str, list[StateRow]] = {}
    for tp, leader in zip(keys, snapshot.leader.tolist(), strict=True):
        states.setdefault(tp.topic, []).append(StateRow(tp.partition, 0, max(leader, NONE)))
    measured = measured_table(files, metadata, tuple(states), names)
    found = _rates(topic_samples(measured, states), statistic)
    if not found.rates:
        hint = "see instance_to_broker in --metadata, and --prometheus-match"
        raise InvalidRequest("no bytes of this cluster's partitions were measured", hint=hint)
    missing = (np.nan, np.nan)
    pairs = [found.rates.get((tp.topic, tp.partition), missing) for tp in keys]
    values = np.array(pairs, np.float64).reshape(-1, 2)
    # a topic that no counter names while its brokers answer carries nothing
    loaded = replace(snapshot, bytes_in=values[:, 0].copy(), bytes_out=values[:, 1].copy())
    known = int((~np.isnan(values[:, 0])).sum())
    cpu = fit_cpu(_all_out(broker_traffic(measured.select(SCHEMA.names))))
    if cpu is not None and cpu.good and snapshot.cpu_model is None:
        loaded = replace(loaded, cpu_model=_percent(cpu))
    fit = None if cpu is None else cpu.r_squared
    return LoadedSnapshot(loaded, known, found.intervals, found.rules, fit)


def _all_out(traffic: Table) -> Table:
    """Bytes to clients and to followers as one column: snapshots have one cost for both."""
    pc = compute()
    served = pc.add(traffic["bytes_out"], pc.fill_null(traffic["replication_out"], 0.0))
    none = arrow().nulls(len(traffic), arrow().float64())
    for name, column in (("bytes_out", served), ("replication_out", none)):
        traffic = traffic.set_column(traffic.column_names.index(name), name, column)
    return traffic


def _percent(cpu: FittedCpu) -> CpuModel:
    """Percent of the machine, or of one core where brokers tell cores; what is idle is no load."""
    costs = (cpu.per_byte_in, cpu.per_byte_out, cpu.per_byte_replication_in)
    return CpuModel(*(100 * cost for cost in costs))


def metadata_of(cluster_id: str, brokers: Iterable[Broker]) -> ClusterMetadata:
    """Brokers with the hosts of their listeners."""
    found = tuple(
        BrokerMetadata(
            broker.id, broker.rack, tuple(e.host.lower() for e in broker.endpoints if e.host)
        )
        for broker in brokers
    )
    return ClusterMetadata(cluster_id or "cluster", found)


def history_of(snapshot: Snapshot) -> LeaderHistory:
    """Leaders, replicas and ISR of a snapshot as the only change of its history."""
    topics: dict[str, dict[int, PartitionState]] = {}
    lists = zip(snapshot.assignment.replicas.tolist(), snapshot.isr.tolist(), strict=True)
    rows = zip(snapshot.assignment.keys(), snapshot.leader.tolist(), lists, strict=True)
    for tp, leader, (replicas, isr) in rows:
        ids = (tuple(broker for broker in each if broker >= 0) for each in (replicas, isr))
        state = PartitionState(max(leader, NONE), *ids)
        topics.setdefault(tp.topic, {})[tp.partition] = state
    at = snapshot.taken_at
    return (MetadataChange(0 if at is None else int(at.timestamp() * 1000), topics),)


def measured_table(
    files: Sequence[Path], metadata: ClusterMetadata, topics: tuple[str, ...], names: SeriesNames
) -> Table:
    """The measurements of files of Prometheus' answers, with `origin` and `replica`."""
    distinct = distinct_files(files, (), Origin.PROMETHEUS)
    learned = instances_in(distinct)
    settings = ParseSettings(Origin.PROMETHEUS, metadata, topics, learned, names)
    batches: list[Any] = []
    for file in distinct:
        for collected in parse_metric_file(file.path, settings):
            if collected.malformed:
                raise InvalidRequest(f"an answer of Prometheus: {collected.malformed[0].why}")
            batches.append(collected.take())
    pa = arrow()
    table = pa.Table.from_batches(batches)
    origin = pa.repeat(pa.scalar(str(Origin.PROMETHEUS)), table.num_rows)
    return table.append_column("origin", origin)


def topic_samples(measured: Table, states: dict[str, list[StateRow]]) -> Iterable[Table]:
    """The samples of each topic."""
    pc = compute()
    no_topic = pc.equal(measured.column("topic"), "")
    up = measured.filter(pc.and_(no_topic, pc.equal(measured.column("series"), str(Series.UP))))
    of_topics = measured.filter(pc.invert(no_topic)).sort_by("topic")
    names = np.asarray(of_topics.column("topic").combine_chunks().dictionary_encode().indices)
    starts = [0, *(np.flatnonzero(np.diff(names)) + 1).tolist(), len(names)]
    for first, last in pairwise(starts):
        rows = of_topics.slice(first, last - first)
        topic = rows.column("topic")[0].as_py() if last > first else ""
        if topic in states:
            table = arrow().concat_tables([rows, up])
            # leaders of now are not those of the past: measured leaders are better
            has_leaders = pc.any(pc.equal(rows.column("series"), str(Series.REPLICAS))).as_py()
            known = () if has_leaders else states[topic]
            yield replica_samples(table, known, SampleWindow(GRID_MS))


@dataclass(frozen=True, slots=True)
class _Rates:
    rates: dict[tuple[str, int], tuple[float, float]]
    intervals: int
    rules: dict[str, int]


def _rates(samples: Iterable[Table], statistic: str) -> _Rates:
    """Bytes per second in and out of each partition."""
    rates: dict[tuple[str, int], tuple[float, float]] = {}
    rules: dict[str, int] = {}
    intervals = 0
    for table in samples:
        leads = table.filter(table.column("is_leader"))
        if not len(leads):
            continue
        topic = leads.column("topic")[0].as_py()
        partition = np.asarray(leads.column("partition"))
        order = np.argsort(partition, kind="stable")
        starts = np.flatnonzero(np.append([True], np.diff(partition[order]) != 0))
        for rows in np.split(order, starts[1:]):
            both = (_statistic(leads, way, rows, statistic) for way in ("in", "out"))
            rates[topic, int(partition[rows[0]])] = (next(both), next(both))
            rule = _main_rule(leads, rows)
            rules[rule] = rules.get(rule, 0) + 1
            intervals = max(intervals, len(rows))
    return _Rates(rates, intervals, rules)


def _main_rule(leads: Table, rows: Any) -> str:
    """The rule of most intervals."""
    rules: list[str] = leads.column("in_by").take(arrow().array(rows)).to_pylist()
    return Counter(rules).most_common(1)[0][0]


def _statistic(leads: Table, way: str, rows: Any, statistic: str) -> float:
    amount = np.asarray(leads.column(f"bytes_{way}"))[rows].astype(np.float64)
    covered = np.asarray(leads.column(f"{way}_covered_ms"))[rows] / 1000.0
    if statistic == "mean":
        return float(amount.sum() / covered.sum()) if covered.sum() > 0 else 0.0
    # an interval of which only seconds were measured says little
    whole = covered >= GRID_MS / 2000
    values = amount[whole] / covered[whole]
    if not len(values):
        return float(amount.sum() / covered.sum()) if covered.sum() > 0 else 0.0
    return float(np.percentile(values, PERCENTILES[statistic], method="inverted_cdf"))
