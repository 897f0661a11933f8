"""Every fault of a JSON snapshot is refused with its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import MalformedInput, MalformedJson
from kedge.model import parse_snapshot
from kedge.model.columns import IntColumn, ListColumn, Ragged
from kedge.model.json_path import JsonPath
from kedge.model.snapshot_json_columns import (
    _columns_by_arrow,
    _columns_by_hand,
    _table,
    _walk_topic,
    _WrongShape,
)
from tests.model.examples import example
from tests.model.strategies import untimed

GONE = object()


def changed(document: Any, path: str, value: Any) -> Any:
    """The document with another value at `a.0.b`; GONE takes the field away."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at: Any = document
    for step in way:
        at = at[step]
    if value is GONE:
        del at[last]
    elif last == len(at):
        at.append(value)
    else:
        at[last] = value
    return document


P0 = "topics.0.partitions.0"
SHAPES: list[tuple[str, Any, str]] = [
    ("format", GONE, "format: missing"),
    ("format", 1, "format: expected text, got 1"),
    ("format", "kedge.other/1", 'format: expected "kedge.snapshot/1", got "kedge.other/1"'),
    ("format", "kedge.snapshot/2", 'format: version "2" of the format is not known; this Kedge'),
    ("cluster_id", 5, "cluster_id: expected text, got 5"),
    ("taken_at", 5, "taken_at: expected text, got 5"),
    ("taken_at", "yesterday", 'taken_at: "yesterday" is not a time with a time zone'),
    ("taken_at", "2026-11-15T12:00:00", 'taken_at: "2026-11-15T12:00:00" is not a time with'),
    ("taken_at", "0001-01-01T00:00:00+23:00", 'taken_at: "0001-01-01T00:00:00+23:00" is no'),
    ("cpu_model", [], "cpu_model: expected an object, got a list"),
    ("cpu_model.leader_in", GONE, "cpu_model.leader_in: missing"),
    ("cpu_model.leader_out", "1", 'cpu_model.leader_out: expected a number, got "1"'),
    ("cpu_model.follower_in", -1, "cpu_model.follower_in: -1 is below 0"),
    ("brokers", GONE, "brokers: missing"),
    ("brokers", {}, "brokers: expected a list, got an object"),
    ("brokers.1", 7, "brokers[1]: expected an object, got 7"),
    ("brokers.1.id", GONE, "brokers[1].id: missing"),
    ("brokers.1.id", True, "brokers[1].id: expected a whole number, got true"),
    ("brokers.1.id", 2.0, "brokers[1].id: expected a whole number, got 2.0"),
    ("brokers.1.id", 2**64 - 1, "brokers[1].id: 18446744073709551615 does not fit in 64 bits"),
    ("brokers.1.rack", 5, "brokers[1].rack: expected text, got 5"),
    ("brokers.1.state", "gone", 'brokers[1].state: "gone" is none of alive, new, draining, dead'),
    ("brokers.1.capacity", 5, "brokers[1].capacity: expected an object, got 5"),
    ("brokers.0.capacity.in", "9", 'brokers[0].capacity.in: expected a number, got "9"'),
    ("brokers.1.log_dirs", "/d", 'brokers[1].log_dirs: expected a list, got "/d"'),
    ("brokers.1.log_dirs.0.path", 5, "brokers[1].log_dirs[0].path: expected text, got 5"),
    ("brokers.1.log_dirs.1.path", GONE, "brokers[1].log_dirs[1].path: missing"),
    ("topics", GONE, "topics: missing"),
    ("topics", "x" * 99, f'topics: expected a list, got "{"x" * 39}…'),
    ("topics.1", [], "topics[1]: expected an object, got a list"),
    ("topics.1.name", GONE, "topics[1].name: missing"),
    ("topics.1.name", 5, "topics[1].name: expected text, got 5"),
    ("topics.1.replication_factor", GONE, "topics[1].replication_factor: missing"),
    ("topics.1.replication_factor", True, "topics[1].replication_factor: expected a whole number"),
    ("topics.1.partitions", GONE, "topics[1].partitions: missing"),
    ("topics.1.partitions", {}, "topics[1].partitions: expected a list, got an object"),
    ("topics.0.partitions.1", None, "topics[0].partitions[1]: expected an object, got null"),
    (f"{P0}.id", GONE, "topics[0].partitions[0].id: missing"),
    (f"{P0}.id", 0.5, "topics[0].partitions[0].id: expected a whole number, got 0.5"),
    (f"{P0}.id", 2**63, "topics[0].partitions[0].id: 9223372036854775808 does not fit in 64 bits"),
    (f"{P0}.replicas", GONE, "topics[0].partitions[0].replicas: missing"),
    (f"{P0}.replicas", 1, "topics[0].partitions[0].replicas: expected a list, got 1"),
    (
        f"{P0}.replicas.1",
        "2",
        'topics[0].partitions[0].replicas[1]: expected a whole number, got "2"',
    ),
    (f"{P0}.replicas.0", True, "topics[0].partitions[0].replicas[0]: expected a whole number"),
    (f"{P0}.replicas.0", 1e30, "topics[0].partitions[0].replicas[0]: expected a whole number"),
    (f"{P0}.replicas.0", 2**63, "topics[0].partitions[0].replicas[0]: 9223372036854775808 does"),
    (f"{P0}.leader", "1", 'topics[0].partitions[0].leader: expected a whole number, got "1"'),
    (f"{P0}.leader", False, "topics[0].partitions[0].leader: expected a whole number, got false"),
    (f"{P0}.isr", 1, "topics[0].partitions[0].isr: expected a list, got 1"),
    (f"{P0}.isr.2", None, "topics[0].partitions[0].isr[2]: expected a whole number, got null"),
    (f"{P0}.adding", "x", 'topics[0].partitions[0].adding: expected a list, got "x"'),
    (f"{P0}.adding.0", 1.5, "topics[0].partitions[0].adding[0]: expected a whole number, got 1.5"),
    (f"{P0}.removing", {}, "topics[0].partitions[0].removing: expected a list, got an object"),
    (f"{P0}.replication_factor", "3", "topics[0].partitions[0].replication_factor: expected a"),
    (f"{P0}.log_dirs", {}, "topics[0].partitions[0].log_dirs: expected a list, got an object"),
    (f"{P0}.log_dirs.0", 0, "topics[0].partitions[0].log_dirs[0]: expected text, got 0"),
    (f"{P0}.log_dirs.0", [], "topics[0].partitions[0].log_dirs[0]: expected text, got a list"),
    (f"{P0}.load", 5, "topics[0].partitions[0].load: expected an object, got 5"),
    (f"{P0}.load.size", 1.0, "topics[0].partitions[0].load.size: expected a whole number, got 1.0"),
    (f"{P0}.load.size", 2**63, "topics[0].partitions[0].load.size: 9223372036854775808 does not"),
    (f"{P0}.load.in", True, "topics[0].partitions[0].load.in: expected a number, got true"),
    (f"{P0}.load.out", "1", 'topics[0].partitions[0].load.out: expected a number, got "1"'),
]
P1 = "topics.0.partitions.1"
MEANINGS: list[tuple[str, Any, str]] = [
    ("brokers.1.id", 1, "brokers[1].id: broker 1 is listed twice"),
    ("brokers.1.id", -1, "brokers[1].id: -1 is not a broker id: 0 to 2147483647"),
    ("brokers.1.id", 2**31, "brokers[1].id: 2147483648 is not a broker id: 0 to 2147483647"),
    ("brokers.0.capacity.disk", -1, "brokers[0].capacity.disk: a capacity is a number above 0"),
    ("brokers.0.capacity.in", 0, "brokers[0].capacity.in: a capacity is a number above 0, not 0.0"),
    (
        "brokers.1.log_dirs.1.path",
        "/data/0",
        "brokers[1].log_dirs[1].path: /data/0 is listed twice",
    ),
    ("brokers.1.log_dirs.1.path", "", "brokers[1].log_dirs[1].path: the path is empty"),
    (
        "brokers.1.log_dirs.1.capacity",
        -2,
        "brokers[1].log_dirs[1].capacity: a capacity is a number",
    ),
    ("topics.1.name", "", "topics[1].name: the topic name is empty"),
    ("topics.1.name", "orders", "topics[1].name: topic orders is listed twice"),
    ("topics.1.partitions", [], "topics[1].partitions: the list is empty"),
    ("topics.1.replication_factor", 0, "topics[1].replication_factor: a replication factor is at"),
    ("topics.1.replication_factor", 2**31, "topics[1].replication_factor: a replication factor is"),
    (f"{P1}.replication_factor", -1, "topics[0].partitions[1].replication_factor: a replication"),
    (f"{P1}.id", 0, "topics[0].partitions[1].id: orders-0 is listed twice"),
    (f"{P1}.id", -1, "topics[0].partitions[1].id: -1 is no partition number: 0 to 2147483647"),
    (f"{P1}.id", 2**31, "topics[0].partitions[1].id: 2147483648 is no partition number"),
    (f"{P1}.replicas", [], "topics[0].partitions[1].replicas: the list is empty"),
    (f"{P1}.replicas.0", 9, "topics[0].partitions[1].replicas: broker 9 is not in brokers"),
    (f"{P1}.replicas.0", -1, "topics[0].partitions[1].replicas: broker -1 is not in brokers"),
    (f"{P1}.replicas.0", 2**40, "topics[0].partitions[1].replicas: broker 1099511627776 is not in"),
    (f"{P1}.replicas.1", 2, "topics[0].partitions[1].replicas: broker 2 is listed twice"),
    ("topics.1.partitions.0.leader", 1, "topics[1].partitions[0].leader: broker 1 is not one of"),
    (f"{P1}.leader", 9, "topics[0].partitions[1].leader: broker 9 is not one of the replicas"),
    (f"{P1}.leader", -2, "topics[0].partitions[1].leader: broker -2 is not one of the replicas"),
    (f"{P1}.leader", 2**33 + 2, "topics[0].partitions[1].leader: broker 8589934594 is not one of"),
    (f"{P1}.isr", [9], "topics[0].partitions[1].isr: broker 9 is not in brokers"),
    (f"{P1}.isr", [3, 3], "topics[0].partitions[1].isr: broker 3 is listed twice"),
    ("topics.1.partitions.0.isr", [2], "topics[1].partitions[0].isr: broker 2 is not one of the"),
    (f"{P1}.adding", [9], "topics[0].partitions[1].adding: broker 9 is not in brokers"),
    (f"{P1}.adding", [1, 1], "topics[0].partitions[1].adding: broker 1 is listed twice"),
    ("topics.1.partitions.0.adding", [2], "topics[1].partitions[0].adding: broker 2 is not one of"),
    (f"{P1}.removing", [9], "topics[0].partitions[1].removing: broker 9 is not in brokers"),
    ("topics.1.partitions.0.removing", [2], "topics[1].partitions[0].removing: broker 2 is not"),
    (f"{P1}.removing", [1], "topics[0].partitions[1].removing: broker 1 is being added as well"),
    (f"{P1}.load.size", -1, "topics[0].partitions[1].load.size: -1 is below 0"),
    (f"{P1}.load.in", -0.5, "topics[0].partitions[1].load.in: a rate is a finite number from 0"),
    (f"{P1}.load.out", -7, "topics[0].partitions[1].load.out: a rate is a finite number from 0"),
    (f"{P1}.log_dirs", ["/data/0"], "topics[0].partitions[1].log_dirs: 1 log dirs for 3 replicas"),
    (f"{P1}.log_dirs", [], "topics[0].partitions[1].log_dirs: 0 log dirs for 3 replicas"),
    (f"{P0}.log_dirs.1", "/x", "topics[0].partitions[0].log_dirs: broker 2 has no log dir /x"),
    (f"{P0}.log_dirs.2", "", "topics[0].partitions[0].log_dirs: a path is empty"),
]


