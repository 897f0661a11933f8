from __future__ import annotations

import gc
import hashlib
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidRequest, MalformedInput
from kedge.model import (
    UNKNOWN,
    Assignment,
    Broker,
    BrokerId,
    BrokerState,
    CpuModel,
    LogDir,
    Snapshot,
    parse_snapshot,
    sha256_of_snapshot,
    snapshot_to_json,
)
from tests.model.examples import example
from tests.model.strategies import large_snapshot, snapshots, untimed


def test_the_example_reads_as_it_is_written() -> None:
    snapshot = parse_snapshot(orjson.dumps(example()))
    assert snapshot.cluster_id == "prod-eu"
    assert snapshot.taken_at == datetime(2026, 11, 15, 12, tzinfo=UTC)
    assert snapshot.cpu_model == CpuModel(6e-7, 3e-7, 2e-7)
    first = snapshot.brokers[0]
    assert (first.id, first.rack, first.state) == (1, "a", BrokerState.ALIVE)
    assert (first.capacity.disk, first.capacity.bytes_in, first.capacity.cpu) == (4e12, 2e8, 100)
    assert first.log_dirs == (LogDir("/data/0", 2e12), LogDir("/data/1", 2e12))
    assert snapshot.assignment.topics == ("logs", "orders")
    assert snapshot.assignment.replicas.tolist() == [[3, -1, -1], [1, 2, 3], [2, 3, 1]]
    assert snapshot.wanted_rf.tolist() == [1, 3, 3]
    assert snapshot.leader.tolist() == [UNKNOWN, 1, -1]
    assert snapshot.isr.tolist() == [[UNKNOWN, -1, -1], [1, 2, 3], [-1, -1, -1]]
    assert snapshot.isr_known.tolist() == [False, True, True]
    assert snapshot.adding.tolist() == [[-1], [-1], [1]]
    assert snapshot.removing.tolist() == [[-1], [-1], [2]]
    assert snapshot.size.tolist() == [-1, 1234567, 0]
    np.testing.assert_array_equal(snapshot.bytes_in, [np.nan, 1000.0, np.nan])
    np.testing.assert_array_equal(snapshot.bytes_out, [np.nan, 2500.0, 7.0])
    assert snapshot.log_dir_paths == ("/data/0", "/data/1")
    assert snapshot.log_dir.tolist() == [[-1, -1, -1], [0, -1, 1], [-1, -1, -1]]


def test_only_what_metadata_gives_is_needed() -> None:
    data = b"""{"format": "kedge.snapshot/1", "brokers": [{"id": 7}], "topics": [
        {"name": "t", "replication_factor": 2, "partitions": [{"id": 0, "replicas": [7]}]}]}"""
    snapshot = parse_snapshot(data)
    assert snapshot == Snapshot.of(
        [Broker(BrokerId(7))],
        Assignment.from_rows([("t", 0, [7])]),
        wanted_rf=np.array([2]),
    )
    assert (snapshot.size < 0).any()
    assert np.isnan(snapshot.bytes_in).any()
    assert snapshot.acting_leader.tolist() == [7]


def test_a_cluster_without_topics_reads() -> None:
    data = b'{"format":"kedge.snapshot/1","brokers":[{"id":1,"state":"new"}],"topics":[]}'
    snapshot = parse_snapshot(data)
    assert len(snapshot) == 0
    assert snapshot_to_json(snapshot) == data


def test_additions_to_the_format_are_ignored() -> None:
    document = example()
    document["later"] = {"deep": [1, None]}
    document["brokers"][0]["zone"] = 1
    document["topics"][0]["partitions"][0]["topic"] = 5
    assert parse_snapshot(orjson.dumps(document)) == parse_snapshot(orjson.dumps(example()))


def test_null_is_the_same_as_absent() -> None:
    document = example()
    document["topics"][1]["partitions"][0].update(
        leader=None, isr=None, adding=None, removing=None, load=None, log_dirs=None
    )
    document["brokers"][2].update(rack=None, capacity=None, log_dirs=None, state=None)
    assert parse_snapshot(orjson.dumps(document)) == parse_snapshot(orjson.dumps(example()))


@untimed
@given(snapshots())
def test_json_gives_back_the_same_snapshot(snapshot: Snapshot) -> None:
    again = parse_snapshot(snapshot_to_json(snapshot))
    assert again == snapshot
    assert snapshot_to_json(again) == snapshot_to_json(snapshot)


@untimed
@given(snapshots(), st.randoms(use_true_random=False))
def test_the_order_of_brokers_topics_and_partitions_does_not_matter(
    snapshot: Snapshot, luck: Any
) -> None:
    document = orjson.loads(snapshot_to_json(snapshot))
    luck.shuffle(document["brokers"])
    luck.shuffle(document["topics"])
    factors = [topic["replication_factor"] for topic in document["topics"]]
    for topic, factor in zip(document["topics"], factors, strict=True):
        for partition in topic["partitions"]:
            partition.setdefault("replication_factor", factor)
        luck.shuffle(topic["partitions"])
    assert parse_snapshot(orjson.dumps(document)) == snapshot
    assert sha256_of_snapshot(parse_snapshot(orjson.dumps(document))) == sha256_of_snapshot(
        snapshot
    )


def test_twenty_thousand_partitions_come_back_as_they_were() -> None:
    snapshot = large_snapshot(20_000)
    assert parse_snapshot(snapshot_to_json(snapshot)) == snapshot


def test_the_digest_is_that_of_the_bytes_written() -> None:
    snapshot = large_snapshot(10)
    expected = hashlib.sha256(snapshot_to_json(snapshot)).hexdigest()
    assert sha256_of_snapshot(snapshot) == expected


def test_a_time_in_another_zone_is_kept_in_utc() -> None:
    document = example()
    document["taken_at"] = "2026-11-15T14:30:00.25+02:30"
    snapshot = parse_snapshot(orjson.dumps(document))
    assert snapshot.taken_at == datetime(2026, 11, 15, 12, 0, 0, 250_000, tzinfo=UTC)
    assert b'"2026-11-15T12:00:00.250000Z"' in snapshot_to_json(snapshot)


def test_the_collector_runs_again_after_a_refusal() -> None:
    assert gc.isenabled()
    with pytest.raises(MalformedInput):
        parse_snapshot(b'{"format": "kedge.snapshot/1"}')
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        parse_snapshot(orjson.dumps(example()))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_columns_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="size has 2 rows, the assignment has 1"):
        Snapshot.of([], Assignment.from_rows([("t", 0, [1])]), size=np.array([1, 2]))


def test_moved_replicas_keep_their_loads_and_forget_where_they_were() -> None:
    before = parse_snapshot(orjson.dumps(example()))
    replicas = np.array([[2, -1, -1], [3, 2, 1], [1, 2, 3]], np.int32)
    after = before.with_assignment(before.assignment.with_replicas(replicas))
    assert after.leader.tolist() == [2, 3, 1]
    assert after.isr.tolist() == replicas.tolist()
    assert after.size.tolist() == before.size.tolist()
    assert (after.log_dir == -1).all()
    assert parse_snapshot(snapshot_to_json(after)) == after
