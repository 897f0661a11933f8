"""Checkpoints: a mismatch of topic, tables or batches is refused before anything is written."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kedge.errors import InvalidRequest, MalformedInput, OutputNotOurs
from kedge.pipeline.jobs.stream import StreamRequest, stream
from kedge.pipeline.sources.checkpoint import (
    TopicIdentity,
    check_checkpoint,
    check_tables_match,
    open_checkpoint,
)
from kedge.pipeline.sources.kafka_reader import KafkaSource

SOURCE = TopicIdentity("cluster-a", "metrics", "id-1")


def no_session() -> AbstractContextManager[Any]:
    raise AssertionError("no session may be started")


@pytest.fixture
def request_(tmp_path: Path) -> StreamRequest:
    brokers = pa.table({"cluster": ["c"], "broker": pa.array([1], pa.int32())})
    placed = {"cluster": ["c"], "topic": ["t"], "partition": pa.array([0], pa.int32())}
    pq.write_table(brokers, tmp_path / "brokers.parquet")
    pq.write_table(pa.table({**placed, "replicas": [[1]]}), tmp_path / "assignment.parquet")
    return StreamRequest(
        KafkaSource("127.0.0.1:1", "metrics", 100),
        SOURCE,
        tmp_path / "brokers.parquet",
        tmp_path / "assignment.parquet",
        tmp_path / "history",
        tmp_path / "checkpoint",
    )


def test_a_checkpoint_keeps_its_name_and_a_new_one_gets_another(tmp_path: Path) -> None:
    first = open_checkpoint(tmp_path / "a", SOURCE, tmp_path / "out")
    assert open_checkpoint(tmp_path / "a", SOURCE, tmp_path / "out") == first
    assert open_checkpoint(tmp_path / "b", SOURCE, tmp_path / "out").stream != first.stream
    assert first.last_committed_batch == -1


@pytest.mark.parametrize(
    ("source", "output", "sentence"),
    [
        (replace(SOURCE, topic="other"), "out", "checkpoint of topic metrics"),
        (replace(SOURCE, cluster_id="cluster-b"), "out", "of cluster cluster-a"),
        (replace(SOURCE, topic_id="id-2"), "out", "deleted and created again"),
        (SOURCE, "elsewhere", "checkpoint of a stream into"),
    ],
)
def test_a_checkpoint_of_another_stream_is_refused(
    source: TopicIdentity, output: str, sentence: str, tmp_path: Path
) -> None:
    open_checkpoint(tmp_path / "checkpoint", SOURCE, tmp_path / "out")
    with pytest.raises(InvalidRequest, match=sentence):
        check_checkpoint(tmp_path / "checkpoint", source, tmp_path / output)


@pytest.mark.parametrize("text", [None, b"{", b"[]", b'{"format":"kedge.stream/9"}'])
def test_a_directory_with_other_content_is_refused_and_unchanged(
    text: bytes | None, tmp_path: Path
) -> None:
    directory = tmp_path / "checkpoint"
    (directory / "offsets").mkdir(parents=True)  # as Spark lays out a checkpoint of any job
    if text is not None:
        (directory / "kedge-stream.json").write_bytes(text)
    before = sorted(directory.rglob("*"))
    with pytest.raises(InvalidRequest, match="not a checkpoint of a kedge stream"):
        open_checkpoint(directory, SOURCE, tmp_path / "out")
    assert sorted(directory.rglob("*")) == before


def test_tables_that_lack_batches_of_the_checkpoint_are_refused(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(tmp_path / "a", SOURCE, tmp_path / "out")
    commits = checkpoint.spark.path / "commits"
    commits.mkdir(parents=True)
    for batch in ("0", "1", "2", ".2.crc"):
        (commits / batch).touch()
    check_tables_match(checkpoint, {checkpoint.stream: 2})
    check_tables_match(checkpoint, {checkpoint.stream: 3})  # published, not yet noted by Spark
    with pytest.raises(InvalidRequest, match="3 batches are committed, the tables have 1 of them"):
        check_tables_match(checkpoint, {checkpoint.stream: 0})
    with pytest.raises(InvalidRequest, match="the tables have 0 of them"):
        check_tables_match(checkpoint, {})


def test_rows_are_not_read_again_through_a_second_checkpoint(tmp_path: Path) -> None:
    lost = open_checkpoint(tmp_path / "a", SOURCE, tmp_path / "out")
    fresh = open_checkpoint(tmp_path / "b", SOURCE, tmp_path / "out")
    with pytest.raises(InvalidRequest, match="from another checkpoint"):
        check_tables_match(fresh, {lost.stream: 4})


def test_the_rows_of_a_batch_are_those_between_its_offsets(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(tmp_path / "a", SOURCE, tmp_path / "out")
    offsets = checkpoint.spark.path / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text('v1\n{}\n{"metrics":{"0":10,"1":5}}')
    (offsets / "1").write_text('v1\n{}\n{"metrics":{"0":12,"1":5,"2":1}}')
    (offsets / "2").write_text("v1\n{")
    assert [checkpoint.planned_rows(batch) for batch in range(4)] == [15, 3, 0, 0]


def test_a_checkpoint_that_is_a_file_is_refused(request_: StreamRequest) -> None:
    Path(str(request_.checkpoint)).write_text("x")
    with pytest.raises(InvalidRequest, match="is a file"):
        stream(request_, no_session)
    assert not Path(str(request_.tables)).exists()


def test_tables_in_a_directory_with_other_content_are_refused(request_: StreamRequest) -> None:
    Path(str(request_.tables)).mkdir()
    (Path(str(request_.tables)) / "letter.txt").write_text("dear")
    with pytest.raises(OutputNotOurs):
        stream(request_, no_session)
    assert not Path(str(request_.checkpoint)).exists()


def test_a_damaged_table_of_brokers_is_refused_before_anything_is_written(
    request_: StreamRequest,
) -> None:
    Path(str(request_.brokers)).write_bytes(b"PAR1 and then nothing")
    with pytest.raises(MalformedInput, match=r"brokers\.parquet"):
        stream(request_, no_session)
    assert not Path(str(request_.tables)).exists()
    assert not Path(str(request_.checkpoint)).exists()


def test_client_settings_are_options_of_the_connector_and_not_in_the_repr() -> None:
    client = {"sasl.jaas.config": "hush", "auto.offset.reset": "none", "security.protocol": "SSL"}
    source = KafkaSource("h:1", "t", 5, client)
    options = source.options()
    assert options["kafka.sasl.jaas.config"] == "hush"
    assert options["kafka.security.protocol"] == "SSL"
    assert "kafka.auto.offset.reset" not in options
    assert options["failOnDataLoss"] == "true"
    assert "hush" not in repr(source)
