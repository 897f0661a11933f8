"""Mean rates of partitions over a time, from silver; needs no Spark.

A sample counts with the part of its interval that lies within the time asked for. The mean is over
the time that was measured: an interval that a source covers in part counts in part. Coverage is
that of the cluster, so a partition that did not exist yet has 0 for the time before. Brokers are
sampled at different moments, so that topics cover different parts of the first and the last
interval: there each one counts with its rate.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from kedge.errors import InvalidRequest
from kedge.metrics.attribution import Rule
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.table_reader import Condition, Tables
from kedge.pipeline.tables.staged_run import DAY
from kedge.pipeline.warehouse import Place

COLUMNS = ("cluster", "topic", "partition", "ts", "is_leader", "bytes_in", "bytes_out")
ATTRIBUTION = ("in_by", "out_by", "in_covered_ms", "out_covered_ms")


@dataclass(frozen=True, slots=True)
class PartitionRate:
    """Bytes per second of a partition, and the rules by which they were found."""

    cluster: str
    topic: str
    partition: int
    in_bytes_per_s: float
    out_bytes_per_s: float
    in_by: str
    out_by: str

    def to_row(self) -> dict[str, Any]:
        """The rate as a JSON object."""
        return asdict(self)


def read_rates(
    tables: Place, cluster: str, *, start: float | None = None, end: float | None = None
) -> list[PartitionRate]:
    """The mean rates of a cluster's partitions between two moments, in seconds since 1970."""
    if start is not None and end is not None and not start < end:
        raise InvalidRequest(f"--from {start:g} is not before --to {end:g}")
    opened = Tables(tables)
    rows = _leader_rows(opened, cluster, start, end)
    if not len(rows):
        hint = f"clusters: {', '.join(opened.reference.clusters[:10])}"
        raise InvalidRequest(f"{tables}: no samples of cluster {cluster}", hint=hint)
    found = mean_rates(rows, cluster, opened.settings.interval_s, start=start, end=end)
    if not found:
        raise InvalidRequest(f"{tables}: no samples of cluster {cluster} between these times")
    return found


def mean_rates(
    rows: Table, cluster: str, interval_s: int, *, start: float | None, end: float | None
) -> list[PartitionRate]:
    """The mean rates of the leaders' samples between two moments; none without samples there."""
    window = _Window.of(rows, interval_s, start, end)
    return _rates(rows, window, cluster) if window.share.max(initial=0) > 0 else []


def _leader_rows(tables: Tables, cluster: str, start: float | None, end: float | None) -> Table:
    where: list[Condition] = [("cluster", "=", cluster), ("is_leader", "=", True)]
    if start is not None:
        where.append((DAY, ">=", f"{datetime.fromtimestamp(start, UTC):%Y-%m-%d}"))
    if end is not None:
        # the sample that covers the end of the time may be the first one of the next day
        where.append((DAY, "<=", f"{datetime.fromtimestamp(end + 86_400, UTC):%Y-%m-%d}"))
    return tables.read("silver", [*COLUMNS, *ATTRIBUTION], where=where)


@dataclass(frozen=True, slots=True)
class _Window:
    """The share of each row's interval that is asked for, and its measured time in seconds."""

    end: Any  # of the interval, in seconds
    share: Any
    covered: dict[str, Any]  # by direction

    @staticmethod
    def of(rows: Table, interval_s: int, start: float | None, end: float | None) -> _Window:
        ts = np.asarray(rows.column("ts").cast(arrow().int64())) / 1e6
        high = np.minimum(ts, np.inf if end is None else end)
        low = np.maximum(ts - interval_s, -np.inf if start is None else start)
        share = np.clip(high - low, 0, interval_s) / interval_s
        covered = {way: _covered(rows, f"{way}_covered_ms", interval_s) for way in ("in", "out")}
        return _Window(ts, share, covered)

    def seconds(self, way: str) -> float:
        """The time that was measured within the time asked for, in the whole cluster."""
        longest, _ = self._longest(way, self.share)
        return float(longest.sum())

    def amounts(self, way: str, measured: Any) -> Any:
        """What was measured, over the time that the cluster was measured in each interval."""
        longest, index = self._longest(way, 1.0)
        own = self.covered[way]
        factor = np.divide(longest[index], own, out=np.ones(len(own)), where=own > 0)
        return measured * factor * self.share

    def _longest(self, way: str, share: Any) -> tuple[Any, Any]:
        """The longest time that any sample of each interval covers, and the interval of each."""
        _, index = np.unique(self.end, return_inverse=True)
        longest = np.zeros(index.max() + 1)
        np.maximum.at(longest, index, self.covered[way] * share)
        return longest, index


def _covered(rows: Table, name: str, interval_s: int) -> Any:
    if name not in rows.column_names:
        return np.full(len(rows), float(interval_s))
    filled = compute().fill_null(rows.column(name), interval_s * 1000)
    return np.asarray(filled) / 1000


def _rates(rows: Table, window: _Window, cluster: str) -> list[PartitionRate]:
    pa = arrow()
    amounts = {
        way: window.amounts(way, np.asarray(rows.column(f"bytes_{way}"))) for way in ("in", "out")
    }
    table = pa.table(
        {
            "topic": rows.column("topic"),
            "partition": rows.column("partition"),
            **{f"{way}_bytes": pa.array(amount) for way, amount in amounts.items()},
            **{f"{way}_by": _rules(rows, f"{way}_by") for way in ("in", "out")},
        }
    ).filter(pa.array(window.share > 0))
    key = ["topic", "partition"]
    sums = table.group_by(key).aggregate([("in_bytes", "sum"), ("out_bytes", "sum")])
    seconds = {way: window.seconds(way) for way in ("in", "out")}
    rules = {way: _main_rules(table, way) for way in ("in", "out")}
    found = sums.sort_by([(name, "ascending") for name in key]).to_pylist()
    return [
        PartitionRate(
            cluster,
            row["topic"],
            row["partition"],
            *(row[f"{way}_bytes_sum"] / (seconds[way] or 1.0) for way in ("in", "out")),
            *(rules[way][row["topic"], row["partition"]] for way in ("in", "out")),
        )
        for row in found
    ]


def _rules(rows: Table, name: str) -> Any:
    """The rule of each row; samples that arrived as such are measured."""
    if name not in rows.column_names:
        return arrow().repeat(arrow().scalar(str(Rule.MEASURED)), len(rows))
    return compute().fill_null(rows.column(name), str(Rule.MEASURED))


def _main_rules(table: Table, way: str) -> dict[tuple[str, int], str]:
    """The rule by which most of each partition's bytes were found."""
    columns = ["topic", "partition", f"{way}_by"]
    found = table.group_by(columns).aggregate([(f"{way}_bytes", "sum"), (f"{way}_bytes", "count")])
    order = [(f"{way}_bytes_sum", "ascending"), (f"{way}_bytes_count", "ascending")]
    rows = found.sort_by(order).to_pylist()
    return {(row["topic"], row["partition"]): row[f"{way}_by"] for row in rows}
