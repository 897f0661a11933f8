"""Sampling of a cluster and replay of files: the rows that are sent to the topic."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from kedge.cli.pipeline_stream import seconds
from kedge.cluster.access import access_from
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.errors import ClusterUnavailable, InvalidRequest, MalformedInput
from kedge.model import BrokerId
from kedge.pipeline.generator import generate
from kedge.pipeline.jobs.cluster_sampler import Sampler
from kedge.pipeline.jobs.kafka_producer import encode_row, librdkafka_settings
from kedge.pipeline.jobs.produce import replay, sample_periodically
from tests.cluster.faulty import FaultyCluster

AT = datetime(2026, 1, 5, 12, 0, 0, 250_000, tzinfo=UTC)
COLUMNS = {
    *("cluster", "broker", "topic", "partition", "ts", "ingest_ts", "seq", "is_leader"),
    *("size_bytes", "bytes_in", "bytes_out", "isr", "rf"),
}


class Collected:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.keys: list[bytes] = []

    def __call__(self, value: bytes, key: bytes, /) -> None:
        self.values.append(value)
        self.keys.append(key)


def small_cluster() -> MemoryCluster:
    cluster = MemoryCluster(3)
    cluster.create_topics([TopicCreation("orders", partitions=2, replication_factor=2)])
    return cluster


def test_a_sample_has_a_row_for_each_replica_with_leader_and_isr() -> None:
    cluster = small_cluster()
    rows = Sampler(cluster).sample(AT)
    assert len(rows) == 4
    assert all(set(row) == COLUMNS for row in rows)
    described = cluster.describe_topics(["orders"])["orders"]
    for row in rows:
        partition = described.partitions[row["partition"]]  # type: ignore[union-attr]
        assert row["is_leader"] == (partition.leader == row["broker"])
        assert (row["isr"], row["rf"]) == (2, 2)
        assert row["ts"] == AT.replace(microsecond=0)


def test_a_stopped_broker_has_no_samples_and_shrinks_the_isr() -> None:
    cluster = small_cluster()
    victim = Sampler(cluster).sample(AT)[0]["broker"]
    cluster.stop_broker(BrokerId(victim))
    rows = Sampler(cluster).sample(AT)
    assert victim not in {row["broker"] for row in rows}
    assert any(row["isr"] == 1 for row in rows)


def test_rows_of_one_replica_share_a_key_and_seq_rises() -> None:
    sampler, sent = Sampler(small_cluster()), Collected()
    reported: list[int] = []
    rows = sample_periodically(
        sampler, sent, interval_s=1, count=3, wait=lambda pause: False, sampled=reported.append
    )
    assert rows == 12
    assert reported == [4, 4, 4]
    assert len(set(sent.keys)) == 4
    assert {orjson.loads(value)["seq"] for value in sent.values} == {0, 2, 4}
    assert orjson.loads(sent.values[0])["ts"].endswith("Z")


def test_sampling_ends_when_wait_returns_true() -> None:
    sent = Collected()
    waits = iter([False, True])
    sample_periodically(
        Sampler(small_cluster()), sent, interval_s=1, count=None, wait=lambda _: next(waits)
    )
    assert len(sent.values) == 8


def test_a_sample_that_fails_is_missed_and_the_next_one_is_sent() -> None:
    sent, missed = Collected(), list[str]()
    faulty = FaultyCluster(small_cluster())
    faulty.fail("log_dirs", ClusterUnavailable("no broker reached"), times=1)
    rows = sample_periodically(
        Sampler(faulty.port),
        sent,
        interval_s=1,
        count=3,
        wait=lambda _: False,
        missed=lambda error: missed.append(error.what),
    )
    assert (rows, len(sent.values), missed) == (8, 8, ["no broker reached"])


@pytest.mark.parametrize(("interval_s", "count"), [(0, 1), (1, 0)])
def test_sampling_without_an_interval_or_a_count_is_refused(interval_s: int, count: int) -> None:
    with pytest.raises(InvalidRequest):
        sample_periodically(
            Sampler(small_cluster()),
            Collected(),
            interval_s=interval_s,
            count=count,
            wait=lambda _: False,
        )


def test_lines_are_sent_unchanged_and_tables_row_by_row(tmp_path: Path) -> None:
    expected = generate(tmp_path, size="XS", seed=4, formats=("parquet", "jsonl", "csv"))
    text, table = Collected(), Collected()
    assert replay(tmp_path / "raw_jsonl", text) == (
        expected["rows_total"] + expected["text_broken"]["jsonl"]
    )
    files = sorted((tmp_path / "raw_jsonl").rglob("*.jsonl"), key=lambda file: file.name)
    assert text.values == [line for file in files for line in file.read_bytes().splitlines()]
    assert replay(tmp_path / "raw_parquet", table) == expected["rows_total"]
    first = sorted((tmp_path / "raw_parquet").rglob("*.parquet"), key=lambda file: file.name)[0]
    row = pq.ParquetFile(first).read().slice(0, 1).to_pylist()[0]
    assert table.values[0] == encode_row(row)[0]
    assert orjson.loads(table.values[0]) == orjson.loads(text.values[0])


def test_a_file_that_is_not_a_table_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    with pytest.raises(MalformedInput, match=r"x\.parquet"):
        replay(tmp_path / "x.parquet", Collected())
    with pytest.raises(InvalidRequest, match="no such file"):
        replay(tmp_path / "y.parquet", Collected())
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidRequest, match="has no metrics files"):
        replay(tmp_path / "empty", Collected())


def test_settings_of_kafkas_tools_become_those_of_the_client() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" '
    access = access_from(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": jaas + 'password="p";',
        }
    )
    reported = librdkafka_settings(access)
    assert reported["security.protocol"] == "SASL_PLAINTEXT"
    assert (reported["sasl.mechanism"], reported["sasl.username"]) == ("PLAIN", "u")
    assert reported["sasl.password"] == "p"


@pytest.mark.parametrize(
    ("text", "value"), [("60s", 60), ("5m", 300), ("500ms", 0.5), ("1h", 3600), ("2", 2)]
)
def test_times_have_their_unit(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "s", "1d", "-1s", "nan", "1000h"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        seconds(text)
