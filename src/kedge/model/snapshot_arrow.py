"""A snapshot as two Arrow tables: what large clusters and the pipeline keep as Parquet.

`brokers.parquet` and `partitions.parquet` have the columns below. What has no column (cluster id,
time, cpu model, log directories) is JSON in the metadata of the brokers' schema, under the key
`kedge.snapshot`; tables without it read just as well. `adding` and `removing` are there only
while some partition is being moved.

A fleet's tables start with `cluster`: rows of several clusters, of which one must be named.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import orjson

from kedge.errors import InvalidRequest, MalformedInput, MalformedJson
from kedge.model.arrow import (
    Reader,
    Table,
    arrow,
    list_column,
    lists_around,
    text_column,
    told_column,
)
from kedge.model.assignment_arrow import assignment_columns
from kedge.model.broker import Broker, BrokerState, Capacity, LogDir
from kedge.model.columns import PAD, Int32s, offsets_of, ragged_of_matrix, rows_told, text_list
from kedge.model.cursor import Cursor, parse_document
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


# ---- out ----------------------------------------------------------------------------------------


def snapshot_to_arrow(snapshot: Snapshot) -> SnapshotTables:
    """The tables of a snapshot, with all that it knows."""
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
        **assignment_columns(snapshot.assignment),
        "leader": told_column(snapshot.leader, snapshot.leader >= -1, pa.int32()),
        "isr": list_column(ragged_of_matrix(snapshot.isr), snapshot.isr_told),
        "replication_factor": pa.array(snapshot.wanted_rf),
        "size": told_column(snapshot.size, snapshot.size >= 0, pa.int64()),
        "bytes_in": _rate_column(snapshot.bytes_in),
        "bytes_out": _rate_column(snapshot.bytes_out),
        "log_dirs": _log_dir_column(snapshot),
    }
    for name, moving in (("adding", snapshot.adding), ("removing", snapshot.removing)):
        if (moving >= 0).any():
            columns[name] = list_column(ragged_of_matrix(moving))
    return pa.table(columns)


def _rate_column(rates: Any) -> Any:
    return told_column(rates, ~np.isnan(rates), arrow().float64())


def _log_dir_column(snapshot: Snapshot) -> Any:
    """Null for a partition of which nothing is told, else one entry per replica."""
    told = rows_told(snapshot.log_dir)
    there = (snapshot.assignment.replicas >= 0) & told[:, None]
    flat: Int32s = snapshot.log_dir[there]
    values = text_column(snapshot.log_dir_paths, flat)
    return lists_around(values, offsets_of(np.count_nonzero(there, axis=1)), told)


# ---- in -----------------------------------------------------------------------------------------


def snapshot_from_arrow(
    brokers: Table, partitions: Table, *, cluster: str | None = None
) -> Snapshot:
    """The snapshot that two tables hold; a fault is refused with its table, row and column."""
    for table, name in ((brokers, BROKERS), (partitions, PARTITIONS)):
        _check_sound(table, name)
    cluster = _chosen_cluster(brokers, partitions, cluster)
    header, log_dirs = _metadata(brokers, partitions, cluster)
    listed = _brokers(_of_cluster(brokers, BROKERS, cluster), log_dirs)
    reader = _of_cluster(partitions, PARTITIONS, cluster)
    table = _partition_table(reader)
    fault = first_partition_fault(table, listed)
    if fault is not None:
        raise reader.refuse(fault.what, fault.field, fault.row)
    return snapshot_of_table(header, listed, table)


def _check_sound(table: Table, name: str) -> None:
    """Offsets within bounds and texts in UTF-8: what a damaged file may get wrong."""
    try:
        table.validate(full=True)
    except arrow().ArrowInvalid as error:
        raise MalformedInput(f"damaged: {error}", place=name) from error


def _chosen_cluster(brokers: Table, partitions: Table, cluster: str | None) -> str | None:
    """The cluster to read: the one named, or the only one there is."""
    there: dict[str, None] = {}
    for table, name in ((brokers, BROKERS), (partitions, PARTITIONS)):
        reader = Reader(table, name)
        if reader.has("cluster"):
            there.update(dict.fromkeys(reader.every_text("cluster")[0]))
    if cluster is None and len(there) > 1:
        what = f"the tables hold {len(there)} clusters: {text_list(sorted(there))}"
        raise InvalidRequest(what, hint="name one of them")
    if cluster is not None and there and cluster not in there:
        raise InvalidRequest(f"the tables hold no cluster {cluster}, only {text_list(there)}")
    return cluster if cluster is not None else next(iter(there), None)


def _of_cluster(table: Table, name: str, cluster: str | None) -> Reader:
    reader = Reader(table, name)
    if not reader.has("cluster"):
        return reader
    names, index = reader.every_text("cluster")
    if len(names) < 2 and (not names or names[0] == cluster):
        return reader
    mine = index == (names.index(cluster) if cluster in names else PAD)
    return Reader(table.filter(arrow().array(mine)), name, np.flatnonzero(mine))


# ---- metadata -----------------------------------------------------------------------------------


def _metadata(
    brokers: Table, partitions: Table, cluster: str | None
) -> tuple[Header, dict[str, tuple[LogDir, ...]]]:
    """What the tables say besides their columns, as far as it is of this cluster."""
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


def _document(table: Table, name: str) -> Cursor | None:
    metadata: dict[bytes, bytes] = table.schema.metadata or {}
    data = metadata.get(METADATA_KEY)
    if data is None:
        return None
    place = f"{name} metadata {METADATA_KEY.decode()}"
    try:
        document = Cursor(parse_document(data).value, place)
    except MalformedJson as fault:
        raise MalformedJson(fault.what, place=place) from fault
    check_format(document)
    return document


# ---- columns ------------------------------------------------------------------------------------


def _brokers(reader: Reader, log_dirs: dict[str, tuple[LogDir, ...]]) -> list[Broker]:
    ids: list[int] = reader.every_whole("broker").tolist()
    racks, states = _texts(reader, "rack"), _states(reader)
    columns = [_numbers(reader, name) for name in ("disk", "in", "out", "cpu")]
    capacities = zip(*columns, strict=True)
    brokers = [
        Broker(BrokerId(i), rack, state, (), Capacity(*capacity), log_dirs.get(str(i), ()))
        for i, rack, state, capacity in zip(ids, racks, states, capacities, strict=True)
    ]
    fault = first_broker_fault(brokers)
    if fault is not None:
        raise reader.refuse(fault.what, fault.field, fault.row)
    return brokers


def _texts(reader: Reader, column: str) -> list[str | None]:
    names, index = reader.texts(column)
    return [None if place == PAD else names[place] for place in index.tolist()]


def _states(reader: Reader) -> list[BrokerState]:
    return [
        BrokerState.ALIVE if name is None else state_of(Cursor(name, reader.place("state", row)))
        for row, name in enumerate(_texts(reader, "state"))
    ]


def _numbers(reader: Reader, column: str) -> list[float | None]:
    found = reader.reals(column)
    pairs = zip(found.values.tolist(), found.told.tolist(), strict=True)
    return [value if told else None for value, told in pairs]


def _partition_table(reader: Reader) -> PartitionTable:
    topics, topic = reader.every_text("topic")
    log_dirs, paths = reader.text_lists("log_dirs")
    return PartitionTable(
        topics=topics,
        topic=topic,
        partition=reader.every_whole("partition"),
        replicas=reader.every_list("replicas"),
        wanted_rf=reader.every_whole("replication_factor"),
        leader=reader.wholes("leader"),
        isr=reader.lists("isr"),
        adding=reader.lists("adding").lists,
        removing=reader.lists("removing").lists,
        size=reader.wholes("size"),
        bytes_in=reader.reals("bytes_in"),
        bytes_out=reader.reals("bytes_out"),
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
