"""Reads and validates the reference tables: brokers, and the assignment of partitions to brokers.

`brokers` has the columns `cluster, broker` and optionally `rack, disk_capacity_bytes`; `assignment`
has `cluster, topic, partition, replicas` and optionally `leader`. Each is a Parquet, CSV or JSON
lines file (CSV has no lists, so it cannot hold `replicas`). An error names table, row and column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kedge.errors import InvalidRequest, MalformedInput
from kedge.files import (
    LIMIT_BYTES,
    read_parquet,
    with_path_context,
)
from kedge.model.arrow import Table, TableReader, arrow, compute
from kedge.pipeline.sources.input_files import read_input
from kedge.pipeline.tables.staged_run import StagedRun

BROKERS = "reference/brokers"
ASSIGNMENT = "reference/assignment"
REPLICAS = "reference/replicas"

REPLICAS_MAX = 20_000_000
BRACKETS_MAX = 100  # in a line of JSON


@dataclass(frozen=True, slots=True)
class Reference:
    """The tables of brokers, of partitions, and of replicas with their numbers."""

    brokers: Table
    assignment: Table
    replicas: Table

    @property
    def clusters(self) -> list[str]:
        """The names of the clusters, ascending."""
        names: list[str] = compute().unique(self.brokers.column("cluster")).to_pylist()
        return sorted(names)


def read_reference(brokers: str | Path, assignment: str | Path) -> Reference:
    """Read both files; every replica must be on a broker of the brokers table."""
    with with_path_context(str(brokers)):
        broker_table = _checked_brokers(TableReader(_read(brokers), "brokers"))
    with with_path_context(str(assignment)):
        placed = _checked_assignment(TableReader(_read(assignment), "assignment"))
        replicas = _replicas(placed)
        _check_known(replicas, broker_table)
    return Reference(broker_table, placed, replicas)


def reference_of(brokers: list[dict[str, Any]], assignment: list[dict[str, Any]]) -> Reference:
    """The tables with these rows; every replica must be on one of the brokers."""
    broker_table = _checked_brokers(TableReader(_table_of(brokers, BROKER_TYPES), "brokers"))
    placed = _checked_assignment(TableReader(_table_of(assignment, ASSIGNMENT_TYPES), "assignment"))
    replicas = _replicas(placed)
    _check_known(replicas, broker_table)
    return Reference(broker_table, placed, replicas)


BROKER_TYPES = {
    "cluster": "string",
    "broker": "int32",
    "rack": "string",
    "disk_capacity_bytes": "int64",
}
ASSIGNMENT_TYPES = {
    "cluster": "string",
    "topic": "string",
    "partition": "int32",
    "replicas": "list<int32>",
    "leader": "int32",
}


def _table_of(rows: list[dict[str, Any]], types: dict[str, str]) -> Table:
    pa = arrow()
    kinds = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64()}
    kinds["list<int32>"] = pa.list_(pa.int32())
    schema = pa.schema([(name, kinds[kind]) for name, kind in types.items()])
    return pa.Table.from_pylist(rows, schema=schema)


def write_reference(reference: Reference, staged: StagedRun) -> None:
    """Store the tables beside the tables that were computed with them, unless they are stored."""
    named = {BROKERS: reference.brokers, ASSIGNMENT: reference.assignment}
    for name, table in {**named, REPLICAS: reference.replicas}.items():
        if not staged.has(name) or not staged.read(name).equals(table):
            staged.write_arrow(name, table)


def stored_reference(read: Callable[[str], Table]) -> Reference:
    """The tables that an earlier run stored; `read` returns a table by its name."""
    return Reference(*(read(name) for name in (BROKERS, ASSIGNMENT, REPLICAS)))


def _read(path: str | Path) -> Table:
    data = read_input(path, LIMIT_BYTES)
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        return _parse_table("CSV", lambda: _module("pyarrow.csv").read_csv(arrow().py_buffer(data)))
    if suffix in (".json", ".jsonl", ".ndjson"):
        _check_nesting(data)
        return _parse_table(
            "JSON", lambda: _module("pyarrow.json").read_json(arrow().py_buffer(data))
        )
    return _parse_table("Parquet", lambda: read_parquet(data))


def _module(name: str) -> Any:
    return import_module(name)


def _parse_table(form: str, read: Callable[[], Table]) -> Table:
    """Parse a table; its names and strings must be UTF-8 and its list offsets within bounds."""
    pa = arrow()
    try:
        table = read()
        table.validate(full=True)
        table.column_names  # noqa: B018  (decodes them)
        return table
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        what = f"cannot be parsed as {form} ({' '.join(str(error).split())[:200]})"
        raise MalformedInput(what, hint="the file may be damaged or incomplete") from error


def _check_nesting(data: bytes) -> None:
    """Refuse rows that may be deeply nested: Arrow's parser would overflow the stack."""
    for number, line in enumerate(data.splitlines(), start=1):
        if line.count(b"[") + line.count(b"{") > BRACKETS_MAX:
            what = f"more than {BRACKETS_MAX} opening brackets"
            raise MalformedInput(what, place=f"line {number}", hint="a row has one list at most")


