"""Measurements in memory by topic: the same rows as those of a collector, in less memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.metrics.measurement import NONE, Series
from kedge.metrics.parsing.collector import COLLECTED_SCHEMA, Collector, SeriesKey
from kedge.pipeline.measured_topics import MeasuredTopics

KEYS = [
    SeriesKey(Series.LOG_SIZE, 1, "a", 0),
    SeriesKey(Series.LOG_SIZE, 2, "a", 0, replica="x"),
    SeriesKey(Series.COMMITTED_OFFSET, NONE, "a", 0, "g"),
    SeriesKey(Series.LOG_SIZE, 1, "b", 3),
    SeriesKey(Series.UP, 1),
    SeriesKey(Series.CPU_SECONDS, 1),
]


def filled() -> Collector:
    into = Collector("c")
    for number, key in enumerate(KEYS):
        into.add_points(key, np.array([15_000, 30_000]), np.array([number, number + 0.5]))
    into.add(SeriesKey(Series.UP, 2), 15_000, 1.0)
    return into


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in COLLECTED_SCHEMA.names) for row in table.to_pylist())


def test_the_table_of_a_topic_has_its_rows_and_which_brokers_were_up() -> None:
    measured = MeasuredTopics("c", "prometheus")
    measured.add(filled().take_series())
    expected = rows(filled().take())
    topic, series = (COLLECTED_SCHEMA.names.index(name) for name in ("topic", "series"))
    assert measured.topics() == ["a", "b"]
    assert measured.brokers() == {1, 2}
    for name in ("a", "b", "unknown"):
        wanted = [row for row in expected if row[topic] == name or row[series] == Series.UP]
        assert rows(measured.of_topic(name)) == wanted
    assert rows(measured.of_brokers()) == [row for row in expected if not row[topic]]
    assert set(measured.of_topic("a").column("origin").to_pylist()) == {"prometheus"}


def test_a_broker_that_only_up_and_cpu_are_of_has_no_series_of_kafka() -> None:
    """Another exporter on its host has these too."""
    measured, into = MeasuredTopics("c", "prometheus"), Collector("c")
    for series in (Series.UP, Series.CPU_SECONDS):
        into.add(SeriesKey(series, 2), 15_000, 1.0)
    into.add(SeriesKey(Series.BYTES_IN, 1), 15_000, 1.0)
    measured.add(into.take_series())
    assert measured.brokers() == {1}


def test_a_collector_is_empty_after_its_series_were_taken() -> None:
    into = filled()
    assert len(into.take_series()) == len(KEYS) + 1
    assert (len(into), into.take_series()) == (0, [])


def test_series_with_values_at_the_same_moments_share_the_times() -> None:
    measured = MeasuredTopics("c", "prometheus")
    found = [points for _ in range(3) for points in filled().take_series()]
    assert len({id(points.ts_ms) for points in found}) > 2
    kept = [measured.shared(points.ts_ms) for points in found]
    assert len({id(ts_ms) for ts_ms in kept}) == 2  # two values, and one
    assert all(np.array_equal(k, p.ts_ms) for k, p in zip(kept, found, strict=True))
