from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given

from kedge.errors import InvalidRequest, KedgeError, MalformedInput
from kedge.model import (
    Snapshot,
    parse_snapshot,
    sha256_of_snapshot,
    snapshot_from_arrow,
    snapshot_to_arrow,
)
from tests.model.examples import example
from tests.model.strategies import large_snapshot, snapshots, untimed

EXAMPLE = parse_snapshot(orjson.dumps(example()))


@untimed
@given(snapshots())
def test_arrow_gives_back_the_same_snapshot(snapshot: Snapshot) -> None:
    again = snapshot_from_arrow(*snapshot_to_arrow(snapshot))
    assert again == snapshot
    assert sha256_of_snapshot(again) == sha256_of_snapshot(snapshot)


def test_twenty_thousand_partitions_come_back_as_they_were() -> None:
    snapshot = large_snapshot(20_000)
    assert snapshot_from_arrow(*snapshot_to_arrow(snapshot)) == snapshot


def test_the_tables_have_the_columns_of_the_format() -> None:
    tables = snapshot_to_arrow(large_snapshot(3))
    assert [f"{f.name} {f.type}" for f in tables.partitions.schema] == [
        "topic string",
        "partition int32",
        "replicas list<item: int32>",
        "leader int32",
        "isr list<item: int32>",
        "replication_factor int32",
        "size int64",
        "bytes_in double",
        "bytes_out double",
        "log_dirs list<item: string>",
    ]
    assert [f"{f.name} {f.type}" for f in tables.brokers.schema] == [
        *("broker int32", "rack string", "state string"),
        *("disk double", "in double", "out double", "cpu double"),
    ]


def test_a_table_without_metadata_still_reads() -> None:
    brokers, partitions = snapshot_to_arrow(EXAMPLE)
    plain = snapshot_from_arrow(
        brokers.replace_schema_metadata(None), partitions.replace_schema_metadata(None)
    )
    assert (plain.cluster_id, plain.taken_at, plain.cpu_model) == (None, None, None)
    assert plain.assignment == EXAMPLE.assignment
    assert plain.log_dir_paths == EXAMPLE.log_dir_paths


def test_only_the_needed_columns_are_needed() -> None:
    brokers = pa.table({"broker": [2, 1]})
    rows = {"topic": ["t"], "partition": [0], "replicas": [[1, 2]], "replication_factor": [2]}
    snapshot = snapshot_from_arrow(brokers, pa.table(rows))
    assert snapshot.broker_ids.tolist() == [1, 2]
    assert snapshot.assignment.replicas.tolist() == [[1, 2]]
    assert (snapshot.size < 0).all()


def test_other_types_that_hold_the_same_values_read_alike() -> None:
    brokers, partitions = snapshot_to_arrow(EXAMPLE)
    for name, kind in {
        "topic": pa.dictionary(pa.int8(), pa.string()),
        "partition": pa.int64(),
        "replicas": pa.large_list(pa.int16()),
        "log_dirs": pa.list_(pa.large_string()),
        "bytes_in": pa.float32(),
    }.items():
        place = partitions.column_names.index(name)
        partitions = partitions.set_column(place, name, partitions.column(name).cast(kind))
    assert snapshot_from_arrow(brokers, partitions) == EXAMPLE


def test_a_sliced_table_reads_as_its_rows() -> None:
    brokers, partitions = snapshot_to_arrow(EXAMPLE)
    assert snapshot_from_arrow(brokers, partitions.slice(1)).assignment.topics == ("orders",)


# ---- fleets -------------------------------------------------------------------------------------


def fleet() -> tuple[Any, Any]:
    brokers = pa.table({"cluster": ["a", "b", "b"], "broker": [1, 1, 2]})
    partitions = pa.table(
        {
            "cluster": ["a", "b", "b"],
            "topic": ["t", "t", "t"],
            "partition": [0, 0, 1],
            "replicas": [[1], [1, 2], [2]],
            "replication_factor": [1, 2, 1],
        }
    )
    return brokers, partitions


