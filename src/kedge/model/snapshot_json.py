"""A snapshot as JSON: `kedge.snapshot/1`.

Reading pulls the document apart into columns (`PartitionTable`) and judges those: types by the
set of types in a column, everything else by `snapshot_checks`. Only when a column has something
of the wrong type is the document walked value by value, to find the first such place; so a good
file pays nothing for the exactness of the refusals, and a bad one is worth waiting for.

Writing is canonical: the same snapshot gives the same bytes, whatever file it was read from.
Rows are in order, what was not told is left out, and there is no white space.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import numpy as np

from kedge.errors import MalformedInput, MalformedJson
from kedge.model.broker import Broker, BrokerState, Capacity, LogDir
from kedge.model.cursor import Cursor, parse_document
from kedge.model.gc_pause import gc_pause
from kedge.model.partition import BrokerId
from kedge.model.partition_table import Header, snapshot_of_table
from kedge.model.snapshot import CpuModel, Snapshot
from kedge.model.snapshot_checks import Fault, first_broker_fault, first_partition_fault
from kedge.model.snapshot_json_columns import counts_of, table_of_topics
from kedge.model.snapshot_json_text import json_of_snapshot

FORMAT = "kedge.snapshot"
VERSION = 1

# What the checks call a field, where JSON has it elsewhere.
BROKER_FIELDS = {
    "broker": "id",
    "disk": "capacity.disk",
    "in": "capacity.in",
    "out": "capacity.out",
    "cpu": "capacity.cpu",
}
PARTITION_FIELDS = {
    "partition": "id",
    "size": "load.size",
    "bytes_in": "load.in",
    "bytes_out": "load.out",
}
TOPIC_FIELDS = {"topic": "name", "replication_factor": "replication_factor"}


def parse_snapshot(data: bytes) -> Snapshot:
    """The snapshot that JSON bytes hold; a fault is refused with its place."""
    with gc_pause():
        return _snapshot_of(parse_document(data))  # which is gone before the collector is back


def _snapshot_of(document: Cursor) -> Snapshot:
    check_format(document)
    header = header_of(document)
    brokers = _brokers(document)
    table = table_of_topics(document)
    fault = first_partition_fault(table, brokers)
    if fault is not None:
        raise MalformedInput(fault.what, place=_partition_place(document, fault))
    return snapshot_of_table(header, brokers, table)


def snapshot_to_json(snapshot: Snapshot) -> bytes:
    """The canonical JSON of a snapshot."""
    with gc_pause():
        return json_of_snapshot(snapshot, f"{FORMAT}/{VERSION}")


def sha256_of_snapshot(snapshot: Snapshot) -> str:
    """The digest that a plan names its snapshot by: that of the canonical JSON, in hex.

    It is also what `sha256sum` says of a `.json` file that Kedge has written.
    """
    return hashlib.sha256(snapshot_to_json(snapshot)).hexdigest()


def check_format(document: Cursor) -> None:
    """Refuse a document that is something else, or of a version that is not known."""
    named = document.field("format")
    kind, _, version = named.text().partition("/")
    if kind == "kedge.plan":
        hint = "take one with kedge snapshot --bootstrap-server host:port --out FILE"
        raise MalformedJson("This is a plan; a snapshot is needed", hint=hint)
    if kind != FORMAT:
        raise named.refuse(f'expected "{FORMAT}/{VERSION}", got "{named.value}"')
    if version != str(VERSION):
        hint = f"this Kedge reads version {VERSION}"
        raise named.refuse(f'version "{version}" of the format is not known', hint)


def header_of(document: Cursor) -> Header:
    """The fields that speak of the snapshot as a whole."""
    cluster_id, taken_at = document.optional("cluster_id"), document.optional("taken_at")
    cpu_model = document.optional("cpu_model")
    return Header(
        cluster_id.text() if cluster_id else None,
        _utc(taken_at) if taken_at else None,
        _cpu_model(cpu_model) if cpu_model else None,
    )


def _utc(cursor: Cursor) -> datetime:
    try:
        moment = datetime.fromisoformat(cursor.text())
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    hint = "write it as 2026-11-15T12:00:00Z"
    raise cursor.refuse(f'"{cursor.value}" is not a time with a time zone', hint)


def _cpu_model(cursor: Cursor) -> CpuModel:
    shares: list[float] = []
    for name in ("leader_in", "leader_out", "follower_in"):
        share = cursor.field(name)
        if share.number() < 0:
            raise share.refuse(f"{share.value} is below 0")
        shares.append(share.number())
    return CpuModel(*shares)


def _brokers(document: Cursor) -> list[Broker]:
    brokers = [_broker(cursor) for cursor in document.field("brokers").items()]
    fault = first_broker_fault(brokers)
    if fault is not None:
        field = BROKER_FIELDS.get(fault.field, fault.field)
        raise MalformedInput(fault.what, place=f"brokers[{fault.row}].{field}")
    return brokers


def _broker(cursor: Cursor) -> Broker:
    rack, state = cursor.optional("rack"), cursor.optional("state")
    capacity, log_dirs = cursor.optional("capacity"), cursor.optional("log_dirs")
    return Broker(
        id=BrokerId(cursor.field("id").whole()),
        rack=rack.text() if rack else None,
        state=state_of(state) if state else BrokerState.ALIVE,
        capacity=_capacity(capacity) if capacity else Capacity(),
        log_dirs=log_dirs_of(log_dirs) if log_dirs else (),
    )


def state_of(cursor: Cursor) -> BrokerState:
    """A broker's state by its name."""
    try:
        return BrokerState(cursor.text())
    except ValueError:
        raise cursor.refuse(f'"{cursor.value}" is none of {", ".join(BrokerState)}') from None


def _capacity(cursor: Cursor) -> Capacity:
    told = (cursor.optional(name) for name in ("disk", "in", "out", "cpu"))
    return Capacity(*(number.number() if number else None for number in told))


def log_dirs_of(cursor: Cursor) -> tuple[LogDir, ...]:
    """A broker's log directories."""
    return tuple(_log_dir(item) for item in cursor.items())


def _log_dir(cursor: Cursor) -> LogDir:
    capacity = cursor.optional("capacity")
    return LogDir(cursor.field("path").text(), capacity.number() if capacity else None)


def _partition_place(document: Cursor, fault: Fault) -> str:
    """Where in the document a row of the table came from."""
    ends = np.cumsum(counts_of(document))
    topic = int(np.searchsorted(ends, fault.row, side="right"))
    partition = fault.row - (int(ends[topic - 1]) if topic else 0)
    listed = document.value["topics"][topic]["partitions"][partition]
    own_factor = fault.field == "replication_factor" and listed.get(fault.field) is not None
    if fault.field in TOPIC_FIELDS and not own_factor:
        return f"topics[{topic}].{TOPIC_FIELDS[fault.field]}"
    field = PARTITION_FIELDS.get(fault.field, fault.field)
    return f"topics[{topic}].partitions[{partition}].{field}"
