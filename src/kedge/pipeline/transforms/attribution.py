"""Attributes measurements to partitions: one group of a day and a bucket of topics at a time.

Each group also has the measurements shortly before and after its day, so that the interval across
midnight has both its ends. Which broker answered when is the same for all topics: it is read by the
workers from the table of broker measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

import numpy as np
from pyspark.sql import DataFrame

from kedge.metrics.measurement import Series
from kedge.metrics.replica_samples import (
    OVERLAP_MS,
    SampleWindow,
    StateRow,
    replica_samples,
    sample_schema,
)
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.schemas import ATTRIBUTION, SAMPLE
from kedge.pipeline.sources.packed_measurements import COLUMNS, DAY_MS, EPOCH, unpacked
from kedge.pipeline.tables.location import read_parquet_file

SAMPLES_DDL: Final = ", ".join(
    f"`{f.name}` {f.dataType.simpleString()}" for f in (*SAMPLE.fields, *ATTRIBUTION.fields)
)

BrokerFiles = Mapping[str, tuple[str, ...]]  # by day
States = Mapping[str, Sequence[StateRow]]  # by topic


@dataclass(frozen=True, slots=True)
class AttributionSettings:
    """The grid of intervals, the sequence number of the samples, and where brokers are measured."""

    grid_ms: int
    seq: int
    brokers: BrokerFiles  # of broker measurements


def attribute(
    packed: DataFrame, *, cluster: str, states: States, settings: AttributionSettings
) -> DataFrame:
    """The samples of a cluster; `packed` has its measurements by day (`chunk`) and bucket."""
    work: Any = _group_function(cluster, states, settings)
    return packed.groupBy("chunk", "bucket").applyInArrow(work, SAMPLES_DDL)


def _group_function(
    cluster: str, states: States, settings: AttributionSettings
) -> Callable[..., Table]:
    def attribute_group(key: tuple[Any, ...], table: Table) -> Table:
        chunk = key[0].as_py()
        start = chunk * DAY_MS
        days = (str(EPOCH + timedelta(chunk + by)) for by in (-1, 0, 1))
        near = (file for day in days for file in settings.brokers.get(day, ()))
        up = brokers_up(tuple(near), cluster, chunk)
        # a sample belongs to the day of its time, the end of its interval
        window = SampleWindow(settings.grid_ms, start - 1, start + DAY_MS - 1, settings.seq)
        found = [sample_schema().empty_table()]
        for topic, rows in _by_topic(unpacked(table.column("packed"))):
            measured = arrow().concat_tables([rows, up], promote_options="permissive")
            samples = replica_samples(measured, states.get(topic, ()), window)
            found.append(samples.cast(sample_schema()))
        return arrow().concat_tables(found)

    return attribute_group


def _by_topic(table: Table) -> Iterator[tuple[str, Table]]:
    """The rows of each topic."""
    topics = table.column("topic").combine_chunks()
    codes = np.asarray(topics.indices)
    ordered, start = table.take(arrow().array(np.argsort(codes, kind="stable"))), 0
    for name, length in zip(
        topics.dictionary.to_pylist(),
        np.bincount(codes, minlength=len(topics.dictionary)).tolist(),
        strict=True,
    ):
        if length:
            yield name, _as_text(ordered.slice(start, length))
            start += length


def _as_text(table: Table) -> Table:
    """The rows without encoding, which is that of all topics of the group."""
    return table.cast(_no_rows().schema)


@lru_cache(maxsize=8)
def brokers_up(files: tuple[str, ...], cluster: str, chunk: int) -> Table:
    """When each broker answered, around one day."""
    pa, pc = arrow(), compute()
    found: list[Table] = []
    for file in files:
        table = read_parquet_file(file, COLUMNS)
        wanted = pc.and_(
            pc.equal(table.column("series"), str(Series.UP)),
            pc.equal(table.column("cluster"), cluster),
        )
        table = table.filter(wanted)
        low, high = chunk * DAY_MS - OVERLAP_MS, (chunk + 1) * DAY_MS + OVERLAP_MS
        ts = table.column("ts_ms")
        found.append(table.filter(pc.and_(pc.greater_equal(ts, low), pc.less(ts, high))))
    return pa.concat_tables(found) if found else _no_rows()


def _no_rows() -> Table:
    pa = arrow()
    kinds = {"ts_ms": pa.int64(), "value": pa.float64(), "broker": pa.int32()}
    kinds["partition"] = pa.int32()
    return pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS]).empty_table()
