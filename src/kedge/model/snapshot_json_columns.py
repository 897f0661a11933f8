"""Reads the partitions of a JSON snapshot as columns, and locates values of a wrong type.

`_table` splits the document column by column and raises `_WrongShape` at the first column that has
a value of a wrong type; `_walk_topic` then tests value after value in document order. A property
test verifies that both accept the same documents.
"""

from __future__ import annotations

from itertools import chain
from types import NoneType
from typing import Any

import numpy as np

from kedge.errors import MalformedInput, MalformedJson
from kedge.model.columns import (
    PAD,
    Bools,
    FloatColumn,
    Int64s,
    IntColumn,
    ListColumn,
    Ragged,
    empty_lists,
    offsets_of,
)
from kedge.model.json_path import JsonPath
from kedge.model.partition_table import PartitionTable

Json = dict[str, Any]

ARROW_ROWS_MIN = 1_000_000  # partitions; importing Arrow, which imports pandas, pays off from here


class _WrongShape(Exception):
    """A column has a value of a wrong type."""


def table_of_topics(document: JsonPath) -> PartitionTable:
    """Return the columns of `topics`; an error names the path of a wrong type."""
    try:
        table = _table(document.value.get("topics"))
    except _WrongShape:
        raise find_type_fault(document) from None
    _check_topics(table, document)
    return table


def counts_of(document: JsonPath) -> list[int]:
    """Return the number of partitions of each topic of a well-formed document."""
    return [len(topic["partitions"]) for topic in document.value["topics"]]


def _check_topics(table: PartitionTable, document: JsonPath) -> None:
    """Check that no topic is duplicated or empty, which rows alone do not show."""
    counts = counts_of(document)
    if 0 in counts:
        place = f"topics[{counts.index(0)}].partitions"
        raise MalformedInput("the list is empty", place=place)
    if len(set(table.topics)) < len(table.topics):
        seen: set[str] = set()
        again = next(i for i, n in enumerate(table.topics) if n in seen or seen.add(n))
        what = f"topic {table.topics[again]} is listed twice"
        raise MalformedInput(what, place=f"topics[{again}].name")


# ---- all columns at once ------------------------------------------------------------------------


def _table(topics: Any) -> PartitionTable:
    _require_types([topics], list)
    _require_types(topics, dict)
    names, lists = _column(topics, "name"), _column(topics, "partitions")
    _require_types(names, str)
    _require_types(lists, list)
    parts: list[Json] = list(chain.from_iterable(lists))
    _require_types(parts, dict)
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    known = _columns(parts)
    wanted = np.repeat(_required_ints(_column(topics, "replication_factor")), counts)
    own = known.pop("replication_factor")
    return PartitionTable(
        topics=names,
        topic=np.repeat(np.arange(len(names)), counts),
        # the topic's factor, unless the partition has its own
        wanted_rf=np.where(own.known, own.values, wanted),
        **known,
    )


def _columns(parts: list[Json]) -> dict[str, Any]:
    """Return the columns of the partitions: by Arrow if there are many, else in Python."""
    loads = _objects(_column(parts, "load"))
    # Arrow would accept true as 1.0, so rates are always read here
    rates = {"bytes_in": _floats(_column(loads, "in")), "bytes_out": _floats(_column(loads, "out"))}
    if len(parts) >= ARROW_ROWS_MIN:
        try:
            return {**_columns_by_arrow(parts), **rates}
        except MalformedInput:
            pass  # either a fault or a limit of Arrow: read it in Python
    return {**_columns_by_hand(parts, loads), **rates}


def _columns_by_arrow(parts: list[Json]) -> dict[str, Any]:
    """Return what `_columns_by_hand` returns, or raise MalformedInput; saves a seventh of a large
    read.

    The types are inferred, not requested: Arrow would convert 1.5 to a requested integer.
    """
    from kedge.model.arrow import TableReader, table_of_objects

    reader = TableReader(table_of_objects(parts), "topics")
    log_dirs, paths = reader.string_lists("log_dirs")
    return {
        "partition": reader.required_ints("id"),
        "replicas": reader.required_int_lists("replicas"),
        "replication_factor": reader.ints("replication_factor"),
        "leader": reader.ints("leader"),
        "isr": reader.int_lists("isr"),
        "adding": reader.int_lists("adding").lists,
        "removing": reader.int_lists("removing").lists,
        "size": reader.nested("load").ints("size"),
        "log_dirs": log_dirs,
        "paths": paths,
    }


def _columns_by_hand(parts: list[Json], loads: list[Json]) -> dict[str, Any]:
    log_dirs, paths = _string_lists(_column(parts, "log_dirs"))
    return {
        "partition": _required_ints(_column(parts, "id")),
        "replicas": _required_int_lists(_column(parts, "replicas")),
        "replication_factor": _ints(_column(parts, "replication_factor")),
        "leader": _ints(_column(parts, "leader")),
        "isr": _int_lists(_column(parts, "isr")),
        "adding": _int_lists(_column(parts, "adding")).lists,
        "removing": _int_lists(_column(parts, "removing")).lists,
        "size": _ints(_column(loads, "size")),
        "log_dirs": log_dirs,
        "paths": paths,
    }