def _checked_brokers(reader: TableReader) -> Table:
    pa = arrow()
    clusters, cluster = reader.required_strings("cluster")
    ids = reader.required_ints("broker")
    racks, rack = reader.strings("rack")
    disk = reader.ints("disk_capacity_bytes")
    if not len(ids):
        raise MalformedInput("the table has no brokers", place=reader.name)
    _reject_first(reader, "broker", "not a valid broker id", (ids < 0) | (ids >= 2**31))
    _reject_first(
        reader, "disk_capacity_bytes", "disk capacity below 1 byte", disk.known & (disk.values < 1)
    )
    _reject_repeated(reader, "broker", np.stack([cluster, ids], axis=1))
    return pa.table(
        {
            "cluster": _texts(clusters, cluster),
            "broker": pa.array(ids.astype(np.int32)),
            "rack": _texts(racks, rack),
            "disk_capacity_bytes": pa.array(disk.values, mask=~disk.known),
        }
    )


def _checked_assignment(reader: TableReader) -> Table:
    pa = arrow()
    clusters, cluster = reader.required_strings("cluster")
    topics, topic = reader.required_strings("topic")
    partition = reader.required_ints("partition")
    lists = reader.required_int_lists("replicas")
    leader = reader.ints("leader")
    bad = (partition < 0) | (partition >= 2**31)
    _reject_first(reader, "partition", "not a valid partition id", bad)
    _reject_first(reader, "replicas", "the partition has no replicas", np.diff(lists.offsets) == 0)
    _reject_repeated(reader, "partition", np.stack([cluster, topic, partition], axis=1))
    return pa.table(
        {
            "cluster": _texts(clusters, cluster),
            "topic": _texts(topics, topic),
            "partition": pa.array(partition.astype(np.int32)),
            "replicas": pa.ListArray.from_arrays(
                pa.array(lists.offsets.astype(np.int32)), pa.array(lists.values.astype(np.int32))
            ),
            "leader": pa.array(leader.values.astype(np.int32), mask=~leader.known),
        }
    )


def _replicas(assignment: Table) -> Table:
    """One row per replica, numbered in the order of cluster, topic and partition."""
    pc = compute()
    keys = [(name, "ascending") for name in ("cluster", "topic", "partition")]
    ordered = assignment.sort_by(keys)
    lists = ordered.column("replicas").combine_chunks()
    parent = pc.list_parent_indices(lists)
    if len(parent) > REPLICAS_MAX:
        raise InvalidRequest(f"{len(parent)} replicas, more than {REPLICAS_MAX}")
    table = ordered.select(["cluster", "topic", "partition"]).take(parent)
    table = table.add_column(1, "broker", pc.list_flatten(lists))
    row: Any = np.asarray(parent)
    _reject_repeated(
        TableReader(table, "assignment"), "replicas", np.stack([row, table["broker"]], axis=1)
    )
    return table.append_column("replica", arrow().array(np.arange(len(row), dtype=np.int64)))


def _check_known(replicas: Table, brokers: Table) -> None:
    keys = ["cluster", "broker"]
    known = brokers.select(keys).append_column("known", arrow().array([True] * len(brokers)))
    unknown = replicas.join(known, keys, join_type="left anti")
    if len(unknown):
        row = unknown.sort_by([("replica", "ascending")]).slice(0, 1).to_pylist()[0]
        what = f"{row['topic']}-{row['partition']} of {row['cluster']} is on broker {row['broker']}"
        raise MalformedInput(f"{what}, which is not in the brokers table")


def _texts(names: list[str], index: Any) -> Any:
    pa = arrow()
    known = pa.array(index, mask=index < 0)
    return pa.array(names, pa.string()).take(known)


def _reject_first(reader: TableReader, column: str, what: str, bad: Any) -> None:
    if bad.any():
        raise reader.malformed(what, column, int(np.flatnonzero(bad)[0]))


def _reject_repeated(reader: TableReader, column: str, keys: Any) -> None:
    order = np.lexsort(keys.T[::-1])
    same = (keys[order][1:] == keys[order][:-1]).all(axis=1)
    if same.any():
        row = int(order[1:][np.flatnonzero(same)[0]])
        raise reader.malformed("the row is a duplicate", column, row)
