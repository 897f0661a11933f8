"""Snapshots as two Arrow tables, which large clusters and the pipeline store as Parquet.

`brokers.parquet` and `partitions.parquet` have the columns below. Fields without a column (cluster
id, time, cpu model, log directories) are JSON in the metadata of the brokers' schema, under the key
`kedge.snapshot`; tables without it are valid. `adding` and `removing` exist only while some
partition is being moved.

A fleet's tables start with `cluster`: rows of several clusters, of which the caller names one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import orjson

from kedge.errors import InvalidRequest, MalformedInput, MalformedJson
from kedge.model.arrow import (
    Table,
    TableReader,
    arrow,
    list_array,
    list_column,
    nullable_column,
    string_column,
)
from kedge.model.assignment import Assignment
from kedge.model.broker import Broker, BrokerState, Capacity, LogDir
from kedge.model.columns import PAD, Int32s, non_empty_rows, offsets_of, ragged_of_matrix, text_list
from kedge.model.json_path import JsonPath, parse_document
from kedge.model.partition import BrokerId
from kedge.model.partition_table import Header, PartitionTable, snapshot_of_table
from kedge.model.snapshot import Snapshot
from kedge.model.snapshot_checks import first_broker_fault, first_partition_fault
from kedge.model.snapshot_json import (
    FORMAT,
    VERSION,
    check_format,
    header_of,
    log_dirs_of,
    state_of,
)
from kedge.model.snapshot_json_text import header_json, log_dirs_json

BROKERS = "brokers.parquet"
PARTITIONS = "partitions.parquet"
METADATA_KEY = b"kedge.snapshot"

BROKER_COLUMNS = ("cluster", "broker", "rack", "state", "disk", "in", "out", "cpu")
PARTITION_COLUMNS = (
    *("cluster", "topic", "partition", "replicas", "leader", "isr", "replication_factor"),
    *("size", "bytes_in", "bytes_out", "log_dirs", "adding", "removing"),
)


class SnapshotTables(NamedTuple):
    """The two tables of a snapshot."""

    brokers: Table
    partitions: Table


# ---- write --------------------------------------------------------------------------------------


def snapshot_to_arrow(snapshot: Snapshot) -> SnapshotTables:
    """Return the tables of a snapshot."""
    header = {"format": f"{FORMAT}/{VERSION}", **header_json(snapshot)}
    log_dirs = {str(b.id): log_dirs_json(b.log_dirs) for b in snapshot.brokers if b.log_dirs}
    return SnapshotTables(
        _with_metadata(_brokers_table(snapshot.brokers), {**header, "log_dirs": log_dirs}),
        _with_metadata(_partitions_table(snapshot), header),
    )


def _with_metadata(table: Table, document: dict[str, Any]) -> Table:
    return table.replace_schema_metadata({METADATA_KEY: orjson.dumps(document)})


def _brokers_table(brokers: tuple[Broker, ...]) -> Table:
    pa = arrow()
    capacities = [broker.capacity for broker in brokers]
    return pa.table(
        {
            "broker": pa.array([broker.id for broker in brokers], pa.int32()),
            "rack": pa.array([broker.rack for broker in brokers], pa.string()),
            "state": pa.array([broker.state.value for broker in brokers], pa.string()),
            "disk": pa.array([one.disk for one in capacities], pa.float64()),
            "in": pa.array([one.bytes_in for one in capacities], pa.float64()),
            "out": pa.array([one.bytes_out for one in capacities], pa.float64()),
            "cpu": pa.array([one.cpu for one in capacities], pa.float64()),
        }
    )


def _partitions_table(snapshot: Snapshot) -> Table:
    pa = arrow()
    columns = {
        **_assignment_columns(snapshot.assignment),
        "leader": nullable_column(snapshot.leader, snapshot.leader >= -1, pa.int32()),
        "isr": list_column(ragged_of_matrix(snapshot.isr), snapshot.isr_known),
        "replication_factor": pa.array(snapshot.wanted_rf),
        "size": nullable_column(snapshot.size, snapshot.size >= 0, pa.int64()),
        "bytes_in": _rate_column(snapshot.bytes_in),
        "bytes_out": _rate_column(snapshot.bytes_out),
        "log_dirs": _log_dir_column(snapshot),
    }
    for name, moving in (("adding", snapshot.adding), ("removing", snapshot.removing)):
        if (moving >= 0).any():
            columns[name] = list_column(ragged_of_matrix(moving))
    return pa.table(columns)


def _assignment_columns(assignment: Assignment) -> dict[str, Any]:
    return {
        "topic": string_column(assignment.topics, assignment.topic),
        "partition": arrow().array(assignment.partition),
        "replicas": list_column(ragged_of_matrix(assignment.replicas)),
    }


def _rate_column(rates: Any) -> Any:
    return nullable_column(rates, ~np.isnan(rates), arrow().float64())


def _log_dir_column(snapshot: Snapshot) -> Any:
    """Return null for a partition whose directories are unknown, else one entry per replica."""
    known = non_empty_rows(snapshot.log_dir)
    there = (snapshot.assignment.replicas >= 0) & known[:, None]
    flat: Int32s = snapshot.log_dir[there]
    values = string_column(snapshot.log_dir_paths, flat)
    return list_array(values, offsets_of(np.count_nonzero(there, axis=1)), known)


# ---- read ---------------------------------------------------------------------------------------


def snapshot_from_arrow(
    brokers: Table, partitions: Table, *, cluster: str | None = None
) -> Snapshot:
    """Read a snapshot from two tables; an error names the table, row and column."""
    for table, name in ((brokers, BROKERS), (partitions, PARTITIONS)):
        _check_sound(table, name)
    cluster = _chosen_cluster(brokers, partitions, cluster)
    header, log_dirs = _metadata(brokers, partitions, cluster)
    listed = _brokers(_of_cluster(brokers, BROKERS, cluster), log_dirs)
    reader = _of_cluster(partitions, PARTITIONS, cluster)
    table = _partition_table(reader)
    fault = first_partition_fault(table, listed)
    if fault is not None:
        raise reader.malformed(fault.what, fault.field, fault.row)
    return snapshot_of_table(header, listed, table)


def _check_sound(table: Table, name: str) -> None:
    """Check offsets and UTF-8, which a damaged file may get wrong."""
    try:
        table.validate(full=True)
    except arrow().ArrowInvalid as error:
        raise MalformedInput(f"damaged: {error}", place=name) from error


def _chosen_cluster(brokers: Table, partitions: Table, cluster: str | None) -> str | None:
    """Return the cluster to read: the one named, or the only one."""
    there: dict[str, None] = {}
    for table, name in ((brokers, BROKERS), (partitions, PARTITIONS)):
        reader = TableReader(table, name)
        if reader.has("cluster"):
            there.update(dict.fromkeys(reader.required_strings("cluster")[0]))
    if cluster is None and len(there) > 1:
        what = f"the tables hold {len(there)} clusters: {text_list(sorted(there))}"
        raise InvalidRequest(what, hint="name one of them")
    if cluster is not None and there and cluster not in there:
        raise InvalidRequest(f"the tables hold no cluster {cluster}, only {text_list(there)}")
    return cluster if cluster is not None else next(iter(there), None)


def _of_cluster(table: Table, name: str, cluster: str | None) -> TableReader:
    reader = TableReader(table, name)
    if not reader.has("cluster"):
        return reader
    names, index = reader.required_strings("cluster")
    if len(names) < 2 and (not names or names[0] == cluster):
        return reader
    mine = index == (names.index(cluster) if cluster in names else PAD)
    return TableReader(table.filter(arrow().array(mine)), name, np.flatnonzero(mine))


# ---- metadata -----------------------------------------------------------------------------------


def _metadata(
    brokers: Table, partitions: Table, cluster: str | None
) -> tuple[Header, dict[str, tuple[LogDir, ...]]]:
    """Return the fields in the tables' metadata that belong to this cluster."""
    document, beside = _document(brokers, BROKERS), _document(partitions, PARTITIONS)
    header = header_of(document) if document else Header()
    if document and beside and header != header_of(beside):
        what = f"{BROKERS} and {PARTITIONS} are of different snapshots"
        raise MalformedInput(what, hint="one of them was replaced: take the snapshot again")
    if not document or (cluster is not None and cluster != header.cluster_id):
        named = any("cluster" in table.column_names for table in (brokers, partitions))
        if document and header.cluster_id is not None and not named:
            raise InvalidRequest(f"a snapshot of {header.cluster_id}, not of {cluster}")
        return Header(cluster_id=cluster), {}
    log_dirs = document.optional("log_dirs")
    if log_dirs is None:
        return header, {}
    return header, {name: log_dirs_of(log_dirs.field(name)) for name in log_dirs.object()}


