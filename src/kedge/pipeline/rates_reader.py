"""Mean rates of partitions over a time, from silver; needs no Spark.

A sample counts with the part of its interval that lies within the time asked for. The mean is over
the time that was measured: an interval that a source covers in part counts in part. Coverage is
that of the cluster, so a partition that did not exist yet has 0 for the time before.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kedge.errors import InvalidRequest
from kedge.files import parquet
from kedge.metrics.attribution import Rule
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline import sinks
from kedge.pipeline.manifest import read_manifest
from kedge.pipeline.warehouse import published_version

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
    tables: Path, cluster: str, *, start: float | None = None, end: float | None = None
) -> list[PartitionRate]:
    """The mean rates of a cluster's partitions between two moments, in seconds since 1970."""
    if start is not None and end is not None and not start < end:
        raise InvalidRequest(f"--from {start:g} is not before --to {end:g}")
    version = published_version(tables)
    interval_s = read_manifest(version).settings.interval_s
    rows = _leader_rows(version / "silver", cluster, start, end)
    if not len(rows):
        raise InvalidRequest(f"{tables}: no samples of cluster {cluster}", hint=_hint(version))
    window = _Window.of(rows, interval_s, start, end)
    if window.share.max(initial=0) <= 0:
        raise InvalidRequest(f"{tables}: no samples of cluster {cluster} between these times")
    return _rates(rows, window, cluster)


def _hint(version: Path) -> str:
    from kedge.pipeline.reference import stored_reference

    clusters = stored_reference(version / "reference").clusters
    return f"clusters: {', '.join(clusters[:10])}"


def _leader_rows(silver: Path, cluster: str, start: float | None, end: float | None) -> Table:
    pa, pc = arrow(), compute()
    days = sorted(silver.glob("dt=*"))
    low = "" if start is None else f"dt={datetime.fromtimestamp(start, UTC):%Y-%m-%d}"
    # the sample that covers the end of the time may be the first one of the next day
    high = "" if end is None else f"dt={datetime.fromtimestamp(end + 86_400, UTC):%Y-%m-%d}"
    days = [day for day in days if day.name >= low and (not high or day.name <= high)]
    tables: list[Table] = []
    for file in (file for day in days for file in sinks.parquet_files(day)):
        names = parquet().read_schema(file).names
        columns = [*COLUMNS, *(name for name in ATTRIBUTION if name in names)]
        table = parquet().read_table(file, columns=columns, partitioning=None)
        chosen = pc.and_(table.column("is_leader"), pc.equal(table.column("cluster"), cluster))
        tables.append(table.filter(chosen))
    if not tables:
        return pa.table({})
    return pa.concat_tables(tables, promote_options="default")


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
        _, index = np.unique(self.end, return_inverse=True)
        longest = np.zeros(index.max() + 1)
        np.maximum.at(longest, index, self.covered[way] * self.share)
        return float(longest.sum())


def _covered(rows: Table, name: str, interval_s: int) -> Any:
    if name not in rows.column_names:
        return np.full(len(rows), float(interval_s))
    filled = compute().fill_null(rows.column(name), interval_s * 1000)
    return np.asarray(filled) / 1000


def _rates(rows: Table, window: _Window, cluster: str) -> list[PartitionRate]:
    pa = arrow()
    amounts = {way: np.asarray(rows.column(f"bytes_{way}")) * window.share for way in ("in", "out")}
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
