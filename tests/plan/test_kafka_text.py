"""Kafka's files, written: the exact text, and back again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kedge.model import BrokerId, TopicPartition
from kedge.plan import (
    Reassignment,
    election_text,
    entries_text,
    parse_election,
    parse_execute,
    parse_topics_to_move,
    reassignment_text,
    topics_to_move_text,
)

topics = st.text("abcXYZ.-_é", min_size=1, max_size=6)
partitions = st.builds(TopicPartition, topics, st.integers(0, 120))
replicas = st.lists(st.integers(0, 99).map(BrokerId), min_size=1, max_size=4, unique=True)


def test_a_reassignment_is_written_sorted_and_without_blanks() -> None:
    text = reassignment_text(
        {
            TopicPartition("b", 10): [BrokerId(3), BrokerId(1)],
            TopicPartition("b", 2): [BrokerId(1)],
            TopicPartition('a"é', 0): [],
        }
    )
    assert text == (
        '{"version":1,"partitions":['
        '{"topic":"a\\"é","partition":0,"replicas":[],"log_dirs":[]},'
        '{"topic":"b","partition":2,"replicas":[1],"log_dirs":["any"]},'
        '{"topic":"b","partition":10,"replicas":[3,1],"log_dirs":["any","any"]}]}'
    )


def test_no_partitions_are_still_a_file() -> None:
    assert reassignment_text({}) == '{"version":1,"partitions":[]}'


@given(st.dictionaries(partitions, replicas, min_size=1, max_size=8))
def test_what_is_written_reads_back(assignment: dict[TopicPartition, list[BrokerId]]) -> None:
    found = parse_execute(reassignment_text(assignment))
    assert found.targets == {tp: tuple(ids) for tp, ids in assignment.items()}
    assert [entry.tp for entry in found.entries] == sorted(assignment)


@given(st.dictionaries(partitions, replicas, min_size=1, max_size=5), st.data())
def test_directories_are_written_beside_their_replicas(
    assignment: dict[TopicPartition, list[BrokerId]], data: st.DataObject
) -> None:
    paths = st.sampled_from(["any", "/data/0", "/data/1"])
    entries = {
        Reassignment(tp, tuple(ids), tuple(data.draw(paths) for _ in ids))
        for tp, ids in assignment.items()
    }
    assert set(parse_execute(entries_text(entries)).entries) == entries


@given(st.lists(topics, unique=True))
def test_topics_to_move_read_back(names: list[str]) -> None:
    assert parse_topics_to_move(topics_to_move_text(names)) == tuple(names)


@given(st.sets(partitions))
def test_elections_read_back(wanted: set[TopicPartition]) -> None:
    assert parse_election(election_text(wanted)) == tuple(sorted(wanted))
