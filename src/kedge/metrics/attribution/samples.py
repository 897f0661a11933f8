"""Measurements of one topic as sorted columns, one block per series, without duplicates.

Several Prometheus servers that scrape the same brokers give the same series twice. Values at the
same moment are one value here; values a few seconds apart stay, which no rule counts twice: bytes
and records are differences between neighbours in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from kedge.metrics.measurement import NONE, Series
from kedge.model.arrow import Column, Table, compute

Ints = NDArray[np.int64]
Ids = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Points:
    """Samples of one series, sorted by partition, group, broker and time."""

    partition: Ids
    group: Ids
    broker: Ids
    ts: Ints
    value: Floats

    def __len__(self) -> int:
        return len(self.ts)

    def where(self, chosen: Flags | Ints | slice) -> Points:
        """These samples only."""
        return Points(
            self.partition[chosen],
            self.group[chosen],
            self.broker[chosen],
            self.ts[chosen],
            self.value[chosen],
        )

    @staticmethod
    def of(parts: list[Points]) -> Points:
        """The samples of several parts, which are sorted and follow each other."""
        if not parts:
            return _EMPTY
        return Points(
            np.concatenate([part.partition for part in parts]),
            np.concatenate([part.group for part in parts]),
            np.concatenate([part.broker for part in parts]),
            np.concatenate([part.ts for part in parts]),
            np.concatenate([part.value for part in parts]),
        )

    def single(self) -> Iterator[Points]:
        """The samples of each single series: of one partition, group and broker."""
        for part in slices(self.partition, self.group, self.broker):
            yield self.where(part)

    def by_partition(self) -> Iterator[tuple[int, Points]]:
        """The samples of each partition, of all brokers and groups."""
        for part in slices(self.partition):
            yield int(self.partition[part.start]), self.where(part)

    def partitions(self) -> list[int]:
        """The partitions that have samples."""
        return [int(self.partition[part.start]) for part in slices(self.partition)]

    def spacing(self) -> int:
        """The usual time between two samples of a single series, in ms; 0 where none has two."""
        if len(self) < 2:
            return 0
        same = ~_changes(self.partition, self.group, self.broker)
        steps = np.diff(self.ts)[same]
        return int(np.median(steps)) if len(steps) else 0


def row_of(partitions: Ints, partition: int) -> int:
    """The position of a partition among sorted ones."""
    return int(np.searchsorted(partitions, partition))


def slices(*columns: Ids) -> Iterator[slice]:
    """Runs of rows that have the same values in all columns."""
    rows = len(columns[0])
    if not rows:
        return
    starts = np.flatnonzero(_changes(*columns)) + 1
    bounds = [0, *starts.tolist(), rows]
    for first, last in pairwise(bounds):
        yield slice(first, last)


def _changes(*columns: Ids) -> Flags:
    changed = np.zeros(max(len(columns[0]) - 1, 0), dtype=np.bool_)
    for column in columns:
        changed |= column[1:] != column[:-1]
    return changed


_KNOWN: Final = frozenset(str(series) for series in Series)
_NONE: Final = np.empty(0, np.int64)
_NO_BROKERS: Final = np.empty(0, np.int32)
_EMPTY: Final = Points(_NO_BROKERS, _NO_BROKERS, _NO_BROKERS, _NONE, np.empty(0, np.float64))


@dataclass(frozen=True, slots=True)
class TopicSamples:
    """Everything measured of one topic, and when its brokers could be measured."""

    topic: str
    series: dict[Series, Points]
    answered: dict[int, Ints] = field(
        default_factory=dict[int, Ints]
    )  # broker: when it could be measured
    silent: dict[int, Ints] = field(default_factory=dict[int, Ints])  # broker: when it could not

    def __getitem__(self, series: Series) -> Points:
        return self.series.get(series, _EMPTY)

    def span(self) -> tuple[int, int] | None:
        """The first and the last moment of any sample of the topic."""
        times = [points.ts for points in self.series.values() if len(points)]
        if not times:
            return None
        return min(int(ts.min()) for ts in times), max(int(ts.max()) for ts in times)

    def before_rates(self) -> int:
        """The time before the first sample that rates tell of, in ms; 0 where counters do."""
        for counter, rate in (
            (Series.BYTES_IN, Series.BYTES_IN_RATE),
            (Series.BYTES_OUT, Series.BYTES_OUT_RATE),
        ):
            if len(self[rate]) and not len(self[counter]):
                return self[rate].spacing()
        return 0


def read_samples(table: Table) -> TopicSamples:
    """Sort the measurements of one topic of one cluster, or of its brokers if no row has a topic.

    Rows without a topic tell who was up.
    """
    names_of_topics, topic_codes = _encoded(table["topic"])
    topics = [name for name in names_of_topics if name]
    clusters = _encoded(table["cluster"])[0]
    if len(topics) > 1 or len(clusters) > 1:
        raise ValueError(f"measurements of one topic are expected, not of {topics} in {clusters}")
    names, codes = _encoded(table["series"])
    topic = topics[0] if topics else ""
    of_topic = topic_codes == _position(names_of_topics, topic)
    every = Points(
        _ids(table["partition"]),
        _encoded(table["group"])[1],
        _ids(table["broker"]),
        cast("Ints", table["ts_ms"].to_numpy()),
        cast("Floats", table["value"].to_numpy()),
    )
    of_topic &= np.isfinite(every.value) & (every.value >= 0)
    series: dict[Series, Points] = {}
    for code, name in enumerate(names):
        if name not in _KNOWN:
            continue
        chosen = np.flatnonzero((codes == code) & of_topic)
        if len(chosen):
            series[Series(name)] = _sorted(every.where(chosen))
    ups = every.where(codes == _position(names, Series.UP))
    of_brokers = every.where(topic_codes == _position(names_of_topics, ""))
    answered, silent = _availability(ups, [of_brokers, *series.values()])
    return TopicSamples(topic, series, answered, silent)


def _position(names: list[str], name: str) -> int:
    return names.index(name) if name in names else NONE


def _encoded(column: Column) -> tuple[list[str], Ids]:
    """The distinct texts of a column, and the position of each row's among them."""
    encoded = compute().dictionary_encode(column.combine_chunks())
    return cast("list[str]", encoded.dictionary.to_pylist()), _ids(encoded.indices)


