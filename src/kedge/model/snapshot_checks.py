"""Consistency checks of a snapshot, whatever its file format, on whole columns at once.

Each check tests every row and returns its first `Fault`, or None. The reader turns the fault's row
and field into a position in its own file:

    Fault(17, "replicas", "broker 9 is not in brokers")
        topics[3].partitions[7].replicas: broker 9 is not in brokers
        partitions.parquet row 17 replicas: broker 9 is not in brokers
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kedge.model.broker import Broker
from kedge.model.columns import Bools, FloatColumn, Int64s, IntColumn, Ragged
from kedge.model.java_text import INT32_MAX
from kedge.model.partition import TopicPartition
from kedge.model.partition_table import PartitionTable


@dataclass(frozen=True, slots=True)
class Fault:
    """One invalid value, at a row of a file (counted from 0) and one of its fields."""

    row: int
    field: str
    what: str


# ---- brokers ------------------------------------------------------------------------------------


def first_broker_fault(brokers: Sequence[Broker]) -> Fault | None:
    """Return the fault of the first invalid broker, in the file's order."""
    seen: set[int] = set()
    for row, broker in enumerate(brokers):
        for field, what in _broker_faults(broker, seen):
            return Fault(row, field, what)
        seen.add(broker.id)
    return None


def _broker_faults(broker: Broker, seen: set[int]) -> Iterator[tuple[str, str]]:
    if not 0 <= broker.id <= INT32_MAX:
        yield "broker", f"{broker.id} is not a broker id: 0 to {INT32_MAX}"
    if broker.id in seen:
        yield "broker", f"broker {broker.id} is listed twice"
    capacity = broker.capacity
    named = {"in": capacity.bytes_in, "out": capacity.bytes_out, "cpu": capacity.cpu}
    for field, value in {"disk": capacity.disk, **named}.items():
        if not _is_valid_capacity(value):
            yield field, f"a capacity is a number above 0, not {value}"
    paths: set[str] = set()
    for index, log_dir in enumerate(broker.log_dirs):
        if not log_dir.path:
            yield f"log_dirs[{index}].path", "the path is empty"
        if log_dir.path in paths:
            yield f"log_dirs[{index}].path", f"{log_dir.path} is listed twice"
        if not _is_valid_capacity(log_dir.capacity):
            what = f"a capacity is a number above 0, not {log_dir.capacity}"
            yield f"log_dirs[{index}].capacity", what
        paths.add(log_dir.path)


def _is_valid_capacity(capacity: float | None) -> bool:
    return capacity is None or (math.isfinite(capacity) and capacity > 0)


# ---- partitions ---------------------------------------------------------------------------------


def first_partition_fault(table: PartitionTable, brokers: Sequence[Broker]) -> Fault | None:
    """Return the first row at which the first failing check fails."""
    known = np.array([broker.id for broker in brokers], np.int64)
    checks: tuple[Callable[[], Fault | None], ...] = (
        lambda: _topic_names(table),
        lambda: _partition_ids(table),
        lambda: _duplicate_partitions(table),
        lambda: _empty_replica_lists(table.replicas),
        lambda: _broker_list("replicas", table.replicas, known),
        lambda: _wanted_factors(table.wanted_rf),
        lambda: _leaders(table),
        lambda: _part_of_replicas("isr", table.isr.lists, table.replicas, known),
        lambda: _part_of_replicas("adding", table.adding, table.replicas, known),
        lambda: _part_of_replicas("removing", table.removing, table.replicas, known),
        lambda: _added_and_removed(table),
        lambda: _sizes(table.size),
        lambda: _rates("bytes_in", table.bytes_in),
        lambda: _rates("bytes_out", table.bytes_out),
        lambda: _log_dir_counts(table),
        lambda: _log_dir_paths(table, brokers),
    )
    return next((fault for check in checks if (fault := check()) is not None), None)


def _first(bad: Bools) -> int | None:
    """Return the first marked row; None if there is none."""
    return int(np.argmax(bad)) if bad.any() else None


def _topic_names(table: PartitionTable) -> Fault | None:
    if "" not in table.topics:
        return None
    row = _first(table.topic == list(table.topics).index(""))
    return None if row is None else Fault(row, "topic", "the topic name is empty")


def _partition_ids(table: PartitionTable) -> Fault | None:
    row = _first((table.partition < 0) | (table.partition > INT32_MAX))
    if row is None:
        return None
    what = f"{table.partition[row]} is no partition number: 0 to {INT32_MAX}"
    return Fault(row, "partition", what)


def _duplicate_partitions(table: PartitionTable) -> Fault | None:
    row = _first_duplicate((table.topic << 32) | table.partition)
    if row is None:
        return None
    tp = TopicPartition(table.topics[int(table.topic[row])], int(table.partition[row]))
    return Fault(row, "partition", f"{tp} is listed twice")


def _first_duplicate(keys: Int64s) -> int | None:
    """Return the first position whose key occurs before it."""
    if bool((keys[1:] > keys[:-1]).all()):
        return None
    order = np.argsort(keys, kind="stable")
    repeated = order[1:][keys[order[1:]] == keys[order[:-1]]]
    return int(repeated.min()) if len(repeated) else None


def _empty_replica_lists(replicas: Ragged) -> Fault | None:
    row = _first(replicas.lengths == 0)
    return None if row is None else Fault(row, "replicas", "the list is empty")