def test_a_fleet_is_refused_until_a_cluster_is_named() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        snapshot_from_arrow(*fleet())
    assert str(refusal.value) == "the tables hold 2 clusters: a, b; name one of them"
    snapshot = snapshot_from_arrow(*fleet(), cluster="b")
    assert snapshot.cluster_id == "b"
    assert snapshot.assignment.replicas.tolist() == [[1, 2], [2, -1]]


def test_a_cluster_that_the_fleet_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="the tables hold no cluster c, only a, b"):
        snapshot_from_arrow(*fleet(), cluster="c")


def test_a_fault_in_a_fleet_is_named_by_the_row_of_the_file() -> None:
    brokers, partitions = fleet()
    with pytest.raises(MalformedInput) as refusal:
        snapshot_from_arrow(brokers.slice(0, 2), partitions, cluster="b")
    assert refusal.value.place == "partitions.parquet row 1 replicas"


def test_a_table_of_one_cluster_names_it() -> None:
    brokers, partitions = fleet()
    assert snapshot_from_arrow(brokers.slice(1), partitions.slice(1)).cluster_id == "b"


def test_the_snapshot_of_another_cluster_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="a snapshot of prod-eu, not of prod-us"):
        snapshot_from_arrow(*snapshot_to_arrow(EXAMPLE), cluster="prod-us")
    assert snapshot_from_arrow(*snapshot_to_arrow(EXAMPLE), cluster="prod-eu") == EXAMPLE


# ---- refusals -----------------------------------------------------------------------------------


def with_column(table: Any, name: str, values: Any) -> Any:
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values) if isinstance(values, list) else values)


PARTITION_FAULTS: list[tuple[str, Any, str]] = [
    ("topic", ["logs", "", "orders"], "partitions.parquet row 1 topic: the topic name is empty"),
    ("topic", ["logs", None, "orders"], "partitions.parquet row 1 topic: null"),
    ("topic", [1, 2, 3], "partitions.parquet topic: expected text, got int64"),
    ("partition", [0, 0, 0], "partitions.parquet row 2 partition: orders-0 is listed twice"),
    ("partition", [0.0, 0.0, 1.0], "partitions.parquet partition: expected whole numbers, got dou"),
    ("partition", [0, None, 1], "partitions.parquet row 1 partition: null"),
    ("replicas", [[3], [1, 2, 3], []], "partitions.parquet row 2 replicas: the list is empty"),
    ("replicas", [[3], None, [2]], "partitions.parquet row 1 replicas: null"),
    ("replicas", [[3], [1, None], [2]], "partitions.parquet row 1 replicas: null"),
    ("replicas", [[3], [1, 9], [2]], "partitions.parquet row 1 replicas: broker 9 is not in"),
    ("replicas", ["1", "2", "3"], "partitions.parquet replicas: expected lists, got string"),
    ("replicas", [["1"], ["2"], ["3"]], "partitions.parquet replicas: expected lists of whole"),
    ("leader", [None, 9, 1], "partitions.parquet row 1 leader: broker 9 is not one of the"),
    ("leader", [True, True, True], "partitions.parquet leader: expected whole numbers, got bool"),
    ("isr", [[2], [1], [1]], "partitions.parquet row 0 isr: broker 2 is not one of the replicas"),
    ("replication_factor", [1, 0, 3], "partitions.parquet row 1 replication_factor: a replication"),
    ("replication_factor", [1, None, 3], "partitions.parquet row 1 replication_factor: null"),
    ("size", [1, -5, 3], "partitions.parquet row 1 size: -5 is below 0"),
    ("size", [1.0, 2.0, 3.0], "partitions.parquet size: expected whole numbers, got double"),
    ("bytes_in", [1.0, np.nan, 3.0], "partitions.parquet row 1 bytes_in: a rate is a finite"),
    ("bytes_out", [1.0, 2.0, np.inf], "partitions.parquet row 2 bytes_out: a rate is a finite"),
    ("bytes_out", ["1", "2", "3"], "partitions.parquet bytes_out: expected numbers, got string"),
    ("log_dirs", [None, ["/data/0"], None], "partitions.parquet row 1 log_dirs: 1 log dirs for 3"),
    ("log_dirs", [[1], [2], [3]], "partitions.parquet log_dirs: expected lists of text, got int64"),
]