def _document(table: Table, name: str) -> JsonPath | None:
    metadata: dict[bytes, bytes] = table.schema.metadata or {}
    data = metadata.get(METADATA_KEY)
    if data is None:
        return None
    place = f"{name} metadata {METADATA_KEY.decode()}"
    try:
        document = JsonPath(parse_document(data).value, place)
    except MalformedJson as fault:
        raise MalformedJson(fault.what, place=place) from fault
    check_format(document)
    return document


# ---- columns ------------------------------------------------------------------------------------


def _brokers(reader: TableReader, log_dirs: dict[str, tuple[LogDir, ...]]) -> list[Broker]:
    ids: list[int] = reader.required_ints("broker").tolist()
    racks, states = _texts(reader, "rack"), _states(reader)
    columns = [_numbers(reader, name) for name in ("disk", "in", "out", "cpu")]
    capacities = zip(*columns, strict=True)
    brokers = [
        Broker(BrokerId(i), rack, state, (), Capacity(*capacity), log_dirs.get(str(i), ()))
        for i, rack, state, capacity in zip(ids, racks, states, capacities, strict=True)
    ]
    fault = first_broker_fault(brokers)
    if fault is not None:
        raise reader.malformed(fault.what, fault.field, fault.row)
    return brokers


def _texts(reader: TableReader, column: str) -> list[str | None]:
    names, index = reader.strings(column)
    return [None if place == PAD else names[place] for place in index.tolist()]