@pytest.mark.parametrize(("path", "value", "sentence"), SHAPES)
def test_a_value_of_the_wrong_shape_is_refused(path: str, value: Any, sentence: str) -> None:
    with pytest.raises(MalformedJson) as refusal:
        parse_snapshot(orjson.dumps(changed(example(), path, value)))
    assert str(refusal.value).startswith(sentence)
    assert refusal.value.place == sentence.split(": ")[0]


@pytest.mark.parametrize(("path", "value", "sentence"), MEANINGS)
def test_a_value_that_cannot_be_is_refused(path: str, value: Any, sentence: str) -> None:
    with pytest.raises(MalformedInput) as refusal:
        parse_snapshot(orjson.dumps(changed(example(), path, value)))
    assert str(refusal.value).startswith(sentence)
    assert refusal.value.place == sentence.split(": ")[0]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b"hello", "not JSON at line 1, column 1: "),
        (b'{"format":\n "kedge', "not JSON at line 2, column "),
        (b"[]", "expected an object, got a list"),
        (b"null", "expected an object, got null"),
        (b"3", "expected an object, got 3"),
        (b'{"a": "\xff"}', "not JSON at line 1, column "),
        (b"\xff\xfe{\x00}\x00", "not JSON at line 1, column "),
        (b"\xef\xbb\xbf{}", "not JSON at line 1, column 1: UTF-8 byte order mark"),
        (b'{"a": 1e999}', "not JSON at line 1, column "),
        (b'{"a": NaN}', "not JSON at line 1, column "),
        (b"[" * 100_000, "not JSON at line 1, column "),
        (b'{"a":' * 5_000, "not JSON at line 1, column "),
        (b"{}", "format: missing"),
    ],
)
def test_bytes_that_are_no_document_are_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(MalformedJson) as refusal:
        parse_snapshot(data)
    assert str(refusal.value).startswith(sentence)
    assert "\n" not in str(refusal.value)


