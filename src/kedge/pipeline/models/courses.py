"""Roll-up of samples by replica and window, and time series of partitions, brokers and clusters.

`roll_up` gives the rows of `kedge.pipeline.transforms.roll_up`, which is for more rows than fit
into this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.models.key_index import (
    BROKER_KEY,
    CLUSTER_KEY,
    PARTITION_KEY,
    REPLICA_KEY,
    Numbers,
    index_keys,
    ints,
    plain,
    seconds,
)

WINDOW: Final = "window_start"
SAMPLE_INPUT: Final = (
    *REPLICA_KEY,
    *("ts", "is_leader", "size_bytes", "bytes_in", "bytes_out", "isr"),
)
MOVED: Final = ("bytes_in", "bytes_out")
SUMMED: Final = ("rows", "bytes_in", "bytes_out", "leader_rows", "leader_bytes_in")
PARTITION_INPUT: Final = (
    *(*PARTITION_KEY, WINDOW, "leader_bytes_in", "leader_bytes_out", "leader_rows"),
    *("last_ts", "last_size", "min_isr", "max_isr"),
)
BROKER_INPUT: Final = (*BROKER_KEY, WINDOW, *SUMMED, "last_size", "max_size_bytes")


class _Groups:
    """The rows of a table by key and window."""

    def __init__(self, table: Table, key: Sequence[str], then: Sequence[Numbers] = ()) -> None:
        numbers, window = _key_numbers(key, table), ints(table.column(WINDOW))
        self.order: Any = np.lexsort((*then, window, numbers))
        numbers, window = numbers[self.order], window[self.order]
        new = np.ones(len(numbers), bool)
        new[1:] = (numbers[1:] != numbers[:-1]) | (window[1:] != window[:-1])
        self.starts = np.flatnonzero(new)
        self.table = table
        pa = arrow()
        first = pa.array(self.order[self.starts])
        self.columns: dict[str, Any] = {
            name: plain(table.column(name).take(first)) for name in (*key, WINDOW)
        }

    def _sorted(self, name: str) -> Numbers:
        return ints(self.table.column(name))[self.order]

    def sum(self, name: str) -> Numbers:
        return _reduced(np.add, self._sorted(name), self.starts)

    def max(self, name: str) -> Numbers:
        return _reduced(np.maximum, self._sorted(name), self.starts)

    def min(self, name: str) -> Numbers:
        return _reduced(np.minimum, self._sorted(name), self.starts)

    def last(self, name: str) -> Numbers:
        ends = np.append(self.starts[1:], len(self.order)) - 1 if len(self.order) else self.starts
        return self._sorted(name)[ends]


def _key_numbers(key: Sequence[str], table: Table) -> Numbers:
    """A number for the key of each row; a key of one integer is its own."""
    if len(key) == 1 and arrow().types.is_integer(table.column(key[0]).type):
        return ints(table.column(key[0]))
    return index_keys(key, table).rows[0]


def _reduced(function: Any, values: Numbers, starts: Numbers) -> Numbers:
    return function.reduceat(values, starts) if len(starts) else values[:0]


def roll_up(samples: Table, *, window_s: int, by: Sequence[str] = REPLICA_KEY) -> Table:
    """One row per replica and window: sums, the last size, and the range of the ISR size."""
    pa, at = arrow(), seconds(samples.column("ts"))
    led = ints(samples.column("is_leader"))
    added = {
        WINDOW: pa.array((at - at % window_s) * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
        "rows": pa.array(np.ones(len(at), np.int64)),
        **{f"leader_{name}": pa.array(led * ints(samples.column(name))) for name in MOVED},
    }
    for name, column in added.items():
        samples = samples.append_column(name, column)
    groups = _Groups(samples, by, [ints(samples.column("ts"))])
    return pa.table(
        {
            **groups.columns,
            "rows": groups.sum("rows"),
            **{name: groups.sum(name) for name in MOVED},
            "leader_rows": groups.sum("is_leader"),
            **{f"leader_{name}": groups.sum(f"leader_{name}") for name in MOVED},
            "last_ts": pa.array(groups.last("ts")).cast(pa.timestamp("us", tz="UTC")),
            "last_size": groups.last("size_bytes"),
            "max_size_bytes": groups.max("size_bytes"),
            "min_isr": pa.array(groups.min("isr"), pa.int32()),
            "max_isr": pa.array(groups.max("isr"), pa.int32()),
        }
    )


def partition_course(rollup: Table) -> Table:
    """Time series of each partition: the traffic of its leader, and the size of its replicas."""
    newest = [ints(rollup.column(name)) for name in ("last_size", "last_ts")]
    groups = _Groups(rollup, PARTITION_KEY, newest)
    pa = arrow()
    return pa.table(
        {
            **groups.columns,
            "bytes_in": groups.sum("leader_bytes_in"),
            "bytes_out": groups.sum("leader_bytes_out"),
            "samples": groups.sum("leader_rows"),
            "size": groups.last("last_size"),
            "min_isr": pa.array(groups.min("min_isr"), pa.int32()),
            "max_isr": pa.array(groups.max("max_isr"), pa.int32()),
        }
    )


def broker_course(rollup: Table) -> Table:
    """Time series of each broker: traffic and size of all its replicas."""
    groups = _Groups(rollup, BROKER_KEY)
    return arrow().table(
        {
            **groups.columns,
            **{name: groups.sum(name) for name in SUMMED},
            "samples": groups.max("rows"),
            "size": groups.sum("last_size"),
            "max_size_bytes": groups.max("max_size_bytes"),
        }
    )


def window_load(course: Table) -> Table:
    """One row per cluster and window, from the time series of the brokers."""
    groups = _Groups(course, CLUSTER_KEY)
    totals = {name: groups.sum(name) for name in ("rows", "bytes_in", "bytes_out")}
    return arrow().table({**groups.columns, **totals})
