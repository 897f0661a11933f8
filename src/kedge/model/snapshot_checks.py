"""What must hold of a snapshot whatever file it came in, checked on whole columns at once.

Each check looks at every row and answers with its first `Fault`, or None. The reader turns the
fault's row and field into a place in its own file:

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
from kedge.model.columns import INT32_MAX, Bools, Int64s, Ragged
from kedge.model.partition import TopicPartition
from kedge.model.partition_table import PartitionTable, Real, Whole


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that cannot be, at a row of a file (counted from 0) and one of its fields."""

    row: int
    field: str
    what: str


# ---- brokers ------------------------------------------------------------------------------------


def first_broker_fault(brokers: Sequence[Broker]) -> Fault | None:
    """The first broker, in the file's order, that cannot be."""
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
        if not _can_carry(value):
            yield field, f"a capacity is a number above 0, not {value}"
    paths: set[str] = set()
    for index, log_dir in enumerate(broker.log_dirs):
        if not log_dir.path:
            yield f"log_dirs[{index}].path", "the path is empty"
        if log_dir.path in paths:
            yield f"log_dirs[{index}].path", f"{log_dir.path} is listed twice"
        if not _can_carry(log_dir.capacity):
            what = f"a capacity is a number above 0, not {log_dir.capacity}"
            yield f"log_dirs[{index}].capacity", what
        paths.add(log_dir.path)


def _can_carry(capacity: float | None) -> bool:
    return capacity is None or (math.isfinite(capacity) and capacity > 0)


# ---- partitions ---------------------------------------------------------------------------------


def first_partition_fault(table: PartitionTable, brokers: Sequence[Broker]) -> Fault | None:
    """The first check that fails, at the first row where it does."""
    known = np.array([broker.id for broker in brokers], np.int64)
    checks: tuple[Callable[[], Fault | None], ...] = (
        lambda: _topic_names(table),
        lambda: _partition_ids(table),
        lambda: _partitions_twice(table),
        lambda: _no_replicas(table.replicas),
        lambda: _broker_list("replicas", table.replicas, known),
        lambda: _wanted_factors(table.wanted_rf),
        lambda: _leaders(table),
        lambda: _part_of_replicas("isr", table.isr.lists, table.replicas, known),
        lambda: _part_of_replicas("adding", table.adding, table.replicas, known),
        lambda: _part_of_replicas("removing", table.removing, table.replicas, known),
        lambda: _coming_and_going(table),
        lambda: _sizes(table.size),
        lambda: _rates("bytes_in", table.bytes_in),
        lambda: _rates("bytes_out", table.bytes_out),
        lambda: _log_dir_counts(table),
        lambda: _log_dir_paths(table, brokers),
    )
    return next((fault for check in checks if (fault := check()) is not None), None)


def _first(bad: Bools) -> int | None:
    """The first row that is marked; None when none is."""
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


def _partitions_twice(table: PartitionTable) -> Fault | None:
    row = _first_twice((table.topic << 32) | table.partition)
    if row is None:
        return None
    tp = TopicPartition(table.topics[int(table.topic[row])], int(table.partition[row]))
    return Fault(row, "partition", f"{tp} is listed twice")


def _first_twice(keys: Int64s) -> int | None:
    """The first place whose key was there before."""
    if bool((keys[1:] > keys[:-1]).all()):
        return None
    order = np.argsort(keys, kind="stable")
    again = order[1:][keys[order[1:]] == keys[order[:-1]]]
    return int(again.min()) if len(again) else None


def _no_replicas(replicas: Ragged) -> Fault | None:
    row = _first(replicas.lengths == 0)
    return None if row is None else Fault(row, "replicas", "the list is empty")


def _broker_list(field: str, lists: Ragged, known: Int64s) -> Fault | None:
    """Every id is a broker's, and none is twice in its list."""
    stranger = _first(~np.isin(lists.values, known))
    if stranger is not None:
        what = f"broker {lists.values[stranger]} is not in brokers"
        return Fault(int(lists.rows[stranger]), field, what)
    twice = _first_twice_in_list(lists)
    if twice is None:
        return None
    return Fault(int(lists.rows[twice]), field, f"broker {lists.values[twice]} is listed twice")


def _first_twice_in_list(lists: Ragged) -> int | None:
    """As `_first_twice` within each list, without a full sort while all is well."""
    keys = lists.keys()
    ascending = np.sort(keys)
    return _first_twice(keys) if bool((ascending[1:] == ascending[:-1]).any()) else None


