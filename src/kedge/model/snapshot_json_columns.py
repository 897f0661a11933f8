"""The partitions of a JSON snapshot as columns, and the walk that finds a value of a wrong type.

`_table` takes the document apart column by column and gives up (`_WrongShape`) at the first
column that has a value of a type it should not; `_walk` then looks at value after value in the
order of the document. The two must agree on what is well shaped: a property test holds them to it.
"""

from __future__ import annotations

from itertools import chain
from types import NoneType
from typing import Any

import numpy as np

from kedge.errors import MalformedInput, MalformedJson
from kedge.model.columns import PAD, Bools, Int64s, Ragged, no_lists, offsets_of
from kedge.model.cursor import Cursor
from kedge.model.partition_table import Lists, PartitionTable, Real, Whole

Json = dict[str, Any]

WORTH_ARROW = 20_000  # partitions; fewer are read before Arrow is imported


class _WrongShape(Exception):
    """Some value of a column has a type that it should not have."""


def table_of_topics(document: Cursor) -> PartitionTable:
    """The columns of `topics`; a value of the wrong type is refused with its place."""
    try:
        table = _table(document.value.get("topics"))
    except _WrongShape:
        raise locate_shape_fault(document) from None
    _check_topics(table, document)
    return table


def counts_of(document: Cursor) -> list[int]:
    """How many partitions each topic of a well shaped document lists."""
    return [len(topic["partitions"]) for topic in document.value["topics"]]


def _check_topics(table: PartitionTable, document: Cursor) -> None:
    """A topic is there once and has partitions: what rows alone would not show."""
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
    _only([topics], list)
    _only(topics, dict)
    names, lists = _column(topics, "name"), _column(topics, "partitions")
    _only(names, str)
    _only(lists, list)
    parts: list[Json] = list(chain.from_iterable(lists))
    _only(parts, dict)
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    told = _columns(parts)
    wanted = np.repeat(_every_whole(_column(topics, "replication_factor")), counts)
    own = told.pop("replication_factor")
    return PartitionTable(
        topics=names,
        topic=np.repeat(np.arange(len(names)), counts),
        # The topic's factor, unless the partition has one of its own.
        wanted_rf=np.where(own.told, own.values, wanted),
        **told,
    )


def _columns(parts: list[Json]) -> dict[str, Any]:
    """The columns of the partitions: by Arrow if there are many and it takes them, else by us."""
    loads = _objects(_column(parts, "load"))
    # Arrow would take true for 1.0, so that rates are always read here.
    rates = {"bytes_in": _reals(_column(loads, "in")), "bytes_out": _reals(_column(loads, "out"))}
    if len(parts) >= WORTH_ARROW:
        try:
            return {**_columns_by_arrow(parts), **rates}
        except MalformedInput:
            pass  # perhaps a fault, perhaps something that only Arrow minds: look closely
    return {**_columns_by_hand(parts, loads), **rates}


def _columns_by_arrow(parts: list[Json]) -> dict[str, Any]:
    """What `_columns_by_hand` gives, or MalformedInput; takes a seventh off a large read.

    The types are inferred, never asked for: asked for whole numbers, Arrow makes 1 of 1.5.
    """
    from kedge.model.arrow import Reader, table_of_objects

    reader = Reader(table_of_objects(parts), "topics")
    log_dirs, paths = reader.text_lists("log_dirs")
    return {
        "partition": reader.every_whole("id"),
        "replicas": reader.every_list("replicas"),
        "replication_factor": reader.wholes("replication_factor"),
        "leader": reader.wholes("leader"),
        "isr": reader.lists("isr"),
        "adding": reader.lists("adding").lists,
        "removing": reader.lists("removing").lists,
        "size": reader.inside("load").wholes("size"),
        "log_dirs": log_dirs,
        "paths": paths,
    }


def _columns_by_hand(parts: list[Json], loads: list[Json]) -> dict[str, Any]:
    log_dirs, paths = _texts(_column(parts, "log_dirs"))
    return {
        "partition": _every_whole(_column(parts, "id")),
        "replicas": _every_list(_column(parts, "replicas")),
        "replication_factor": _wholes(_column(parts, "replication_factor")),
        "leader": _wholes(_column(parts, "leader")),
        "isr": _lists(_column(parts, "isr")),
        "adding": _lists(_column(parts, "adding")).lists,
        "removing": _lists(_column(parts, "removing")).lists,
        "size": _wholes(_column(loads, "size")),
        "log_dirs": log_dirs,
        "paths": paths,
    }


