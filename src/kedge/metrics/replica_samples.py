"""From measurements of a topic to samples of its replicas: bytes in and out of each interval.

| column           | of the leader                           | of a follower                       |
|------------------|-----------------------------------------|-------------------------------------|
| size_bytes       | its log at the end of the interval      | the same                            |
| bytes_in         | what producers appended (attributed)    | the same bytes, by replication      |
| bytes_out        | what consumers read (attributed)        | 0: planning adds replication itself |
| in_by, out_by    | the rule by which the bytes were found  | the same                            |
| in_covered_ms, … | the part of the interval that was measured: a rate is bytes over this time    |

Bytes are whole numbers; over the partitions of an interval they add up to the attributed bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from kedge.metrics.attribution import Attributed, Leadership, attribute_topic, whole_numbers
from kedge.metrics.measurement import NONE, Series
from kedge.metrics.origins import choose_origins
from kedge.model.arrow import Table, arrow, compute

OVERLAP_MS: Final = 900_000  # beside a window: the ends of intervals that cross its border


@dataclass(frozen=True, slots=True)
class StateRow:
    """Leader, replicas and ISR of a partition from a moment on.

    `observed`: at that moment; when they changed before or after it is not known.
    """

    partition: int
    since_ms: int
    leader: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    observed: bool = False


@dataclass(frozen=True, slots=True)
class SampleWindow:
    """The intervals to return: those that end after `after_ms` and at or before `until_ms`."""

    grid_ms: int
    after_ms: int = -(2**62)
    until_ms: int = 2**62
    seq: int = 0


def sample_schema() -> Any:
    """The columns of samples, with how their bytes were found."""
    pa = arrow()
    time = pa.timestamp("us", tz="UTC")
    return pa.schema(
        [
            *(("cluster", pa.string()), ("broker", pa.int32()), ("topic", pa.string())),
            *(("partition", pa.int32()), ("ts", time), ("ingest_ts", time), ("seq", pa.int64())),
            *(("is_leader", pa.bool_()), ("size_bytes", pa.int64()), ("bytes_in", pa.int64())),
            *(("bytes_out", pa.int64()), ("isr", pa.int32()), ("rf", pa.int32())),
            *(("origin", pa.string()), ("in_by", pa.string()), ("out_by", pa.string())),
            *(("in_covered_ms", pa.int32()), ("out_covered_ms", pa.int32())),
        ]
    )


def replica_samples(table: Table, states: Sequence[StateRow], window: SampleWindow) -> Table:
    """The samples of one topic.

    The table has the measurements of the topic and of its brokers, with `origin` and `replica`;
    those long before and after the window are left out.
    """
    pc, ts = compute(), table.column("ts_ms")
    # one value far away in time must not make a grid of years
    low, high = (window.after_ms - OVERLAP_MS, window.until_ms + OVERLAP_MS)
    table = table.filter(pc.and_(pc.greater_equal(ts, low), pc.less_equal(ts, high)))
    if not table.num_rows:
        return sample_schema().empty_table()
    measured, origin = choose_origins(table)
    changes, observed = (_leaders(states, observed=each) for each in (False, True))
    found = attribute_topic(measured, changes, window.grid_ms, observed=observed)
    if not found.partitions.num_rows:
        return sample_schema().empty_table()
    rows = _PartitionRows.of(found)
    at, broker, size, leads = _replica_rows(found, rows, _holders(measured), window)
    made = _SampleColumns(measured.column("cluster")[0], found.topic, origin, window.seq, rows)
    return made.table(at, broker, size, leads)


def _leaders(states: Sequence[StateRow], *, observed: bool) -> Leadership:
    chosen = (state for state in states if state.observed == observed)
    return Leadership.of((state.partition, state.since_ms, state.leader) for state in chosen)


@dataclass(frozen=True, slots=True)
class _PartitionRows:
    """The columns of attributed partitions, as arrays."""

    columns: dict[str, Any]
    in_by: Any
    out_by: Any

    @staticmethod
    def of(found: Attributed) -> _PartitionRows:
        names = [n for n in found.partitions.column_names if n not in ("in_by", "out_by")]
        columns = {name: np.asarray(found.partitions.column(name)) for name in names}
        count = len(np.unique(columns["partition"]))
        for name in ("bytes_in", "bytes_out"):
            columns[name] = whole_numbers(columns[name].reshape(count, -1)).ravel()
        rules = (found.partitions.column(n).combine_chunks() for n in ("in_by", "out_by"))
        return _PartitionRows(columns, *(rule.cast(arrow().string()) for rule in rules))

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]


def _holders(measured: Table) -> dict[int, int]:
    """By partition the first broker that has its end offset, and so a replica of it."""
    pc = compute()
    is_offset = pc.equal(measured.column("series"), str(Series.LOG_END_OFFSET))
    known = pc.and_(is_offset, pc.not_equal(measured.column("broker"), NONE))
    found = measured.filter(known).group_by("partition").aggregate([("broker", "min")])
    columns = (found.column(name).to_pylist() for name in ("partition", "broker_min"))
    return dict(zip(*columns, strict=True))


def _replica_rows(
    found: Attributed, rows: _PartitionRows, holders: dict[int, int], window: SampleWindow
) -> tuple[Any, ...]:
    """Row of the partition, broker, size and whether it leads: one row per replica and interval.

    A leader whose size is not known has the largest size of the followers. Where no leader is
    known, the first replica stands for it: bytes belong to the partition. Where no size is known
    either, the first broker that has its end offset is a replica.
    """
    sizes = found.replicas
    key = _row_of(rows, np.asarray(sizes.column("partition")), np.asarray(sizes.column("end_ms")))
    broker = np.asarray(sizes.column("broker")).astype(np.int64)
    size = np.asarray(sizes.column("size_bytes"))
    leader = rows["leader"].astype(np.int64)
    count = len(leader)
    first = np.full(count, 2**31)
    np.minimum.at(first, key, broker)
    leader = np.where((leader == NONE) & (first < 2**31), first, leader)
    unknown = np.flatnonzero(leader == NONE)
    leader[unknown] = [holders.get(each, NONE) for each in rows["partition"][unknown].tolist()]
    largest = np.zeros(count)
    np.maximum.at(largest, key, size)
    present = np.zeros(count, np.bool_)
    present[key[leader[key] == broker]] = True
    missing = np.flatnonzero(~present & (leader != NONE))
    at = np.concatenate([key, missing])
    broker = np.concatenate([broker, leader[missing]])
    size = np.concatenate([size, largest[missing]])
    end = rows["end_ms"][at]
    covered = np.maximum(rows["in_covered_ms"], rows["out_covered_ms"])[at] > 0
    chosen = (end > window.after_ms) & (end <= window.until_ms) & covered
    at, broker, size = at[chosen], broker[chosen], size[chosen]
    return at, broker, size, leader[at] == broker


def _row_of(rows: _PartitionRows, partition: Any, end_ms: Any) -> Any:
    """The row of each partition and interval; rows are sorted by both, without gaps."""
    partitions = np.unique(rows["partition"])
    per_partition = len(rows["partition"]) // len(partitions)
    ends = rows["end_ms"][:per_partition]
    row, column = (
        cast("NDArray[np.int64]", np.searchsorted(known, wanted))
        for known, wanted in ((partitions, partition), (ends, end_ms))
    )
    return row * per_partition + column


@dataclass(frozen=True, slots=True)
class _SampleColumns:
    cluster: Any
    topic: str
    origin: str
    seq: int
    partitions: _PartitionRows

    def table(self, at: Any, broker: Any, size: Any, leads: Any) -> Table:
        """The samples as a table."""
        pa, rows, count = arrow(), self.partitions, len(at)
        ts = pa.array(rows["end_ms"][at] * 1000).cast(pa.timestamp("us", tz="UTC"))
        rf = np.maximum(rows["replicas"][at], 1)
        index = pa.array(at)
        columns = [
            pa.repeat(self.cluster, count),
            pa.array(broker.astype(np.int32)),
            pa.repeat(pa.scalar(self.topic), count),
            pa.array(rows["partition"][at]),
            *(ts, ts),
            pa.repeat(pa.scalar(self.seq, pa.int64()), count),
            pa.array(leads),
            pa.array(size.astype(np.int64)),
            pa.array(rows["bytes_in"][at]),
            pa.array(np.where(leads, rows["bytes_out"][at], 0)),
            pa.array(np.clip(rows["in_sync_replicas"][at], 0, rf).astype(np.int32)),
            pa.array(rf.astype(np.int32)),
            pa.repeat(pa.scalar(self.origin), count),
            rows.in_by.take(index),
            rows.out_by.take(index),
            pa.array(np.rint(rows["in_covered_ms"][at]).astype(np.int32)),
            pa.array(np.rint(rows["out_covered_ms"][at]).astype(np.int32)),
        ]
        return pa.Table.from_arrays(columns, schema=sample_schema())
