"""Attribution of one topic: from measurements to bytes of its partitions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from kedge.metrics.attribution.bytes_in import Shares, bytes_in
from kedge.metrics.attribution.bytes_out import bytes_out
from kedge.metrics.attribution.grid import DEFAULT_GRID_MS, Grid
from kedge.metrics.attribution.leadership import Leadership, known_leaders, leadership_seen
from kedge.metrics.attribution.replicas import ReplicaSizes, replica_counts, replica_sizes
from kedge.metrics.attribution.result import (
    PARTITION_COLUMNS,
    REPLICA_COLUMNS,
    Attributed,
    Rule,
)
from kedge.metrics.attribution.samples import Ints, TopicSamples, read_samples
from kedge.metrics.measurement import NONE, Series
from kedge.model.arrow import Column, Table, arrow

_RULES: Final = list(Rule)


def attribute_topic(
    table: Table,
    leaders: Leadership | None = None,
    grid_ms: int | None = None,
    *,
    observed: Leadership | None = None,
) -> Attributed:
    """Attribute the measurements of one topic of one cluster to its partitions, by interval.

    `table` has `measurement.SCHEMA`: every row of the topic, and the rows of its brokers without a
    topic that tell when they were up. `leaders` are the changes of leaders over time, `observed`
    the leaders of single moments, for where neither changes nor measurements tell who led.
    """
    samples = read_samples(table)
    leaders = known_leaders(leaders, observed, leadership_seen(samples))
    partitions = _partitions(samples, leaders)
    span = samples.span()
    if span is None or not len(partitions):
        empty = (PARTITION_COLUMNS.empty_table(), REPLICA_COLUMNS.empty_table())
        return Attributed(samples.topic, *empty)
    first = span[0] - samples.before_rates()
    grid = Grid.around(first, span[1], DEFAULT_GRID_MS if grid_ms is None else grid_ms)
    appended = bytes_in(samples, partitions, grid, leaders)
    read = bytes_out(samples, partitions, grid, leaders, appended)
    sizes = replica_sizes(samples, partitions, grid)
    at_ends = np.full((len(partitions), grid.count), NONE, np.int64)
    if leaders is not None:
        at_ends = leaders.at_ends(partitions, grid)
    table = _partition_table(samples, partitions, grid, appended.shares, read, at_ends, sizes)
    return Attributed(samples.topic, table, _replica_table(partitions, grid, sizes, at_ends))


def _partitions(samples: TopicSamples, leaders: Leadership | None) -> Ints:
    known = {partition for points in samples.series.values() for partition in points.partitions()}
    if leaders is not None:
        known.update(leaders.partition.tolist())
    return np.array(sorted(known - {NONE}), np.int64)


def _partition_table(
    samples: TopicSamples,
    partitions: Ints,
    grid: Grid,
    appended: Shares,
    read: Shares,
    leaders: Ints,
    sizes: ReplicaSizes,
) -> Table:
    rows, count = len(partitions), grid.count
    held = np.zeros((rows, count), np.int64)
    np.add.at(held, (sizes.row, sizes.interval), 1)
    replicas, in_sync = (
        replica_counts(samples, series, partitions, grid)
        for series in (Series.REPLICAS, Series.IN_SYNC_REPLICAS)
    )
    replicas = np.where(replicas == NONE, held, replicas)
    in_sync = np.where(in_sync == NONE, replicas, in_sync)
    ends = np.tile(grid.edges[1:], rows)
    columns: list[Any] = [
        np.repeat(partitions, count).astype(np.int32),
        ends - grid.step_ms,
        ends,
        appended.amount.ravel(),
        read.amount.ravel(),
        np.tile(appended.covered_ms, rows),
        np.tile(read.covered_ms, rows),
        _rules(appended.rule, count),
        _rules(read.rule, count),
        np.repeat(appended.uncertain, count),
        np.repeat(read.uncertain, count),
        leaders.ravel().astype(np.int32),
        replicas.ravel().astype(np.int32),
        np.minimum(in_sync, replicas).ravel().astype(np.int32),
    ]
    return _table(columns, PARTITION_COLUMNS)


def _rules(rules: list[Rule], count: int) -> Column:
    codes = np.repeat(np.array([_RULES.index(rule) for rule in rules], np.int8), count)
    return arrow().DictionaryArray.from_arrays(codes, [rule.value for rule in _RULES])


def _replica_table(partitions: Ints, grid: Grid, sizes: ReplicaSizes, leaders: Ints) -> Table:
    columns: list[Any] = [
        partitions[sizes.row].astype(np.int32),
        sizes.broker.astype(np.int32),
        grid.edges[1:][sizes.interval],
        sizes.size,
        leaders[sizes.row, sizes.interval] == sizes.broker,
    ]
    return _table(columns, REPLICA_COLUMNS)


def _table(columns: list[Any], schema: Any) -> Table:
    pa = arrow()
    return pa.table([pa.array(column) for column in columns], schema=schema)