def _ids(column: Column) -> Ids:
    return cast("Ids", column.to_numpy(zero_copy_only=False)).astype(np.int32, copy=False)


def _sorted(points: Points) -> Points:
    """Sort by partition, group, broker and time, with one value for each."""
    key = _packed(points.partition, points.group, points.broker, points.ts)
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        points, key = points.where(order), key[order]
    starts = np.flatnonzero(np.append([True], key[1:] != key[:-1]))
    if len(starts) == len(key):
        return points
    # of several values at one moment the largest: servers that scraped earlier have smaller ones
    value = np.maximum.reduceat(points.value, starts)
    one = points.where(starts)
    return Points(one.partition, one.group, one.broker, one.ts, value)


def _packed(*columns: Ids | Ints) -> Ints:
    """One number for each row that sorts as the columns do."""
    key = np.zeros(len(columns[0]), np.int64)
    size = 1
    for column in columns:
        low = int(column.min())
        width = int(column.max()) - low + 1
        size *= width
        if size >= 2**62:  # wide apart: positions among the distinct values instead
            distinct, column = np.unique(column, return_inverse=True)
            size, width, low = size // width * len(distinct), len(distinct), 0
        key *= width
        key += column
        key -= low
    return key


def _availability(ups: Points, others: list[Points]) -> tuple[dict[int, Ints], dict[int, Ints]]:
    """When each broker was up, and when not; without `up` any sample of it says that it was."""
    answered: dict[int, Ints] = {}
    silent: dict[int, Ints] = {}
    for broker in cast("list[int]", np.unique(ups.broker).tolist()):
        own = ups.where(ups.broker == broker)
        answered[broker] = np.unique(own.ts[own.value > 0])
        silent[broker] = np.setdiff1d(own.ts[own.value == 0], answered[broker])
    sampled: dict[int, list[Ints]] = {}
    for points in others:
        longest: dict[int, Ints] = {}  # one series of a kind tells as much as all of them
        for own in points.single():
            broker = int(own.broker[0])
            if len(own) > len(longest.get(broker, _NONE)):
                longest[broker] = own.ts
        for broker, ts in longest.items():
            sampled.setdefault(broker, []).append(ts)
    for broker, times in sampled.items():
        if broker != NONE and broker not in answered:
            answered[broker] = np.unique(np.concatenate(times))
    return answered, silent
