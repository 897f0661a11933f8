"""Reads recordings of real metrics, and compares rates of partitions with their truth."""

from __future__ import annotations

import base64
import gzip
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kedge.metrics.attribution import Attributed, Leadership, attribute_topic
from kedge.metrics.measurement import SCHEMA, Series
from kedge.metrics.parsing.admin_snapshots import collect_snapshot
from kedge.metrics.parsing.cluster_metadata import parse_metadata
from kedge.metrics.parsing.collector import Collector
from kedge.metrics.parsing.cruise_control import collect_record
from kedge.metrics.parsing.exposition import ScrapeTarget, collect_exposition
from kedge.metrics.parsing.name_resolution import Instances, TopicNames
from kedge.metrics.parsing.query_range import SeriesReader
from kedge.metrics.parsing.range_answers import iter_series
from kedge.metrics.parsing.series_names import ExporterNames
from kedge.model.arrow import compute

pc = compute()

Rates = dict[tuple[str, int], tuple[float, float]]
BROKER_ROWS = [Series.UP, Series.CPU]  # without a topic: tell when a broker answered


@dataclass(frozen=True, slots=True)
class Recording:
    """A directory of one recorded run."""

    path: Path

    @property
    def cluster(self) -> str:
        return self.json("metadata.json")["cluster"]

    @property
    def t0(self) -> int:
        return self.json("truth.json")["t0"]

    @property
    def t1(self) -> int:
        return self.json("truth.json")["t1"]

    def json(self, name: str) -> Any:
        return json.loads(self.read(name))

    def read(self, name: str) -> bytes:
        data = (self.path / name).read_bytes()
        return gzip.decompress(data) if name.endswith(".gz") else data

    def files(self, pattern: str) -> Iterator[tuple[Path, bytes]]:
        for file in sorted(self.path.glob(pattern)):
            yield file, self.read(str(file.relative_to(self.path)))

    @property
    def topics(self) -> TopicNames:
        return TopicNames(name for name, _ in self.partitions())

    def partitions(self) -> list[tuple[str, int]]:
        return [
            (found["topic"], found["partition"])
            for found in self.json("truth.json")["partitions"]
            if not found["internal"]
        ]

    def truth(self, start: int, end: int) -> Rates:
        fine = self.json("truth_15s.json.gz")["partitions"]
        first, last = round((start - self.t0) / 15), round((end - self.t0) / 15)
        wanted = set(self.partitions())
        return {
            (one["topic"], one["partition"]): (
                sum(one["log_in"][first:last]) / (end - start),
                sum(one["out_log"][first:last]) / (end - start),
            )
            for one in fine
            if (one["topic"], one["partition"]) in wanted
        }

    def leaders(self, topic: str) -> Leadership:
        return Leadership.of(
            (int(partition), round(entry["ts"] * 1000), state[0])
            for entry in self.json("leaders.json.gz")
            for partition, state in entry["topics"].get(topic, {}).items()
        )


def prometheus(recording: Recording, step: int = 15) -> pa.Table:
    into = Collector(recording.cluster)
    metadata = parse_metadata(recording.read("metadata.json"))
    reader = SeriesReader(ExporterNames(), Instances(metadata), recording.topics)
    for _, data in recording.files(f"prometheus/*.step{step}.json.gz"):
        for text in iter_series([data]):
            reader.collect(text, into)
    return _taken(into)


def scrape(recording: Recording) -> pa.Table:
    into = Collector(recording.cluster)
    names, topics = ExporterNames(), recording.topics
    for file, data in recording.files("scrape/*/*.prom.gz"):
        target = ScrapeTarget(int(file.parent.name), int(file.name.split(".")[0]) * 1000)
        collect_exposition(data.decode(), target, names, topics, into)
    return _taken(into)


def admin(recording: Recording) -> pa.Table:
    into = Collector(recording.cluster)
    for _, data in recording.files("admin/*.json.gz"):
        collect_snapshot(data, into)
    return _taken(into)


def cruise_control(recording: Recording) -> pa.Table:
    into = Collector(recording.cluster)
    topics = recording.topics
    for line in recording.read("cruise-control/__CruiseControlMetrics.jsonl.gz").splitlines():
        collect_record(base64.b64decode(json.loads(line)["value"]), topics, into)
    return _taken(into)


def _taken(into: Collector) -> pa.Table:
    return pa.Table.from_batches([into.take()]).select(SCHEMA.names)


def commits(table: pa.Table) -> pa.Table:
    """Only what admin calls tell of consumer groups."""
    return table.filter(pc.equal(table["series"], Series.COMMITTED_OFFSET.value))


def of_topic(table: pa.Table, topic: str) -> pa.Table:
    """The rows of a topic, and those that tell which brokers were up."""
    up = pc.and_(
        pc.equal(table["topic"], ""), pc.is_in(table["series"], pa.array([*map(str, BROKER_ROWS)]))
    )
    return table.filter(pc.or_(pc.equal(table["topic"], topic), up))


def attribute(
    recording: Recording,
    table: pa.Table,
    *,
    leaders: bool = False,
    grid_ms: int | None = None,
    change: Callable[[pa.Table], pa.Table] = lambda table: table,
) -> dict[str, Attributed]:
    names = dict.fromkeys(name for name, _ in recording.partitions())
    return {
        name: attribute_topic(
            change(of_topic(table, name)), recording.leaders(name) if leaders else None, grid_ms
        )
        for name in names
    }


def rates(found: dict[str, Attributed], start: int, end: int) -> Rates:
    """Mean rates over the intervals between two moments."""
    result: Rates = {}
    for name, attributed in found.items():
        table = attributed.partitions
        ends = table["end_ms"].to_numpy()
        inside = (ends > start * 1000) & (ends <= end * 1000)
        partition = table["partition"].to_numpy()
        for one in np.unique(partition):
            rows = inside & (partition == one)
            result[name, int(one)] = (
                _rate(table, "bytes_in", "in_covered_ms", rows),
                _rate(table, "bytes_out", "out_covered_ms", rows),
            )
    return result


def _rate(table: pa.Table, amount: str, covered: str, rows: Any) -> float:
    time = table[covered].to_numpy()[rows].sum() / 1000
    return float(table[amount].to_numpy()[rows].sum() / time) if time else 0.0


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors over partitions with at least `floor` bytes per second."""

    median: float
    p90: float
    worst: float
    of_total: float
    worst_at: list[tuple[float, tuple[str, int]]]

    def __str__(self) -> str:
        at = ", ".join(f"{key[0]}-{key[1]} {error:.1%}" for error, key in self.worst_at[:3])
        return (
            f"median {self.median:.2%} p90 {self.p90:.2%} worst {self.worst:.2%}"
            f" of total {self.of_total:.2%} ({at})"
        )


def errors(found: Rates, truth: Rates, which: int, floor: float = 500.0) -> Errors:
    def given(key: tuple[str, int]) -> float:
        return found.get(key, (0.0, 0.0))[which]

    worst_first = sorted(
        (
            (abs(given(key) - true[which]) / true[which], key)
            for key, true in truth.items()
            if true[which] >= floor
        ),
        reverse=True,
    )
    ordered = [error for error, _ in worst_first]
    total = sum(true[which] for true in truth.values())
    wrong = sum(abs(given(key) - true[which]) for key, true in truth.items())
    return Errors(
        statistics.median(ordered),
        ordered[int(len(ordered) * 0.1)],
        ordered[0],
        wrong / total,
        worst_first[:6],
    )
