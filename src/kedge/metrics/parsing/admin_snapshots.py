"""Parses snapshots of admin requests: log directories, offsets, and committed offsets of groups.

    {"ts": 1794850920.3,
     "log_dirs": [{"broker": 1, "log_dirs": [{"log_dir": "/data", "topics": [{"name": "orders",
        "partitions": [{"partition_index": 0, "partition_size": 300528}]}]}]}],
     "end_offsets": {"orders": {"0": 997}}, "start_offsets": {"orders": {"0": 0}},
     "groups": {"billing": {"orders": {"0": 950}}}, "groups_ts": 1794850920.4}

A null offset means that the leader did not answer. Sizes and offsets of a snapshot get one time,
that of the snapshot, so that they can be compared with each other. Offsets are those of the leader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from kedge.errors import MalformedInput
from kedge.metrics.measurement import NONE, Series
from kedge.metrics.parsing.collector import Collector, SeriesKey
from kedge.model.java_text import INT32_MAX

OFFSETS: Final = {
    "end_offsets": Series.LOG_END_OFFSET,
    "start_offsets": Series.LOG_START_OFFSET,
}


def collect_snapshot(data: bytes, into: Collector) -> None:
    """Collect the measurements of one snapshot; a malformed one is rejected as a whole."""
    try:
        found: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        into.reject(data[:200], f"the JSON of a snapshot is truncated or damaged ({error})")
        return
    try:
        points = list(_points(found))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        into.reject(data[:200], f"not a snapshot of admin requests ({str(error)[:80]})")
        return
    except MalformedInput as error:
        into.reject(data[:200], error.what)
        return
    for key, ts_ms, value in points:
        into.add(key, ts_ms, value)


def topics_in_snapshot(data: bytes) -> set[str]:
    """The topics that a snapshot names; none if it is malformed, which is reported elsewhere."""
    into = Collector("")
    collect_snapshot(data, into)
    return {points.key.topic for points in into.take_series()} - {""}


Point = tuple[SeriesKey, int, float]


def _points(found: Any) -> Iterator[Point]:
    ts_ms = _time(found["ts"])
    for broker in found.get("log_dirs") or ():
        key = SeriesKey(Series.UP, _number(broker["broker"]))
        yield key, ts_ms, 1.0
        yield from _sizes(broker, key.broker, ts_ms)
    for name, series in OFFSETS.items():
        for topic, partition, offset in _by_partition(found.get(name) or {}):
            yield SeriesKey(series, NONE, topic, partition), ts_ms, float(offset)
    committed_ms = _time(found.get("groups_ts", found["ts"]))
    groups: dict[str, Any] = found.get("groups") or {}
    for group, topics in groups.items():
        if isinstance(topics.get("error"), str):  # not the offsets of a topic of this name
            continue
        for topic, partition, offset in _by_partition(topics):
            key = SeriesKey(Series.COMMITTED_OFFSET, NONE, topic, partition, group)
            yield key, committed_ms, float(offset)


def _sizes(found: Any, broker: int, ts_ms: int) -> Iterator[Point]:
    for directory in found.get("log_dirs") or ():
        for topic in directory.get("topics") or ():
            for partition in topic["partitions"]:
                if not partition.get("is_future_key"):
                    index = _number(partition["partition_index"])
                    key = SeriesKey(Series.LOG_SIZE, broker, _topic(topic["name"]), index)
                    yield key, ts_ms, float(partition["partition_size"])


def _by_partition(found: Any) -> Iterator[tuple[str, int, int]]:
    for topic, offsets in found.items():
        for partition, offset in offsets.items():
            if offset is not None and offset >= 0:
                yield _topic(topic), _number(int(partition)), offset


def _topic(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise MalformedInput("a topic without a name")
    return name


def _number(found: Any) -> int:
    if type(found) is not int or not 0 <= found <= INT32_MAX:
        raise MalformedInput(f"{str(found)[:50]!r} is not an id")
    return found


def _time(found: Any) -> int:
    if type(found) not in (int, float) or not 0 <= found < 1e11:
        raise MalformedInput(f"{str(found)[:50]!r} is not a time in seconds")
    return round(found * 1000)
