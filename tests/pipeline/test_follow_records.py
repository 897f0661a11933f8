"""A stream of records beside a cluster that changes: each batch has its own description."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kedge.errors import ClusterUnavailable, InvalidRequest, Unavailable
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.pipeline.jobs.follow_records import Description, RecordStream, follow_records
from kedge.pipeline.sources.record_spool import Spooled
from tests.metrics.parsing.examples import record
from tests.pipeline.oracle import query, scan

START, MOVED = 1_800_000_000, 1_800_000_600
Opened = Callable[[], AbstractContextManager[SparkSession]]


@dataclass
class MemoryRecords:
    """Records in memory, each batch of which arrives when the one before was read."""

    batches: list[list[bytes]]
    cluster: str = "lab"
    origin: Origin = Origin.CRUISE_CONTROL
    faults: list[Unavailable] = field(default_factory=list)

    def spool(self, known: Mapping[str, int], directory: Path, /, *, max_records: int) -> Spooled:
        if self.faults:
            raise self.faults.pop()
        at = known.get("records", -1)
        values = self.batches[max(at, 0)] if max(at, 0) < len(self.batches) else []
        lines = [json.dumps({"value": b64encode(value).decode()}) for value in values]
        (directory / "records.jsonl").write_text("\n".join(lines) + "\n")
        after = {"records": max(at, 0) + bool(values)}
        return Spooled({"records": at}, after, len(values), ((directory, self.origin),))


def reported(first: int, last: int, by_broker: Mapping[int, Mapping[str, float]]) -> list[bytes]:
    """Bytes in of topics by broker, each minute between two moments."""
    made: list[bytes] = []
    for at in range(first, last, 60):
        for broker, topics in by_broker.items():
            for topic, rate in topics.items():
                value = record(1, 2, rate, topic)
                moment = (at * 1000).to_bytes(8, "big")
                made.append(value[:3] + moment + broker.to_bytes(4, "big") + value[15:])
    return made


def described(brokers: int, since: int, topics: Mapping[str, list[int]]) -> Description:
    """The brokers from 1 on, and the leaders of each topic's partitions."""
    metadata = {"cluster": "lab", "brokers": [{"id": b + 1} for b in range(brokers)]}
    states = {
        topic: {str(p): [leader, [leader], [leader]] for p, leader in enumerate(leaders)}
        for topic, leaders in topics.items()
    }
    changes = [{"ts": since, "topics": states}]
    return parse_metadata(json.dumps(metadata).encode()), parse_leaders(
        json.dumps(changes).encode()
    )


BEFORE = described(2, START - 60, {"a.b": [1, 2]})
AFTER = described(3, MOVED, {"a.b": [2, 1], "c.d": [3]})


@pytest.mark.real
def test_each_batch_has_the_leaders_brokers_and_topics_of_its_time(
    opened: Opened, tmp_path: Path
) -> None:
    """Partition 0 has 4 kB/s and partition 1 1 kB/s throughout; their leaders are exchanged."""
    first = reported(START, MOVED, {1: {"a_b": 4096.0}, 2: {"a_b": 1024.0}})
    changed = {1: {"a_b": 1024.0}, 2: {"a_b": 4096.0}, 3: {"c_d": 512.0}}
    second = reported(MOVED, MOVED + 600, changed)
    descriptions, waits = iter((BEFORE, AFTER)), iter((False, True))
    source = MemoryRecords([first, second])
    stream = RecordStream(source, lambda: next(descriptions), tmp_path / "tables")
    done = follow_records(stream, lambda _: opened(), wait=lambda: next(waits))
    assert done is not None
    assert done.accounts.quarantined == 0
    rows: list[tuple[Any, ...]] = query(
        "select topic, partition, broker, avg(bytes_in) "
        f"from {scan(tmp_path / 'tables', 'silver')} "
        f"where is_leader and epoch(ts) > {MOVED + 180} and epoch(ts) < {MOVED + 540} "
        "group by all order by all"
    )
    assert [row[:3] for row in rows] == [("a.b", 0, 2), ("a.b", 1, 1), ("c.d", 0, 3)]
    rates = [row[3] / 60 for row in rows]
    assert rates[0] == pytest.approx(4 * rates[1], rel=0.01)
    assert rates[0] == pytest.approx(8 * rates[2], rel=0.01)


@pytest.mark.real
def test_a_batch_whose_cluster_cannot_be_reached_is_tried_again(
    opened: Opened, tmp_path: Path
) -> None:
    source = MemoryRecords([reported(START, MOVED, {1: {"a_b": 4096.0}})])
    source.faults.append(ClusterUnavailable("no broker reached"))
    answers: list[Description | Unavailable] = [ClusterUnavailable("no controller"), BEFORE]

    def describe() -> Description:
        answer = answers.pop(0)
        if isinstance(answer, Unavailable):
            raise answer
        return answer

    missed: list[str] = []
    waits = iter((False, False, True))
    done = follow_records(
        RecordStream(source, describe, tmp_path / "tables"),
        lambda _: opened(),
        wait=lambda: next(waits),
        missed=lambda error: missed.append(error.what),
    )
    assert missed == ["no broker reached", "no controller"]
    assert done is not None
    assert done.accounts.kept > 5


def test_a_single_batch_whose_cluster_cannot_be_reached_fails(
    opened: Opened, tmp_path: Path
) -> None:
    source = MemoryRecords([], faults=[ClusterUnavailable("no broker reached")])
    stream = RecordStream(source, lambda: BEFORE, tmp_path / "tables")
    with pytest.raises(ClusterUnavailable):
        follow_records(stream, lambda _: opened(), wait=lambda: True)
    assert not (tmp_path / "tables").exists()


def test_records_of_one_cluster_are_not_ingested_as_those_of_another(
    opened: Opened, tmp_path: Path
) -> None:
    source = MemoryRecords([reported(START, MOVED, {1: {"a_b": 1.0}})], cluster="former")
    stream = RecordStream(source, lambda: BEFORE, tmp_path / "tables")
    with pytest.raises(InvalidRequest, match="the records are of former"):
        follow_records(stream, lambda _: opened(), wait=lambda: True)