def _states(reader: TableReader) -> list[BrokerState]:
    return [
        BrokerState.ALIVE if name is None else state_of(JsonPath(name, reader.place("state", row)))
        for row, name in enumerate(_texts(reader, "state"))
    ]


def _numbers(reader: TableReader, column: str) -> list[float | None]:
    found = reader.floats(column)
    pairs = zip(found.values.tolist(), found.known.tolist(), strict=True)
    return [value if known else None for value, known in pairs]


def _partition_table(reader: TableReader) -> PartitionTable:
    topics, topic = reader.required_strings("topic")
    log_dirs, paths = reader.string_lists("log_dirs")
    return PartitionTable(
        topics=topics,
        topic=topic,
        partition=reader.required_ints("partition"),
        replicas=reader.required_int_lists("replicas"),
        wanted_rf=reader.required_ints("replication_factor"),
        leader=reader.ints("leader"),
        isr=reader.int_lists("isr"),
        adding=reader.int_lists("adding").lists,
        removing=reader.int_lists("removing").lists,
        size=reader.ints("size"),
        bytes_in=reader.floats("bytes_in"),
        bytes_out=reader.floats("bytes_out"),
        log_dirs=log_dirs,
        paths=paths,
    )


__all__ = [
    "BROKERS",
    "BROKER_COLUMNS",
    "PARTITIONS",
    "PARTITION_COLUMNS",
    "SnapshotTables",
    "snapshot_from_arrow",
    "snapshot_to_arrow",
]
