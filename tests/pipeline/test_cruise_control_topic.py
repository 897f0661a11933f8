"""Cruise Control's topic on real brokers: batch and stream give the same tables, exactly once."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from kedge.cli.app import run
from kedge.errors import UnknownTopicOrPartition
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.pipeline.jobs.follow_records import follow_records
from kedge.pipeline.jobs.ingest_metrics import MetricsRequest, ingest_metrics
from kedge.pipeline.manifest import Settings
from kedge.pipeline.sources.record_spool import RecordTopic, spool_records
from tests.metrics.parsing.examples import record
from tests.pipeline.oracle import query, scan
from tests.real.clusters import kraft

pytestmark = [pytest.mark.real, pytest.mark.slow]

TOPIC = "cruise-control-metrics"
START = 1_800_000_000
METADATA = parse_metadata(b'{"cluster": "lab", "brokers": [{"id": 1}, {"id": 2}]}')
STATE = {"a.b": {"0": [2, [2, 1], [2]], "1": [2, [2, 1], [2]]}}
LEADERS = parse_leaders(json.dumps([{"ts": START, "topics": STATE}]).encode())
COLUMNS = "topic, partition, broker, ts, bytes_in, bytes_out, size_bytes, in_by, out_by"
Opened = Callable[[], AbstractContextManager[SparkSession]]


def records(first: int, last: int) -> list[bytes]:
    """What broker 2 reports in these minutes, and two records that are none."""
    made: list[bytes] = [b"\x00\x00", b'{"foreign": true, "padding": "0123456789"}']
    for minute in range(first, last):
        at = (START + 60 * minute) * 1000
        values = [record(1, 2, 400.0, "a_b"), record(1, 3, 800.0, "a_b"), record(0, 5, 0.5)]
        sizes = [record(2, 4, 6000.0 * minute * share, "a_b", p) for p, share in ((0, 3), (1, 1))]
        made += [value[:3] + at.to_bytes(8, "big") + value[11:] for value in (*values, *sizes)]
    return made


def produce(bootstrap: str, values: list[bytes]) -> None:
    producer: Any = Producer({"bootstrap.servers": bootstrap})
    for i, value in enumerate(values):
        producer.produce(TOPIC, value, partition=i % 2)
    assert producer.flush(30) == 0


def rows(tables: Path) -> list[tuple[Any, ...]]:
    return query(f"select {COLUMNS} from {scan(tables, 'silver')} order by all")


def test_stream_and_batch_give_the_same_tables(
    opened: Opened, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    bootstrap = kraft(pytestconfig).bootstrap
    create = ("topics", "create", "--bootstrap-server", bootstrap, "--topic", TOPIC)
    assert run([*create, "--replica-assignment", "1,2"]) == 0
    source = RecordTopic(bootstrap, TOPIC, "lab", {})
    streamed, batch = tmp_path / "streamed", tmp_path / "batch"
    produce(bootstrap, records(0, 5))
    rounds = iter((False, False, True))

    def wait() -> bool:
        """Between the batches of the stream more records arrive, once."""
        ended = next(rounds)
        if not ended and not streamed_all:
            produce(bootstrap, records(5, 8))
            streamed_all.append(True)
        return ended

    streamed_all: list[bool] = []
    done = follow_records(
        source,
        (METADATA, LEADERS),
        streamed,
        Settings(),
        lambda _: opened(),
        wait=wait,
        max_records=20,
    )
    assert done is not None
    assert done.accounts.quarantined_by_reason == {"unparsable": 4}
    again = follow_records(
        source, (METADATA, LEADERS), streamed, Settings(), lambda _: opened(), wait=lambda: True
    )
    assert again is None
    batch_files = tmp_path / "files"
    batch_files.mkdir()
    lines = [
        json.dumps({"value": b64encode(value).decode()})
        for value in (*records(0, 5), *records(5, 8))
    ]
    (batch_files / "records.jsonl").write_text("\n".join(lines) + "\n")
    request = MetricsRequest(batch_files, Origin.CRUISE_CONTROL, METADATA, batch, LEADERS)
    whole = ingest_metrics(request, lambda _: opened())
    assert rows(streamed) == rows(batch)
    assert len(rows(batch)) > 10
    assert whole.accounts.kept == done.accounts.kept
    assert whole.accounts.quarantined == 4


def test_a_missing_topic_is_told(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    source = RecordTopic(kraft(pytestconfig).bootstrap, "no-such-topic", "lab", {})
    with pytest.raises(UnknownTopicOrPartition, match="no topic no-such-topic"):
        spool_records(source, {}, tmp_path)
