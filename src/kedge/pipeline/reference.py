"""The brokers and the assignment that metrics are read against, checked where they enter.

`brokers` has `cluster, broker` and perhaps `rack, disk_capacity_bytes`; `assignment` has
`cluster, topic, partition, replicas` and perhaps `leader`. Each is a Parquet, CSV or JSON lines
file (a list of replicas cannot be told in CSV). What is wrong is refused with its table, row and
column.
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
    parquet,
    read_parquet,
    read_table,
    with_path_context,
    write_atomically,
)
from kedge.files.opening import read_at_most
from kedge.model.arrow import Reader, Table, arrow, compute

BROKERS = "brokers.parquet"
ASSIGNMENT = "assignment.parquet"
REPLICAS = "replicas.parquet"

REPLICAS_MAX = 20_000_000
BRACKETS_MAX = 100  # in a line of JSON


@dataclass(frozen=True, slots=True)
class Reference:
    """The tables of brokers, of partitions and of numbered replicas."""

    brokers: Table
    assignment: Table
    replicas: Table

    @property
    def clusters(self) -> list[str]:
        """The names of the clusters, ascending."""
        names: list[str] = compute().unique(self.brokers.column("cluster")).to_pylist()
        return sorted(names)


def read_reference(brokers: Path, assignment: Path) -> Reference:
    """The tables in two files; refused if they do not fit together."""
    with with_path_context(brokers):
        broker_table = _checked_brokers(Reader(_read(brokers), "brokers"))
    with with_path_context(assignment):
        placed = _checked_assignment(Reader(_read(assignment), "assignment"))
        replicas = _replicas(placed)
        _check_known(replicas, broker_table)
    return Reference(broker_table, placed, replicas)


def write_reference(reference: Reference, directory: Path) -> None:
    """Keep the tables beside what was computed with them."""
    directory.mkdir(parents=True, exist_ok=True)
    named = {BROKERS: reference.brokers, ASSIGNMENT: reference.assignment}
    for name, table in {**named, REPLICAS: reference.replicas}.items():
        sink = arrow().BufferOutputStream()
        parquet().write_table(table, sink, compression="zstd")
        write_atomically(directory / name, sink.getvalue().to_pybytes())


def kept_reference(directory: Path) -> Reference:
    """The tables that an earlier run kept."""
    return Reference(*(read_table(directory / name) for name in (BROKERS, ASSIGNMENT, REPLICAS)))


def _read(path: Path) -> Table:
    data = read_at_most(path, LIMIT_BYTES)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _sound("CSV", lambda: _module("pyarrow.csv").read_csv(arrow().py_buffer(data)))
    if suffix in (".json", ".jsonl", ".ndjson"):
        _check_brackets(data)
        return _sound("JSON", lambda: _module("pyarrow.json").read_json(arrow().py_buffer(data)))
    return _sound("Parquet", lambda: read_parquet(data))


def _module(name: str) -> Any:
    return import_module(name)


def _sound(form: str, read: Callable[[], Table]) -> Table:
    """A table whose names and texts are UTF-8 and whose lists are within bounds."""
    pa = arrow()
    try:
        table = read()
        table.validate(full=True)
        table.column_names  # noqa: B018  (decodes them)
        return table
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        what = f"does not read as {form} ({' '.join(str(error).split())[:200]})"
        raise MalformedInput(what, hint="it may be damaged or half written") from error


def _check_brackets(data: bytes) -> None:
    """Refuse rows that may be nested deeply: Arrow's parser recurses until the stack ends."""
    for number, line in enumerate(data.splitlines(), start=1):
        if line.count(b"[") + line.count(b"{") > BRACKETS_MAX:
            what = f"more than {BRACKETS_MAX} opening brackets"
            raise MalformedInput(what, place=f"line {number}", hint="a row has a list at most")


def _checked_brokers(reader: Reader) -> Table:
    pa = arrow()
    clusters, cluster = reader.every_text("cluster")
    ids = reader.every_whole("broker")
    racks, rack = reader.texts("rack")
    disk = reader.wholes("disk_capacity_bytes")
    if not len(ids):
        raise MalformedInput("there are no brokers", place=reader.name)
    _refuse_first(reader, "broker", "no broker has this id", (ids < 0) | (ids >= 2**31))
    _refuse_first(reader, "disk_capacity_bytes", "a disk of no size", disk.told & (disk.values < 1))
    _refuse_twice(reader, "broker", np.stack([cluster, ids], axis=1))
    return pa.table(
        {
            "cluster": _texts(clusters, cluster),
            "broker": pa.array(ids.astype(np.int32)),
            "rack": _texts(racks, rack),
            "disk_capacity_bytes": pa.array(disk.values, mask=~disk.told),
        }
    )


def _checked_assignment(reader: Reader) -> Table:
    pa = arrow()
    clusters, cluster = reader.every_text("cluster")
    topics, topic = reader.every_text("topic")
    partition = reader.every_whole("partition")
    lists = reader.every_list("replicas")
    leader = reader.wholes("leader")
    bad = (partition < 0) | (partition >= 2**31)
    _refuse_first(reader, "partition", "no partition has this id", bad)
    _refuse_first(reader, "replicas", "a partition without replicas", np.diff(lists.offsets) == 0)
    _refuse_twice(reader, "partition", np.stack([cluster, topic, partition], axis=1))
    return pa.table(
        {
            "cluster": _texts(clusters, cluster),
            "topic": _texts(topics, topic),
            "partition": pa.array(partition.astype(np.int32)),
            "replicas": pa.ListArray.from_arrays(
                pa.array(lists.offsets.astype(np.int32)), pa.array(lists.values.astype(np.int32))
            ),
            "leader": pa.array(leader.values.astype(np.int32), mask=~leader.told),
        }
    )


def _replicas(assignment: Table) -> Table:
    """One row for each replica, numbered in the order of cluster, topic and partition."""
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
    _refuse_twice(Reader(table, "assignment"), "replicas", np.stack([row, table["broker"]], axis=1))
    return table.append_column("replica", arrow().array(np.arange(len(row), dtype=np.int64)))


def _check_known(replicas: Table, brokers: Table) -> None:
    keys = ["cluster", "broker"]
    known = brokers.select(keys).append_column("known", arrow().array([True] * len(brokers)))
    unknown = replicas.join(known, keys, join_type="left anti")
    if len(unknown):
        row = unknown.sort_by([("replica", "ascending")]).slice(0, 1).to_pylist()[0]
        what = f"{row['topic']}-{row['partition']} of {row['cluster']} is on broker {row['broker']}"
        raise MalformedInput(f"{what}, which the brokers' table does not have")


def _texts(names: list[str], index: Any) -> Any:
    pa = arrow()
    known = pa.array(index, mask=index < 0)
    return pa.array(names, pa.string()).take(known)


def _refuse_first(reader: Reader, column: str, what: str, bad: Any) -> None:
    if bad.any():
        raise reader.refuse(what, column, int(np.flatnonzero(bad)[0]))


def _refuse_twice(reader: Reader, column: str, keys: Any) -> None:
    order = np.lexsort(keys.T[::-1])
    same = (keys[order][1:] == keys[order][:-1]).all(axis=1)
    if same.any():
        row = int(order[1:][np.flatnonzero(same)[0]])
        raise reader.refuse("the same one stands there twice", column, row)
