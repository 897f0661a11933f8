"""Mean rates of partitions over a time, from silver; needs no Spark.

A sample counts with the part of its interval that lies within the time asked for. The mean is over
the time that was measured: an interval that a source covers in part counts in part. Coverage is
that of the cluster, so a partition that did not exist yet has 0 for the time before. Brokers are
sampled at different moments, so that topics cover different parts of the first and the last
interval: there each one counts with its rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from kedge.errors import InvalidRequest
from kedge.metrics.attribution import Rule
from kedge.model.arrow import Table, arrow, compute
from kedge.model.columns import Floats
from kedge.model.parse_amounts import check_moment
from kedge.pipeline.table_reader import Condition, Tables, seconds_of
from kedge.pipeline.warehouse import Place

COLUMNS = ("cluster", "topic", "partition", "ts", "is_leader", "bytes_in", "bytes_out")
KEY = ("topic", "partition")
WAYS = ("in", "out")
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
    check_moment(start, "--from")
    check_moment(end, "--to")
    if start is not None and end is not None and not start < end:
        raise InvalidRequest(f"--from {start:.15g} is not before --to {end:.15g}")
    opened = Tables(tables)
    found = RateSums(opened.settings.interval_s, start, end)
    for day in _days(opened, start, end):
        found.add(_leader_rows(opened, cluster, day, [*COLUMNS, *ATTRIBUTION]))
    rates = found.rates(cluster)
    if not rates:
        opened.chosen_clusters(cluster)
        raise _no_rates(opened, cluster)
    return rates


def _no_rates(tables: Tables, cluster: str) -> InvalidRequest:
    """Why a cluster that is known has no rates: no samples at all, or none at that time."""
    span = _span(tables, cluster)
    if span is None:
        hint = "see what `kedge pipeline ingest` noted"
        return InvalidRequest(f"{tables.root}: no samples of cluster {cluster}", hint=hint)
    what = f"{tables.root}: no samples of cluster {cluster} between these times"
    return InvalidRequest(what, hint=f"there are samples from {span[0]:.15g} to {span[1]:.15g}")


def _span(tables: Tables, cluster: str) -> tuple[float, float] | None:
    """The start of the first and the end of the last interval with samples, in seconds."""
    days = tables.days("silver")
    first = next(filter(len, (_ends(tables, cluster, day) for day in days)), None)
    last = next(filter(len, (_ends(tables, cluster, day) for day in reversed(days))), None)
    if first is None or last is None:
        return None
    return float(first.min()) - tables.settings.interval_s, float(last.max())


def _ends(tables: Tables, cluster: str, day: str) -> Floats:
    """The ends of the intervals of a day, one of each sample."""
    return seconds_of(_leader_rows(tables, cluster, day, ["ts"]).column("ts"))


def mean_rates(
    rows: Table, cluster: str, interval_s: int, *, start: float | None, end: float | None
) -> list[PartitionRate]:
    """The mean rates of the leaders' samples between two moments; none without samples there."""
    found = RateSums(interval_s, start, end)
    found.add(rows)
    return found.rates(cluster)


def _days(tables: Tables, start: float | None, end: float | None) -> list[str]:
    """The days that have samples between two moments."""
    first = "" if start is None else f"{datetime.fromtimestamp(start, UTC):%Y-%m-%d}"
    # the sample that covers the end of the time may be the first one of the next day
    last = "~" if end is None else f"{datetime.fromtimestamp(end + 86_400, UTC):%Y-%m-%d}"
    return [day for day in tables.days("silver") if first <= day <= last]


def _leader_rows(tables: Tables, cluster: str, day: str, columns: Sequence[str]) -> Table:
    where: list[Condition] = [("cluster", "=", cluster), ("is_leader", "=", True)]
    return tables.read("silver", columns, where=where, day=day)


@dataclass(frozen=True, slots=True)
class _Window:
    """The share of each interval within the requested time, and its measured time in seconds."""

    end: Any  # of the interval, in seconds
    share: Any
    covered: dict[str, Any]  # by direction

    @staticmethod
    def of(rows: Table, interval_s: int, start: float | None, end: float | None) -> _Window:
        ts = np.asarray(rows.column("ts").cast(arrow().int64())) / 1e6
        high = np.minimum(ts, np.inf if end is None else end)
        low = np.maximum(ts - interval_s, -np.inf if start is None else start)
        share = np.clip(high - low, 0, interval_s) / interval_s
        covered = {way: _covered(rows, f"{way}_covered_ms", interval_s) for way in WAYS}
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


class RateSums:
    """Bytes by partition and rule, and measured time, summed up a day at a time: a week of a large
    cluster does not fit into memory. All samples of an interval are of the same day."""

    def __init__(self, interval_s: int, start: float | None, end: float | None) -> None:
        self._interval_s, self._start, self._end = interval_s, start, end
        self._seconds = dict.fromkeys(WAYS, 0.0)
        self._parts: dict[str, list[Table]] = {way: [] for way in WAYS}

    def add(self, rows: Table) -> None:
        """Count the rows of whole intervals."""
        window = _Window.of(rows, self._interval_s, self._start, self._end)
        if not window.share.max(initial=0) > 0:
            return
        within = arrow().array(window.share > 0)
        for way in WAYS:
            self._seconds[way] += window.seconds(way)
            amounts = window.amounts(way, np.asarray(rows.column(f"bytes_{way}")))
            named = {name: rows.column(name) for name in KEY}
            columns = {**named, "rule": _rules(rows, f"{way}_by"), "bytes": arrow().array(amounts)}
            counted = arrow().table(columns).filter(within).group_by([*KEY, "rule"])
            sums = counted.aggregate([("bytes", "sum"), ("bytes", "count")])
            self._parts[way].append(sums.rename_columns([*KEY, "rule", "bytes", "samples"]))

    def rates(self, cluster: str) -> list[PartitionRate]:
        """The mean rates over the time that was measured."""
        found = {way: self._by_partition(way) for way in WAYS if self._parts[way]}
        seconds = {way: self._seconds[way] or 1.0 for way in WAYS}
        rates: list[PartitionRate] = []
        for key in sorted(found.get("in", ())):
            (bytes_in, in_by), (bytes_out, out_by) = found["in"][key], found["out"][key]
            into, out = bytes_in / seconds["in"], bytes_out / seconds["out"]
            rates.append(PartitionRate(cluster, *key, into, out, in_by, out_by))
        return rates

    def _by_partition(self, way: str) -> dict[tuple[str, int], tuple[float, str]]:
        """The bytes of each partition, and the rule by which most of them were found."""
        every = arrow().concat_tables(self._parts[way]).group_by([*KEY, "rule"])
        by_rule = every.aggregate([("bytes", "sum"), ("samples", "sum")])
        order = [("bytes_sum", "ascending"), ("samples_sum", "ascending")]
        found: dict[tuple[str, int], tuple[float, str]] = {}
        for row in by_rule.sort_by(order).to_pylist():
            key = row["topic"], row["partition"]
            found[key] = found.get(key, (0.0, ""))[0] + row["bytes_sum"], row["rule"]
        return found


def _rules(rows: Table, name: str) -> Any:
    """The rule of each row; samples that arrived as such are measured."""
    if name not in rows.column_names:
        return arrow().repeat(arrow().scalar(str(Rule.MEASURED)), len(rows))
    return compute().fill_null(rows.column(name), str(Rule.MEASURED))