def _column(objects: list[Json], name: str) -> list[Any]:
    try:
        return [one[name] for one in objects]
    except KeyError:
        return [one.get(name) for one in objects]


def _only(values: list[Any], *wanted: type) -> set[type]:
    kinds = set(map(type, values))
    if not kinds.issubset(wanted):
        raise _WrongShape
    return kinds


def _objects(values: list[Any]) -> list[Json]:
    """Objects; one that is not told is empty."""
    nothing: Json = {}
    if NoneType in _only(values, dict, NoneType):
        return [nothing if value is None else value for value in values]
    return values


def _told(values: list[Any], kinds: set[type]) -> Bools:
    if NoneType not in kinds:
        return np.ones(len(values), np.bool_)
    return np.fromiter((value is not None for value in values), np.bool_, len(values))


def _every_whole(values: list[Any]) -> Int64s:
    _only(values, int)
    return _int64s(values)


def _int64s(values: list[int]) -> Int64s:
    try:
        return np.fromiter(values, np.int64, len(values))
    except OverflowError:
        raise _WrongShape from None


def _wholes(values: list[Any]) -> Whole:
    kinds = _only(values, int, NoneType)
    filled = [0 if v is None else v for v in values] if NoneType in kinds else values
    return Whole(_int64s(filled), _told(values, kinds))


def _reals(values: list[Any]) -> Real:
    kinds = _only(values, int, float, NoneType)
    if NoneType in kinds:
        return Real(np.array(values, np.float64), _told(values, kinds))  # None becomes NaN
    return Real(np.fromiter(values, np.float64, len(values)), _told(values, kinds))


def _every_list(values: list[Any]) -> Ragged:
    _only(values, list)
    return _ragged(values)


def _ragged(lists: list[list[Any]]) -> Ragged:
    return Ragged(_every_whole(list(chain.from_iterable(lists))), _offsets(lists))


def _offsets(lists: list[list[Any]]) -> Int64s:
    return offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))


def _filled(values: list[Any], kinds: set[type]) -> list[list[Any]]:
    return [[] if v is None else v for v in values] if NoneType in kinds else values


def _lists(values: list[Any]) -> Lists:
    kinds = _only(values, list, NoneType)
    if not any(values):
        return Lists(no_lists(len(values)), _told(values, kinds))
    return Lists(_ragged(_filled(values, kinds)), _told(values, kinds))


def _texts(values: list[Any]) -> tuple[Lists, list[str]]:
    """Lists of texts as indexes into the distinct ones; null is -1."""
    kinds = _only(values, list, NoneType)
    lists = _filled(values, kinds)
    flat: list[str | None] = list(chain.from_iterable(lists))
    try:
        distinct = list(dict.fromkeys(flat))
    except TypeError:  # a list or an object has no hash
        raise _WrongShape from None
    _only(distinct, str, NoneType)
    paths = [path for path in distinct if path is not None]
    index: dict[str | None, int] = {path: place for place, path in enumerate(paths)}
    index[None] = PAD
    places = np.fromiter(map(index.__getitem__, flat), np.int64, len(flat))
    return Lists(Ragged(places, _offsets(lists)), _told(values, kinds)), paths


# ---- value by value -----------------------------------------------------------------------------


def locate_shape_fault(document: Cursor) -> MalformedJson:
    """The error that names the first value of a wrong type below `topics`."""
    try:
        for topic in document.field("topics").items():
            _walk_topic(topic)
    except MalformedJson as fault:
        return fault
    return MalformedJson("some value has a wrong type", place="topics")


def _walk_topic(topic: Cursor) -> None:
    topic.field("name").text()
    topic.field("replication_factor").whole()
    for partition in topic.field("partitions").items():
        _walk_partition(partition)


def _walk_partition(partition: Cursor) -> None:
    partition.field("id").whole()
    for replica in partition.field("replicas").items():
        replica.whole()
    for name in ("replication_factor", "leader"):
        if (number := partition.optional(name)) is not None:
            number.whole()
    for name in ("isr", "adding", "removing"):
        if (brokers := partition.optional(name)) is not None:
            for broker in brokers.items():
                broker.whole()
    if (log_dirs := partition.optional("log_dirs")) is not None:
        for path in log_dirs.items():
            if path.value is not None:
                path.text()
    if (load := partition.optional("load")) is not None:
        _walk_load(load)


def _walk_load(load: Cursor) -> None:
    if (size := load.optional("size")) is not None:
        size.whole()
    for name in ("in", "out"):
        if (rate := load.optional(name)) is not None:
            rate.number()