def _broker_list(field: str, lists: Ragged, known: Int64s) -> Fault | None:
    """Check that every id is a broker's, and that a list has no duplicates."""
    unknown = _first(~np.isin(lists.values, known))
    if unknown is not None:
        what = f"broker {lists.values[unknown]} is not in brokers"
        return Fault(int(lists.rows[unknown]), field, what)
    duplicate = _first_duplicate_in_list(lists)
    if duplicate is None:
        return None
    return Fault(
        int(lists.rows[duplicate]), field, f"broker {lists.values[duplicate]} is listed twice"
    )


def _first_duplicate_in_list(lists: Ragged) -> int | None:
    """`_first_duplicate` within each list, with a full sort only on a fault."""
    keys = lists.keys()
    ascending = np.sort(keys)
    return _first_duplicate(keys) if bool((ascending[1:] == ascending[:-1]).any()) else None


def _wanted_factors(wanted: Int64s) -> Fault | None:
    row = _first((wanted < 1) | (wanted > INT32_MAX))
    what = "" if row is None else f"a replication factor is at least 1, not {wanted[row]}"
    if row is not None and wanted[row] > INT32_MAX:
        what = f"a replication factor is at most {INT32_MAX}, not {wanted[row]}"
    return None if row is None else Fault(row, "replication_factor", what)


def _leaders(table: PartitionTable) -> Fault | None:
    leader = table.leader.values
    preferred = table.replicas.values[table.replicas.offsets[:-1]]
    # Kafka writes -1 for 'no leader'; most leaders are the preferred replica, which needs no lookup
    rows = np.flatnonzero(table.leader.known & (leader != -1) & (leader != preferred))
    keys = (rows << 32) | np.clip(leader[rows], -1, INT32_MAX)
    first_bad = _first(~_is_replica(keys, table.replicas) | (leader[rows] > INT32_MAX))
    if first_bad is None:
        return None
    row = int(rows[first_bad])
    return Fault(row, "leader", f"broker {leader[row]} is not one of the replicas")


def _is_replica(keys: Int64s, replicas: Ragged) -> Bools:
    """Return whether each (row, broker) key is one of the replicas'."""
    every = replicas.keys()
    if np.array_equal(keys, every):
        return np.ones(len(keys), np.bool_)  # the ISR of a healthy cluster
    return _is_member(keys, every)


def _is_member(keys: Int64s, pool: Int64s) -> Bools:
    """`np.isin`, which hashes such wide keys and takes ten times as long."""
    if not len(pool):
        return np.zeros(len(keys), np.bool_)
    ascending = np.sort(pool)
    place = np.searchsorted(ascending, keys)
    return ascending[np.minimum(place, len(pool) - 1)] == keys


def _part_of_replicas(field: str, part: Ragged, whole: Ragged, known: Int64s) -> Fault | None:
    """Check a list of brokers that must all be replicas of the row."""
    fault = _broker_list(field, part, known)
    if fault is not None:
        return fault
    outside = _first(~_is_replica(part.keys(), whole))
    if outside is None:
        return None
    what = f"broker {part.values[outside]} is not one of the replicas"
    return Fault(int(part.rows[outside]), field, what)


def _added_and_removed(table: PartitionTable) -> Fault | None:
    both = _first(_is_member(table.removing.keys(), table.adding.keys()))
    if both is None:
        return None
    what = f"broker {table.removing.values[both]} is being added as well"
    return Fault(int(table.removing.rows[both]), "removing", what)


def _sizes(size: IntColumn) -> Fault | None:
    row = _first(size.known & (size.values < 0))
    return None if row is None else Fault(row, "size", f"{size.values[row]} is below 0")


def _rates(field: str, rate: FloatColumn) -> Fault | None:
    row = _first(rate.known & ~(np.isfinite(rate.values) & (rate.values >= 0)))
    if row is None:
        return None
    return Fault(row, field, f"a rate is a finite number from 0, not {rate.values[row]}")


def _log_dir_counts(table: PartitionTable) -> Fault | None:
    given, wanted = table.log_dirs.lists.lengths, table.replicas.lengths
    row = _first(table.log_dirs.known & (given != wanted))
    if row is None:
        return None
    return Fault(row, "log_dirs", f"{given[row]} log dirs for {wanted[row]} replicas")


def _log_dir_paths(table: PartitionTable, brokers: Sequence[Broker]) -> Fault | None:
    """Check that a replica is in a directory of its broker, if the broker lists any."""
    index = {path: place for place, path in enumerate(table.paths)}
    if "" in index:
        empty_path = _first(table.log_dirs.lists.values == index[""])
        assert empty_path is not None, "every path of the table is some replica's"
        return Fault(int(table.log_dirs.lists.rows[empty_path]), "log_dirs", "a path is empty")
    own = [
        (broker.id << 32) | index[log_dir.path]
        for broker in brokers
        for log_dir in broker.log_dirs
        if log_dir.path in index
    ]
    listing = np.array([broker.id for broker in brokers if broker.log_dirs], np.int64)
    known = np.repeat(table.log_dirs.known, table.replicas.lengths)
    holder, where = table.replicas.values[known], table.log_dirs.lists.values
    checked = (where >= 0) & np.isin(holder, listing)
    first_bad = _first(checked & ~_is_member((holder << 32) | where, np.array(own, np.int64)))
    if first_bad is None:
        return None
    what = f"broker {holder[first_bad]} has no log dir {table.paths[int(where[first_bad])]}"
    return Fault(int(table.log_dirs.lists.rows[first_bad]), "log_dirs", what)
