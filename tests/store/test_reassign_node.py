"""`/admin/reassign_partitions`: what Kafka's reader takes and what it refuses.

The answers are those of `ReassignPartitionsZNode.decode` of Kafka 3.9.1, asked line by line.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import MalformedInput
from kedge.model import BrokerId, TopicPartition
from kedge.store.znodes import decode_reassignments, encode_reassignments


def plan(entry: str) -> bytes:
    return f'{{"version":1,"partitions":[{entry}]}}'.encode()


def entry(partition: str = "0", topic: str = '"t"', replicas: str = "[1,2]") -> bytes:
    return plan(f'{{"topic":{topic},"partition":{partition},"replicas":{replicas}}}')


@pytest.mark.parametrize(
    "version", ['"version":7,', '"version":"1",', '"version":" 1 ",', '"version":1.7,', ""]
)
def test_the_version_of_a_plan_is_not_looked_at(version: str) -> None:
    data = f'{{{version}"partitions":[{{"topic":"t","partition":0,"replicas":[1,2]}}]}}'
    assert decode_reassignments(data.encode()) == {TopicPartition("t", 0): (1, 2)}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"3"', 3),
        ('" 3 "', 3),
        ('"+3"', 3),
        ('"-3"', -3),
        ('"\uff11"', 1),
        ('""', 0),
        ('"null"', 0),
        ("null", 0),
        ("1.9", 1),
        ("-1.9", -1),
        ("1e1", 10),
        ("-0", 0),
    ],
)
def test_a_partition_may_be_written_in_many_ways(written: str, read: int) -> None:
    assert decode_reassignments(entry(partition=written)) == {TopicPartition("t", read): (1, 2)}


@pytest.mark.parametrize(
    "written",
    [
        "true",
        "3000000000",
        '"3000000000"',
        '"1.0"',
        '"0x1"',
        '"1_0"',
        "[1]",
        "{}",
        "01",
        "1e999999",
    ],
)
def test_a_partition_that_is_no_number_makes_the_plan_unreadable(written: str) -> None:
    with pytest.raises(MalformedInput, match="/admin/reassign_partitions"):
        decode_reassignments(entry(partition=written))


@pytest.mark.parametrize(
    ("written", "read"),
    [("5", "5"), ("1.50", "1.50"), ("true", "true"), ("null", ""), ('"é"', "é")],
)
def test_a_topic_may_be_any_scalar(written: str, read: str) -> None:
    assert decode_reassignments(entry(topic=written)) == {TopicPartition(read, 0): (1, 2)}


@pytest.mark.parametrize("written", ['["t"]', "{}", '"\\ud800"'])
def test_a_topic_of_another_kind_makes_the_plan_unreadable(written: str) -> None:
    with pytest.raises(MalformedInput, match="topic"):
        decode_reassignments(entry(topic=written))


def test_what_is_absent_is_zero_or_nobodys() -> None:
    data = plan('{"replicas":[1]}')
    assert decode_reassignments(data) == {TopicPartition("", 0): (1,)}


@pytest.mark.parametrize(
    "written", ['["1"]', "[1.5]", "[null]", "[true]", "[3000000000]", '"1"', '""', "{}", "null"]
)
def test_replicas_are_numbers_and_nothing_else(written: str) -> None:
    with pytest.raises(MalformedInput, match="replicas"):
        decode_reassignments(entry(replicas=written))


def test_replicas_are_not_judged_here() -> None:
    assert decode_reassignments(entry(replicas="[]")) == {TopicPartition("t", 0): ()}
    assert decode_reassignments(entry(replicas="[-1,1,1]")) == {TopicPartition("t", 0): (-1, 1, 1)}


@pytest.mark.parametrize(
    "data",
    [
        plan('{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any"]}'),
        b'{"version":1,"partitions":[],"more":1}',
        b'{"Version":1,"partitions":[]}',
    ],
)
def test_a_key_that_no_plan_has_makes_it_unreadable(data: bytes) -> None:
    with pytest.raises(MalformedInput, match="has unknown keys"):
        decode_reassignments(data)


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"null",
        b"{}",
        b"\xff",
        b'{"version":1}',
        b'{"version":1,"partitions":null}',
        b'{"version":1,"partitions":{}}',
        b'{"version":1,"partitions":[null]}',
        b'{"version":1,"partitions":[1]}',
        b'{"version":1,"partitions":[],}',
        b'{"version":"x","partitions":[]}',
        b'{"version":true,"partitions":[]}',
        b'{"version":99999999999,"partitions":[]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_plan_is_refused(data: bytes | None) -> None:
    with pytest.raises(MalformedInput, match="/admin/reassign_partitions"):
        decode_reassignments(data)


def test_what_follows_a_plan_is_not_read() -> None:
    assert decode_reassignments(b' {"partitions":[]} and more') == {}


def test_of_two_orders_for_one_partition_the_later_counts() -> None:
    first, second = (f'{{"topic":"t","partition":0,"replicas":[{n}]}}' for n in (1, 2))
    assert decode_reassignments(plan(f"{first},{second}")) == {TopicPartition("t", 0): (2,)}


partitions = st.builds(
    TopicPartition, st.text("ab.é\U0001f600", min_size=1, max_size=4), st.integers(0, 99)
)
targets = st.lists(st.integers(0, 2**31 - 1).map(BrokerId), max_size=3).map(tuple)


@given(st.dictionaries(partitions, targets, max_size=5))
def test_what_is_written_is_read_back(
    wanted: dict[TopicPartition, tuple[BrokerId, ...]],
) -> None:
    assert decode_reassignments(encode_reassignments(wanted)) == wanted