def _wanted_factors(wanted: Int64s) -> Fault | None:
    row = _first((wanted < 1) | (wanted > INT32_MAX))
    what = "" if row is None else f"a replication factor is at least 1, not {wanted[row]}"
    if row is not None and wanted[row] > INT32_MAX:
        what = f"a replication factor is at most {INT32_MAX}, not {wanted[row]}"
    return None if row is None else Fault(row, "replication_factor", what)


def _leaders(table: PartitionTable) -> Fault | None:
    leader = table.leader.values
    preferred = table.replicas.values[table.replicas.offsets[:-1]]
    # Kafka writes -1 for 'no leader'; the preferred replica is most leaders, and surely a replica.
    rows = np.flatnonzero(table.leader.told & (leader != -1) & (leader != preferred))
    keys = (rows << 32) | np.clip(leader[rows], -1, INT32_MAX)
    strange = _first(~_within(keys, table.replicas) | (leader[rows] > INT32_MAX))
    if strange is None:
        return None
    row = int(rows[strange])
    return Fault(row, "leader", f"broker {leader[row]} is not one of the replicas")


def _within(keys: Int64s, replicas: Ragged) -> Bools:
    """Whether each (row, broker) key is one of the replicas'."""
    every = replicas.keys()
    if np.array_equal(keys, every):
        return np.ones(len(keys), np.bool_)  # what a healthy cluster's ISR looks like
    return _member(keys, every)


def _member(keys: Int64s, pool: Int64s) -> Bools:
    """As `np.isin`, which hashes such wide keys and takes ten times as long."""
    if not len(pool):
        return np.zeros(len(keys), np.bool_)
    ascending = np.sort(pool)
    place = np.searchsorted(ascending, keys)
    return ascending[np.minimum(place, len(pool) - 1)] == keys


def _part_of_replicas(field: str, part: Ragged, whole: Ragged, known: Int64s) -> Fault | None:
    """A list of brokers that are all replicas of the row."""
    fault = _broker_list(field, part, known)
    if fault is not None:
        return fault
    outside = _first(~_within(part.keys(), whole))
    if outside is None:
        return None
    what = f"broker {part.values[outside]} is not one of the replicas"
    return Fault(int(part.rows[outside]), field, what)


def _coming_and_going(table: PartitionTable) -> Fault | None:
    both = _first(_member(table.removing.keys(), table.adding.keys()))
    if both is None:
        return None
    what = f"broker {table.removing.values[both]} is being added as well"
    return Fault(int(table.removing.rows[both]), "removing", what)


def _sizes(size: Whole) -> Fault | None:
    row = _first(size.told & (size.values < 0))
    return None if row is None else Fault(row, "size", f"{size.values[row]} is below 0")


def _rates(field: str, rate: Real) -> Fault | None:
    row = _first(rate.told & ~(np.isfinite(rate.values) & (rate.values >= 0)))
    if row is None:
        return None
    return Fault(row, field, f"a rate is a finite number from 0, not {rate.values[row]}")


def _log_dir_counts(table: PartitionTable) -> Fault | None:
    given, wanted = table.log_dirs.lists.lengths, table.replicas.lengths
    row = _first(table.log_dirs.told & (given != wanted))
    if row is None:
        return None
    return Fault(row, "log_dirs", f"{given[row]} log dirs for {wanted[row]} replicas")


def _log_dir_paths(table: PartitionTable, brokers: Sequence[Broker]) -> Fault | None:
    """A replica is in a directory that its broker has; a broker that lists none may have any."""
    index = {path: place for place, path in enumerate(table.paths)}
    if "" in index:
        nameless = _first(table.log_dirs.lists.values == index[""])
        assert nameless is not None, "every path of the table is some replica's"
        return Fault(int(table.log_dirs.lists.rows[nameless]), "log_dirs", "a path is empty")
    own = [
        (broker.id << 32) | index[log_dir.path]
        for broker in brokers
        for log_dir in broker.log_dirs
        if log_dir.path in index
    ]
    listing = np.array([broker.id for broker in brokers if broker.log_dirs], np.int64)
    told = np.repeat(table.log_dirs.told, table.replicas.lengths)
    holder, where = table.replicas.values[told], table.log_dirs.lists.values
    judged = (where >= 0) & np.isin(holder, listing)
    strange = _first(judged & ~_member((holder << 32) | where, np.array(own, np.int64)))
    if strange is None:
        return None
    what = f"broker {holder[strange]} has no log dir {table.paths[int(where[strange])]}"
    return Fault(int(table.log_dirs.lists.rows[strange]), "log_dirs", what)
