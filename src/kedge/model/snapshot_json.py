"""Snapshots as JSON: the format `kedge.snapshot/1`.

Reading splits the document into columns (`PartitionTable`) and checks those: types by the set of
types in a column, everything else in `snapshot_checks`. Only when a column has a value of the wrong
type is the document walked value by value, to find the first one; so valid files pay nothing for
exact error positions.

Writing is canonical: the same snapshot gives the same bytes, whatever file it was read from. Rows
are sorted, unknown values are left out, and there is no white space.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import numpy as np

from kedge.errors import MalformedInput, MalformedJson
from kedge.model.broker import Broker, BrokerState, Capacity, LogDir
from kedge.model.gc_pause import gc_paused
from kedge.model.json_path import JsonPath, parse_document
from kedge.model.partition import BrokerId
from kedge.model.partition_table import Header, snapshot_of_table
from kedge.model.snapshot import CpuModel, Snapshot
from kedge.model.snapshot_checks import Fault, first_broker_fault, first_partition_fault
from kedge.model.snapshot_json_columns import counts_of, table_of_topics
from kedge.model.snapshot_json_text import json_of_snapshot

FORMAT = "kedge.snapshot"
VERSION = 1

# paths in JSON of the fields that `snapshot_checks` names
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
    """Parse a snapshot from JSON; an error names the path."""
    with gc_paused():
        return _snapshot_of(parse_document(data))  # freed before collection resumes


def _snapshot_of(document: JsonPath) -> Snapshot:
    check_format(document)
    header = header_of(document)
    brokers = _brokers(document)
    table = table_of_topics(document)
    fault = first_partition_fault(table, brokers)
    if fault is not None:
        raise MalformedInput(fault.what, place=_partition_place(document, fault))
    return snapshot_of_table(header, brokers, table)


def snapshot_to_json(snapshot: Snapshot) -> bytes:
    """Return the canonical JSON of a snapshot."""
    with gc_paused():
        return json_of_snapshot(snapshot, f"{FORMAT}/{VERSION}")


def sha256_of_snapshot(snapshot: Snapshot) -> str:
    """Return the digest by which a plan refers to its snapshot: SHA-256 of the canonical JSON, in
    hex.

    `sha256sum` prints the same for a `.json` file that Kedge has written.
    """
    return hashlib.sha256(snapshot_to_json(snapshot)).hexdigest()


def check_format(document: JsonPath) -> None:
    """Raise for a document of another format or an unknown version."""
    named = document.field("format")
    kind, _, version = named.text().partition("/")
    if kind == "kedge.plan":
        hint = "take one with kedge snapshot --bootstrap-server host:port --out FILE"
        raise MalformedJson("This is a plan; a snapshot is needed", hint=hint)
    if kind != FORMAT:
        raise named.malformed(f'expected "{FORMAT}/{VERSION}", got "{named.value}"')
    if version != str(VERSION):
        hint = f"this Kedge reads version {VERSION}"
        raise named.malformed(f'version "{version}" of the format is not known', hint)


def header_of(document: JsonPath) -> Header:
    """Read the fields that describe the snapshot as a whole."""
    cluster_id, taken_at = document.optional("cluster_id"), document.optional("taken_at")
    cpu_model = document.optional("cpu_model")
    return Header(
        cluster_id.text() if cluster_id else None,
        _utc(taken_at) if taken_at else None,
        _cpu_model(cpu_model) if cpu_model else None,
    )


def _utc(path: JsonPath) -> datetime:
    try:
        moment = datetime.fromisoformat(path.text())
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    hint = "write it as 2026-11-15T12:00:00Z"
    raise path.malformed(f'"{path.value}" is not a time with a time zone', hint)


def _cpu_model(path: JsonPath) -> CpuModel:
    shares: list[float] = []
    for name in ("leader_in", "leader_out", "follower_in"):
        share = path.field(name)
        if share.number() < 0:
            raise share.malformed(f"{share.value} is below 0")
        shares.append(share.number())
    return CpuModel(*shares)


def _brokers(document: JsonPath) -> list[Broker]:
    brokers = [_broker(path) for path in document.field("brokers").items()]
    fault = first_broker_fault(brokers)
    if fault is not None:
        field = BROKER_FIELDS.get(fault.field, fault.field)
        raise MalformedInput(fault.what, place=f"brokers[{fault.row}].{field}")
    return brokers


def _broker(path: JsonPath) -> Broker:
    rack, state = path.optional("rack"), path.optional("state")
    capacity, log_dirs = path.optional("capacity"), path.optional("log_dirs")
    return Broker(
        id=BrokerId(path.field("id").integer()),
        rack=rack.text() if rack else None,
        state=state_of(state) if state else BrokerState.ALIVE,
        capacity=_capacity(capacity) if capacity else Capacity(),
        log_dirs=log_dirs_of(log_dirs) if log_dirs else (),
    )


def state_of(path: JsonPath) -> BrokerState:
    """Return a broker's state by its name."""
    try:
        return BrokerState(path.text())
    except ValueError:
        raise path.malformed(f'"{path.value}" is none of {", ".join(BrokerState)}') from None


def _capacity(path: JsonPath) -> Capacity:
    told = (path.optional(name) for name in ("disk", "in", "out", "cpu"))
    return Capacity(*(number.number() if number else None for number in told))


def log_dirs_of(path: JsonPath) -> tuple[LogDir, ...]:
    """Return a broker's log directories."""
    return tuple(_log_dir(item) for item in path.items())


def _log_dir(path: JsonPath) -> LogDir:
    capacity = path.optional("capacity")
    return LogDir(path.field("path").text(), capacity.number() if capacity else None)


def _partition_place(document: JsonPath, fault: Fault) -> str:
    """Return the path in the document of a row of the table."""
    ends = np.cumsum(counts_of(document))
    topic = int(np.searchsorted(ends, fault.row, side="right"))
    partition = fault.row - (int(ends[topic - 1]) if topic else 0)
    listed = document.value["topics"][topic]["partitions"][partition]
    own_factor = fault.field == "replication_factor" and listed.get(fault.field) is not None
    if fault.field in TOPIC_FIELDS and not own_factor:
        return f"topics[{topic}].{TOPIC_FIELDS[fault.field]}"
    field = PARTITION_FIELDS.get(fault.field, fault.field)
    return f"topics[{topic}].partitions[{partition}].{field}"