@pytest.mark.parametrize(("column", "values", "sentence"), PARTITION_FAULTS)
def test_a_fault_in_the_partitions_is_refused(column: str, values: Any, sentence: str) -> None:
    brokers, partitions = snapshot_to_arrow(EXAMPLE)
    with pytest.raises(MalformedInput) as refusal:
        snapshot_from_arrow(brokers, with_column(partitions, column, values))
    assert str(refusal.value).startswith(sentence)


BROKER_FAULTS: list[tuple[str, Any, str]] = [
    ("broker", [1, 2, 2], "brokers.parquet row 2 broker: broker 2 is listed twice"),
    ("broker", [1, -2, 3], "brokers.parquet row 1 broker: -2 is not a broker id"),
    ("broker", [1, None, 3], "brokers.parquet row 1 broker: null"),
    ("broker", pa.array([1, 2, 2**64 - 1], pa.uint64()), "brokers.parquet broker: a number does"),
    ("rack", [1, 2, 3], "brokers.parquet rack: expected text, got int64"),
    ("state", ["alive", "gone", "new"], 'brokers.parquet row 1 state: "gone" is none of alive'),
    ("disk", [1.0, -1.0, None], "brokers.parquet row 1 disk: a capacity is a number above 0"),
    ("cpu", [1.0, np.nan, None], "brokers.parquet row 1 cpu: a capacity is a number above 0"),
]


@pytest.mark.parametrize(("column", "values", "sentence"), BROKER_FAULTS)
def test_a_fault_in_the_brokers_is_refused(column: str, values: Any, sentence: str) -> None:
    brokers, partitions = snapshot_to_arrow(EXAMPLE)
    with pytest.raises(MalformedInput) as refusal:
        snapshot_from_arrow(with_column(brokers, column, values), partitions)
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize("column", ["topic", "partition", "replicas", "replication_factor"])
def test_a_needed_column_that_is_missing_is_refused(column: str) -> None:
    brokers, partitions = snapshot_to_arrow(EXAMPLE)
    with pytest.raises(MalformedInput, match=f"partitions.parquet {column}: no such column"):
        snapshot_from_arrow(brokers, partitions.drop_columns([column]))


def test_tables_of_two_snapshots_are_refused() -> None:
    other = example()
    other["taken_at"] = "2026-11-16T12:00:00Z"
    later = snapshot_to_arrow(parse_snapshot(orjson.dumps(other)))
    with pytest.raises(MalformedInput, match="are of different snapshots"):
        snapshot_from_arrow(later.brokers, snapshot_to_arrow(EXAMPLE).partitions)


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        (b"", "brokers.parquet metadata kedge.snapshot: the file is empty"),
        (b"{", "brokers.parquet metadata kedge.snapshot: not JSON at line 1"),
        (b"{}", "brokers.parquet metadata kedge.snapshot.format: missing"),
        (
            b'{"format":"kedge.snapshot/9"}',
            "brokers.parquet metadata kedge.snapshot.format: version",
        ),
    ],
)
def test_metadata_that_does_not_read_is_refused(metadata: bytes, sentence: str) -> None:
    brokers, partitions = snapshot_to_arrow(EXAMPLE)
    with pytest.raises(KedgeError) as refusal:
        snapshot_from_arrow(
            brokers.replace_schema_metadata({"kedge.snapshot": metadata}), partitions
        )
    assert str(refusal.value).startswith(sentence)


def test_text_that_is_not_utf8_is_refused() -> None:
    brokers, partitions = snapshot_to_arrow(EXAMPLE)
    broken = pa.array([b"a", b"\xff", b"c"]).view(pa.string())
    with pytest.raises(MalformedInput, match=r"partitions\.parquet: damaged"):
        snapshot_from_arrow(brokers, with_column(partitions, "topic", broken))
