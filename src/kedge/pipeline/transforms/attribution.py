"""Attributes measurements to partitions: one group of a cluster, a topic and a day at a time.

Each group also has the measurements shortly before and after its day, so that the interval across
midnight has both its ends. Which broker answered when is the same for all topics: it is read by the
workers from the table of broker measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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
from kedge.pipeline.tables.location import read_parquet_file

EPOCH: Final = date(1970, 1, 1)
DAY_MS: Final = 86_400_000
GROUP_COLUMNS: Final = (
    *("cluster", "ts_ms", "series", "value", "broker", "topic", "partition", "group"),
    *("replica", "origin"),
)
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
    topics: DataFrame,
    *,
    days: Collection[str],
    states: States,
    settings: AttributionSettings,
) -> DataFrame:
    """The samples of these days; `topics` are measurements of one cluster that overlap them."""
    wanted = set(days)
    edges = [F.col("ts_ms") + shift for shift in (-OVERLAP_MS, 0, OVERLAP_MS)]
    chunks = F.array_distinct(F.array(*(F.floor(e / DAY_MS).cast("int") for e in edges)))
    rows = topics.select(*GROUP_COLUMNS, F.explode(chunks).alias("chunk"))
    numbers = [day_number(day) for day in sorted(wanted)]
    grouped = rows.where(F.col("chunk").isin(numbers)).groupBy("cluster", "topic", "chunk")
    work: Any = _group_function(states, settings)
    return grouped.applyInArrow(work, SAMPLES_DDL)


def day_number(day: str) -> int:
    """Days since 1970."""
    return (date.fromisoformat(day) - EPOCH).days


def _group_function(states: States, settings: AttributionSettings) -> Callable[..., Table]:
    def attribute_group(key: tuple[Any, ...], table: Table) -> Table:
        cluster, topic, chunk = (part.as_py() for part in key)
        start = chunk * DAY_MS
        days = (str(EPOCH + timedelta(chunk + by)) for by in (-1, 0, 1))
        near = (file for day in days for file in settings.brokers.get(day, ()))
        up = brokers_up(tuple(near), cluster, chunk)
        rows = arrow().concat_tables([table.select(list(GROUP_COLUMNS)), up])
        # a sample belongs to the day of its time, the end of its interval
        window = SampleWindow(settings.grid_ms, start - 1, start + DAY_MS - 1, settings.seq)
        return replica_samples(rows, states.get(topic, ()), window).cast(sample_schema())

    return attribute_group


@lru_cache(maxsize=8)
def brokers_up(files: tuple[str, ...], cluster: str, chunk: int) -> Table:
    """When each broker answered, around one day."""
    pa, pc = arrow(), compute()
    found: list[Table] = []
    for file in files:
        table = read_parquet_file(file, GROUP_COLUMNS)
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
    fields = [(name, kinds.get(name, pa.string())) for name in GROUP_COLUMNS]
    return pa.schema(fields).empty_table()
