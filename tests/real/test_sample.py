"""`kedge pipeline sample` on real brokers: sizes, offsets and committed offsets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kedge.cli.app import run
from kedge.files import read_bytes
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.pipeline.sources.metric_files import (
    ParseSettings,
    find_metric_files,
    parse_metric_file,
)
from tests.real.clusters import kraft

pytestmark = pytest.mark.real
TOPIC, GROUP = "sampled.topic", "sampled-group"


def test_a_sample_has_what_the_cluster_stores_and_groups_committed(
    tmp_path: Path, pytestconfig: pytest.Config, capfd: pytest.CaptureFixture[str]
) -> None:
    bootstrap = kraft(pytestconfig).bootstrap
    assert (
        run(
            [
                *("topics", "create", "--bootstrap-server", bootstrap, "--topic", TOPIC),
                *("--replica-assignment", "1:2,2:3"),
            ]
        )
        == 0
    )
    producer: Any = Producer({"bootstrap.servers": bootstrap})
    for partition in (0, 1):
        for _ in range(10 * (partition + 1)):
            producer.produce(TOPIC, b"x" * 100, partition=partition)
    assert producer.flush(30) == 0
    consumer: Any = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition(TOPIC, 1, 15)], asynchronous=False)
    consumer.close()
    words = ["pipeline", "sample", "--bootstrap-server", bootstrap, "--out", str(tmp_path)]
    assert run([*words, "--every", "1s", "--for", "1s"]) == 0, capfd.readouterr().err
    metadata = parse_metadata(read_bytes(tmp_path / "metadata.json"))
    state = parse_leaders(read_bytes(tmp_path / "leaders.json.gz"))[-1].topics[TOPIC]
    assert [state[p].replicas for p in (0, 1)] == [(1, 2), (2, 3)]
    files = find_metric_files(tmp_path / "admin", Origin.ADMIN)
    assert len(files) == 2
    (collected,) = parse_metric_file(files[-1], ParseSettings(Origin.ADMIN, metadata))
    assert collected.malformed == []
    rows = [row for row in collected.take().to_pylist() if row["topic"] == TOPIC]
    ends = {r["partition"]: r["value"] for r in rows if r["series"] == "log_end_offset"}
    assert ends == {0: 10.0, 1: 20.0}
    committed = [r for r in rows if r["series"] == "committed_offset"]
    assert [(r["group"], r["partition"], r["value"]) for r in committed] == [(GROUP, 1, 15.0)]
    sizes = {(r["partition"], r["broker"]): r["value"] for r in rows if r["series"] == "log_size"}
    assert set(sizes) == {(0, 1), (0, 2), (1, 2), (1, 3)}
    assert sizes[1, 2] > 20 * 100
