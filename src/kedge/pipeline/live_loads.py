"""Loads of a live cluster's partitions from some hours of metrics; needs no Spark.

The samples are made by the same functions as in `kedge pipeline ingest`; here the measurements of
one cluster are held in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from kedge.errors import InvalidRequest
from kedge.metrics.measurement import NONE
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import (
    BrokerMetadata,
    ClusterMetadata,
)
from kedge.metrics.parsing.series_names import SeriesNames
from kedge.metrics.replica_samples import SampleWindow, StateRow, replica_samples
from kedge.model import Broker, BrokerState, Snapshot
from kedge.model.arrow import Table, arrow
from kedge.pipeline.cpu_models import fitted_cpu, model_for_plans
from kedge.pipeline.measured_topics import MeasuredTopics
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
    warnings: Mapping[str, int] = field(default_factory=dict[str, int])  # of the server, by text
    cpu_fit: float | None = None  # the part of the variance of cpu that a model explains
    unmeasured: tuple[int, ...] = ()  # brokers that no series of Kafka is of


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
        # leaders of now are not those of the past: measured leaders are better
        now = StateRow(tp.partition, 0, max(leader, NONE), observed=True)
        states.setdefault(tp.topic, []).append(now)
    measured, warnings = measured_topics(files, metadata, tuple(states), names)
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
    cpu = fitted_cpu(measured.of_brokers())
    loaded = replace(loaded, cpu_model=snapshot.cpu_model or model_for_plans(cpu))
    fit = None if cpu is None else cpu.r_squared
    alive = {int(each.id) for each in snapshot.brokers if each.state is not BrokerState.DEAD}
    unmeasured = tuple(sorted(alive - measured.brokers()))
    return LoadedSnapshot(loaded, known, found.intervals, found.rules, warnings, fit, unmeasured)


def metadata_of(cluster_id: str, brokers: Iterable[Broker]) -> ClusterMetadata:
    """Brokers with the hosts of their listeners."""
    found = tuple(
        BrokerMetadata(
            broker.id, broker.rack, tuple(e.host.lower() for e in broker.endpoints if e.host)
        )
        for broker in brokers
    )
    return ClusterMetadata(cluster_id or "cluster", found)


def measured_topics(
    files: Sequence[Path], metadata: ClusterMetadata, topics: tuple[str, ...], names: SeriesNames
) -> tuple[MeasuredTopics, Mapping[str, int]]:
    """The measurements of Prometheus' answers, and its warnings."""
    distinct = distinct_files(files, (), Origin.PROMETHEUS)
    learned = instances_in(distinct)
    settings = ParseSettings(Origin.PROMETHEUS, metadata, topics, learned, names)
    measured = MeasuredTopics(metadata.cluster, str(Origin.PROMETHEUS))
    warnings: Counter[str] = Counter()
    for file in distinct:
        for collected in parse_metric_file(file.path, settings):
            if collected.malformed:
                raise InvalidRequest(f"an answer of Prometheus: {collected.malformed[0].why}")
            measured.add(collected.take_series())
            warnings.update(collected.warnings)
            collected.warnings.clear()
    return measured, warnings


def topic_samples(measured: MeasuredTopics, states: dict[str, list[StateRow]]) -> Iterable[Table]:
    """The samples of each topic."""
    for topic in measured.topics():
        if topic in states:
            table = measured.of_topic(topic)
            yield replica_samples(table, states[topic], SampleWindow(GRID_MS))


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
