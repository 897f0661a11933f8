"""What admin requests and Cruise Control's reporter tell of a drawn cluster."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.metrics.synthetic.drawn_cluster import BEFORE_S, Cluster
from tests.metrics.synthetic.simulated_logs import TICKS, Array, Logs

METER = "kafka_server_brokertopicmetrics_{}_total"
GAUGES = ("kafka_log_log_size", "kafka_log_log_logstartoffset", "kafka_log_log_logendoffset")
MINUTE_S = 60.0
CRUISE_CONTROL_TYPES = {"bytesin": 2, "bytesout": 3, "messagesin": 15}


@dataclass(frozen=True)
class Series:
    """One series of one broker by tick; NaN where it is not there."""

    name: str
    broker: int
    labels: dict[str, str]
    value: Array


# ---- admin requests -----------------------------------------------------------------------------


def admin_snapshot(cluster: Cluster, every: list[Logs], second: int) -> dict[str, Any]:
    """Log directories, offsets, and committed offsets a little later."""
    tick, at = every[0].tick(second + 0.3), cluster.t0 + second
    ends: dict[str, dict[str, int]] = {}
    starts: dict[str, dict[str, int]] = {}
    topics: dict[int, list[Any]] = {b: [] for b in cluster.brokers if every[0].up(b)[tick]}
    groups: dict[str, Any] = {}
    for logs in every:
        name = logs.topic.name
        sizes: dict[int, list[Any]] = {}
        for p, broker, (size, start, end) in _replicas(logs, tick):
            row = {"partition_index": p, "partition_size": int(size[tick]), "is_future_key": False}
            sizes.setdefault(broker, []).append(row)
            if logs.leader[p, tick] == broker:
                ends.setdefault(name, {})[str(p)] = int(end[tick])
                starts.setdefault(name, {})[str(p)] = int(start[tick])
        for broker, rows in sizes.items():
            topics[broker].append({"name": name, "partitions": rows})
        groups |= _committed(logs, second + 0.6)
    dirs = [{"broker": b, "log_dirs": [{"log_dir": "/d", "topics": t}]} for b, t in topics.items()]
    times = {"ts": at + 0.3, "groups_ts": at + 0.6}
    found = {"log_dirs": dirs, "end_offsets": ends, "start_offsets": starts, "groups": groups}
    return {**times, **found}


def _committed(logs: Logs, second: float) -> dict[str, Any]:
    groups: dict[str, Any] = {}
    for reader in (each for each in logs.topic.readers if each.commits):
        reached = logs.committed(reader.name, second)
        offsets = {str(p): int(reached[p]) for p in reader.partitions if reached[p] > 0}
        groups[reader.name] = {logs.topic.name: offsets}
    return groups


def _replicas(logs: Logs, tick: int) -> Iterator[tuple[int, int, tuple[Array, Array, Array]]]:
    for p in range(len(logs.topic.replicas)):
        for broker, first, last in logs.held(p):
            if first <= tick < last and logs.up(broker)[tick]:
                yield p, broker, logs.replica(p, broker, first)


# ---- Cruise Control's reporter ------------------------------------------------------------------


def reporter_records(
    cluster: Cluster, series: list[Series], up: dict[int, Array]
) -> Iterator[bytes]:
    """The records of all brokers, one report a minute each."""
    for broker in cluster.brokers:
        own = [one for one in series if one.broker == broker]
        for second in range(20 + broker % 35, cluster.seconds + 60, 60):
            tick = min((second + BEFORE_S) * TICKS, len(up[broker]) - 1)
            if not up[broker][tick]:
                continue
            ts = (cluster.t0 + second) * 1000
            head = struct.pack(">qi", ts, broker)
            yield _record(str(broker), ts, struct.pack(">BBB", 0, 0, 5) + head, 0.3)
            for one in own:
                record = _of_series(one, head, tick)
                if record is not None:
                    yield _record(str(broker), ts, *record)


def _record(key: str, ts: int, head: bytes, value: float) -> bytes:
    text = base64.b64encode(head + struct.pack(">d", value)).decode()
    return json.dumps({"timestamp": ts, "key": key, "value": text}).encode()


def _of_series(one: Series, head: bytes, tick: int) -> tuple[bytes, float] | None:
    topic = one.labels.get("topic", "").replace(".", "_").encode()
    named = struct.pack(">i", len(topic)) + topic
    if one.name == GAUGES[0] and np.isfinite(one.value[tick]):
        where = struct.pack(">i", int(one.labels["partition"]))
        return struct.pack(">BBB", 2, 0, 4) + head + named + where, float(one.value[tick])
    for counter, kind in CRUISE_CONTROL_TYPES.items():
        if topic and one.name == METER.format(counter) and np.isfinite(one.value[tick]):
            rate = _one_minute_rate(one.value, tick)
            return struct.pack(">BBB", 1, 0, kind) + head + named, rate
    return None


def _one_minute_rate(value: Array, tick: int) -> float:
    """The moving average that brokers keep, updated every 5 s since the meter's birth."""
    past = value[: tick + 1]
    gone = np.flatnonzero(~np.isfinite(past) | (np.diff(past, prepend=0) < 0))
    born = int(gone[-1]) + 1 if len(gone) else 0
    marks = value[born : tick + 1 : 5 * TICKS]
    counted = np.diff(marks, prepend=0.0 if born else marks[0])
    rates = (counted[1:] if len(counted) > 1 else counted) / 5
    kept = float(np.exp(-5 / MINUTE_S))
    rate = float(rates[0])
    for one in rates[1:]:
        rate = rate * kept + float(one) * (1 - kept)
    return rate
