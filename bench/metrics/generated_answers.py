"""Generates answers of `query_range`: end offsets of partitions, and byte counters of topics.

Each topic has 100 partitions, led by 10 brokers. Every minute each partition gains records, and
each broker counts bytes in and out of the topic. Beside the answers the same points are in Parquet
files (`offsets`, `counters`), for engines that do the attribution alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kedge.files import parquet
from kedge.model.arrow import arrow

PARTITIONS = 100  # of a topic
BROKERS = 10
STEP_S = 60
START_S = 1_793_491_200  # midnight, UTC
CLUSTER = "generated"
METER = "kafka_server_brokertopicmetrics_{}_total"
END_OFFSET = "kafka_log_log_logendoffset"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is generated."""

    topics: int
    days: int

    @property
    def steps(self) -> int:
        """Points of a series."""
        return self.days * 86_400 // STEP_S

    @property
    def points(self) -> int:
        """Points of all series."""
        return self.topics * (PARTITIONS + 2 * BROKERS) * self.steps


@dataclass(frozen=True, slots=True)
class Generated:
    """Where the files are, and what they tell."""

    directory: Path
    size: Size
    bytes_in: int  # gained by all counters together


def generate(directory: Path, size: Size) -> Generated:
    """Write metadata, leaders, answers and Parquet files."""
    (directory / "prometheus").mkdir(parents=True)
    _metadata(directory, size)
    total = 0
    for topic in range(size.topics):
        draw = np.random.default_rng(topic)
        name = f"topic-{topic:04d}"
        records = draw.poisson(draw.uniform(20, 400, (PARTITIONS, 1)), (PARTITIONS, size.steps))
        offsets = np.cumsum(records, axis=1)
        led = records.reshape(BROKERS, -1, size.steps).sum(axis=1)
        counters = {
            "bytesin": np.cumsum(led * 300, axis=1),
            "bytesout": np.cumsum(led * 450, axis=1),
        }
        total += int((counters["bytesin"][:, -1] - counters["bytesin"][:, 0]).sum())
        series = [_labels(END_OFFSET, p // BROKERS, name, p) for p in range(PARTITIONS)]
        _answer(directory, f"{END_OFFSET}.{topic}", series, offsets)
        for meter, values in counters.items():
            series = [_labels(METER.format(meter), b, name) for b in range(BROKERS)]
            _answer(directory, f"{METER.format(meter)}.{topic}", series, values)
        _tables(directory, topic, name, offsets, counters["bytesin"])
    return Generated(directory, size, total)


def _labels(metric: str, broker: int, topic: str, partition: int | None = None) -> dict[str, str]:
    labels = {"__name__": metric, "instance": f"10.0.0.{broker}:7071", "job": "kafka"}
    labels["topic"] = topic
    return labels if partition is None else {**labels, "partition": str(partition)}


def _answer(directory: Path, name: str, series: list[dict[str, str]], values: Any) -> None:
    """Write one page; each value as Prometheus writes it, in a string."""
    times = [f'[{START_S + step * STEP_S},"' for step in range(values.shape[1])]
    with (directory / "prometheus" / f"{name}.json").open("w") as file:
        file.write('{"status":"success","data":{"resultType":"matrix","result":[')
        for at, (labels, row) in enumerate(zip(series, values.tolist(), strict=True)):
            file.write("," if at else "")
            file.write(f'{{"metric":{json.dumps(labels)},"values":[')
            file.write(",".join(_points(times, row)))
            file.write("]}")
        file.write("]}}")


def _points(times: list[str], row: list[int]) -> Iterator[str]:
    return (f'{time}{value}"]' for time, value in zip(times, row, strict=True))


def _tables(directory: Path, at: int, topic: str, offsets: Any, bytes_in: Any) -> None:
    pa = arrow()
    ts = START_S + np.arange(offsets.shape[1], dtype=np.int64) * STEP_S
    for table, rows, key, value in (
        ("offsets", offsets, "partition", "end_offset"),
        ("counters", bytes_in, "broker", "bytes_in"),
    ):
        columns = {
            "topic": pa.array([topic]).take(pa.array(np.zeros(rows.size, np.int32))),
            key: np.repeat(np.arange(len(rows), dtype=np.int32), rows.shape[1]),
            "ts": np.tile(ts, len(rows)),
            value: rows.ravel(),
        }
        (directory / table).mkdir(exist_ok=True)
        parquet().write_table(pa.table(columns), directory / table / f"{at:04d}.parquet")


def _metadata(directory: Path, size: Size) -> None:
    brokers = [{"id": b, "rack": "abc"[b % 3], "listener": f"10.0.0.{b}:9092"} for b in range(10)]
    described = {"cluster": CLUSTER, "brokers": brokers}
    (directory / "metadata.json").write_text(json.dumps(described))
    led = {str(p): [p // BROKERS, [p // BROKERS], [p // BROKERS]] for p in range(PARTITIONS)}
    topics = {f"topic-{topic:04d}": led for topic in range(size.topics)}
    leaders = [{"ts": START_S, "topics": topics}]
    (directory / "leaders.json").write_text(json.dumps(leaders))