def test_a_path_of_a_broker_that_lists_no_log_dirs_is_believed() -> None:
    document = changed(example(), f"{P0}.log_dirs.2", "/elsewhere")
    assert "/elsewhere" in parse_snapshot(orjson.dumps(document)).log_dir_paths


json_values = st.recursive(
    st.sampled_from([None, True, 0, 1, -1, 2**63, 2**63 - 1, 1.0, "", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=3,
)
PLACES = [
    *("topics", "topics.0", "topics.0.name", "topics.1.replication_factor", "topics.0.partitions"),
    *(f"{P0}.{name}" for name in ("id", "replicas", "leader", "isr", "adding", "removing")),
    *(f"{P0}.{name}" for name in ("load", "log_dirs", "replication_factor", "replicas.1")),
    *(f"{P0}.{name}" for name in ("isr.0", "log_dirs.0", "load.size", "load.in", "load.out")),
    P0,
]


@untimed
@given(st.sampled_from(PLACES), json_values)
def test_columns_and_the_walk_agree_on_what_is_well_shaped(path: str, value: Any) -> None:
    document = orjson.loads(orjson.dumps(changed(example(), path, value)))
    assert reads_as_columns(document) == reads_value_by_value(document)


def reads_as_columns(document: Any) -> bool:
    try:
        _table(document.get("topics"))
    except _WrongShape:
        return False
    return True


def test_a_field_named_like_a_path_is_not_taken_for_one() -> None:
    parts = [{"id": 0, "replicas": [1], "load.size": 5, "load": {"in": 1.0}}]
    assert not _columns_by_arrow(parts)["size"].known.any()


def test_objects_that_are_all_empty_tell_nothing() -> None:
    parts = [{"id": 0, "replicas": [1], "load": {}}, {"id": 1, "replicas": [1], "load": None}]
    assert _columns_by_arrow(parts)["size"].known.tolist() == [False, False]


COLUMN_VALUES = st.sampled_from([True, 1.0, 1.5, 2**63, 2**53 + 1, [1.5], [True], ["1"], {}, "x"])


@untimed
@given(st.sampled_from(PLACES), COLUMN_VALUES | json_values)
def test_arrow_reads_what_we_read_by_hand_or_nothing(path: str, value: Any) -> None:
    document = orjson.loads(orjson.dumps(changed(example(), path, value)))
    if not reads_value_by_value(document):
        return  # the next test asks for a refusal
    parts = [one for topic in document["topics"] for one in topic["partitions"]]
    try:
        by_arrow = _columns_by_arrow(parts)
    except MalformedInput:
        return
    by_hand = _columns_by_hand(parts, [one.get("load") or {} for one in parts])
    assert plain(by_arrow) == plain(by_hand)


FIELDS_OF_ARROW = [
    case
    for case in SHAPES
    if case[0].startswith(f"{P0}.") and ".load.in" not in case[0] and ".load.out" not in case[0]
]


@pytest.mark.parametrize(("path", "value", "sentence"), FIELDS_OF_ARROW)
def test_arrow_takes_no_value_of_the_wrong_shape(path: str, value: Any, sentence: str) -> None:
    document = orjson.loads(orjson.dumps(changed(example(), path, value)))
    parts = [one for topic in document["topics"] for one in topic["partitions"]]
    with pytest.raises(MalformedInput):
        _columns_by_arrow(parts)


def plain(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns as lists; what is not told may hold anything."""
    return {name: plain_column(column) for name, column in columns.items()}


def plain_column(column: Any) -> Any:
    if isinstance(column, IntColumn):
        return np.where(column.known, column.values, -99).tolist(), column.known.tolist()
    if isinstance(column, ListColumn):
        return plain_column(column.lists), column.known.tolist()
    if isinstance(column, Ragged):
        return column.values.tolist(), column.offsets.tolist()
    return list(column)


def reads_value_by_value(document: Any) -> bool:
    try:
        for topic in JsonPath(document).field("topics").items():
            _walk_topic(topic)
    except MalformedJson:
        return False
    return True