def _column(objects: list[Json], name: str) -> list[Any]:
    try:
        return [one[name] for one in objects]
    except KeyError:
        return [one.get(name) for one in objects]


def _require_types(values: list[Any], *wanted: type) -> set[type]:
    kinds = set(map(type, values))
    if not kinds.issubset(wanted):
        raise _WrongShape
    return kinds


def _objects(values: list[Any]) -> list[Json]:
    """Return objects; null becomes an empty one."""
    nothing: Json = {}
    if NoneType in _require_types(values, dict, NoneType):
        return [nothing if value is None else value for value in values]
    return values


def _non_null(values: list[Any], kinds: set[type]) -> Bools:
    if NoneType not in kinds:
        return np.ones(len(values), np.bool_)
    return np.fromiter((value is not None for value in values), np.bool_, len(values))


def _required_ints(values: list[Any]) -> Int64s:
    _require_types(values, int)
    return _int64s(values)


def _int64s(values: list[int]) -> Int64s:
    try:
        return np.fromiter(values, np.int64, len(values))
    except OverflowError:
        raise _WrongShape from None


def _ints(values: list[Any]) -> IntColumn:
    kinds = _require_types(values, int, NoneType)
    filled = [0 if v is None else v for v in values] if NoneType in kinds else values
    return IntColumn(_int64s(filled), _non_null(values, kinds))


def _floats(values: list[Any]) -> FloatColumn:
    kinds = _require_types(values, int, float, NoneType)
    if NoneType in kinds:
        return FloatColumn(
            np.array(values, np.float64), _non_null(values, kinds)
        )  # None becomes NaN
    return FloatColumn(np.fromiter(values, np.float64, len(values)), _non_null(values, kinds))


def _required_int_lists(values: list[Any]) -> Ragged:
    _require_types(values, list)
    return _ragged(values)


def _ragged(lists: list[list[Any]]) -> Ragged:
    return Ragged(_required_ints(list(chain.from_iterable(lists))), _offsets(lists))


def _offsets(lists: list[list[Any]]) -> Int64s:
    return offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))


def _filled(values: list[Any], kinds: set[type]) -> list[list[Any]]:
    return [[] if v is None else v for v in values] if NoneType in kinds else values


def _int_lists(values: list[Any]) -> ListColumn:
    kinds = _require_types(values, list, NoneType)
    if not any(values):
        return ListColumn(empty_lists(len(values)), _non_null(values, kinds))
    return ListColumn(_ragged(_filled(values, kinds)), _non_null(values, kinds))


def _string_lists(values: list[Any]) -> tuple[ListColumn, list[str]]:
    """Return lists of strings as indexes into the distinct ones; null is -1."""
    kinds = _require_types(values, list, NoneType)
    lists = _filled(values, kinds)
    flat: list[str | None] = list(chain.from_iterable(lists))
    try:
        distinct = list(dict.fromkeys(flat))
    except TypeError:  # a list or an object has no hash
        raise _WrongShape from None
    _require_types(distinct, str, NoneType)
    paths = [path for path in distinct if path is not None]
    index: dict[str | None, int] = {path: place for place, path in enumerate(paths)}
    index[None] = PAD
    places = np.fromiter(map(index.__getitem__, flat), np.int64, len(flat))
    return ListColumn(Ragged(places, _offsets(lists)), _non_null(values, kinds)), paths


# ---- value by value -----------------------------------------------------------------------------


def find_type_fault(document: JsonPath) -> MalformedJson:
    """Return the error that names the first value of a wrong type below `topics`."""
    try:
        for topic in document.field("topics").items():
            _walk_topic(topic)
    except MalformedJson as fault:
        return fault
    return MalformedJson("some value has a wrong type", place="topics")


def _walk_topic(topic: JsonPath) -> None:
    topic.field("name").text()
    topic.field("replication_factor").integer()
    for partition in topic.field("partitions").items():
        _walk_partition(partition)


def _walk_partition(partition: JsonPath) -> None:
    partition.field("id").integer()
    for replica in partition.field("replicas").items():
        replica.integer()
    for name in ("replication_factor", "leader"):
        if (number := partition.optional(name)) is not None:
            number.integer()
    for name in ("isr", "adding", "removing"):
        if (brokers := partition.optional(name)) is not None:
            for broker in brokers.items():
                broker.integer()
    if (log_dirs := partition.optional("log_dirs")) is not None:
        for path in log_dirs.items():
            if path.value is not None:
                path.text()
    if (load := partition.optional("load")) is not None:
        _walk_load(load)


def _walk_load(load: JsonPath) -> None:
    if (size := load.optional("size")) is not None:
        size.integer()
    for name in ("in", "out"):
        if (rate := load.optional(name)) is not None:
            rate.number()
