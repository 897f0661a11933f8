"""`kedge place`: what it shows, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Kedge

FIVE = ("place", "--brokers", "0,1,2,3,4", "--partitions", "10", "--replication-factor", "3")
RACKED = ("place", "--brokers", "0:a,1:a,2:b,3:b", "--partitions", "4", "--replication-factor", "2")


def _rows(text: str) -> dict[str, str]:
    lines = [line.split() for line in text.splitlines() if line.startswith("P")]
    return {line[0]: line[1] for line in lines}


def test_the_classic_table_is_shown(kedge: Kedge) -> None:
    outcome = kedge(*FIVE, "--start", "0")
    assert outcome.code == 0
    assert list(_rows(outcome.out).items()) == [
        ("P0", "0,1,2"),
        ("P1", "1,2,3"),
        ("P2", "2,3,4"),
        ("P3", "3,4,0"),
        ("P4", "4,0,1"),
        ("P5", "0,2,3"),
        ("P6", "1,3,4"),
        ("P7", "2,4,0"),
        ("P8", "3,0,1"),
        ("P9", "4,1,2"),
    ]


def test_the_grid_shows_each_broker_with_what_it_leads_and_holds(kedge: Kedge) -> None:
    outcome = kedge(*FIVE, "--start", "0")
    assert "broker 0  █··▒▒█·▒▒·  leads 2, holds 6" in outcome.out


def test_racks_stand_in_the_table_and_group_the_grid(kedge: Kedge) -> None:
    outcome = kedge(*RACKED, "--start", "0")
    assert "P0  0,2  a,b" in outcome.out
    assert "rack a  broker 0" in outcome.out
    assert "        broker 1" in outcome.out


def test_json_is_a_reassignment_file(kedge: Kedge) -> None:
    outcome = kedge(*FIVE, "--start", "0", "--output", "json", "--topic", "orders")
    read = json.loads(outcome.out)
    assert read["version"] == 1
    assert read["partitions"][9] == {
        "topic": "orders",
        "partition": 9,
        "replicas": [4, 1, 2],
        "log_dirs": ["any", "any", "any"],
    }


def test_what_was_drawn_can_be_repeated(kedge: Kedge) -> None:
    drawn = kedge(*FIVE, "--seed", "7")
    words = drawn.err.split()
    start, shift = words[words.index("--start") + 1], words[words.index("--shift") + 1]
    again = kedge(*FIVE, "--start", start, "--shift", shift)
    assert again.out == drawn.out


def test_kraft_places_by_its_own_rules(kedge: Kedge) -> None:
    first = kedge(*RACKED, "--placer", "kraft", "--seed", "3", "--output", "json")
    second = kedge(*RACKED, "--placer", "kraft", "--seed", "3", "--output", "json")
    assert first.code == 0
    assert first.out == second.out


def test_a_topic_is_expanded_from_its_reassignment_file(kedge: Kedge, tmp_path: Path) -> None:
    now = {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": p, "replicas": ids}
            for p, ids in enumerate([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
        ],
    }
    file = tmp_path / "now.json"
    file.write_text(json.dumps(now))
    outcome = kedge("place", "--brokers", "0,1,2", "--partitions", "4", "--existing", str(file))
    assert _rows(outcome.out) == {"P3": "0,2,1"}


def test_brokers_come_from_a_file_of_lines(kedge: Kedge, tmp_path: Path) -> None:
    file = tmp_path / "brokers.txt"
    file.write_text("# the west wing\n0:a\n\n1:b\n")
    asked = ("--partitions", "1", "--replication-factor", "2", "--start", "0")
    outcome = kedge("place", "--brokers-file", str(file), *asked)
    assert _rows(outcome.out) == {"P0": "0,1"}


def test_a_manual_assignment_is_read_as_kafka_reads_it(kedge: Kedge) -> None:
    outcome = kedge("place", "--replica-assignment", "0:1:2,1:2:0,")
    assert _rows(outcome.out) == {"P0": "0,1,2", "P1": "1,2,0"}


def test_many_partitions_are_drawn_as_bars(kedge: Kedge) -> None:
    asked = ("--partitions", "5000", "--replication-factor", "3", "--start", "0")
    outcome = kedge("place", "--brokers", "0,1,2,3,4", *asked)
    assert "leads 1000, holds 3000" in outcome.out


REFUSED = {
    "no brokers": ("place", "--partitions", "1", "--replication-factor", "1"),
    "an empty broker": ("place", "--brokers", "0,,1"),
    "a negative broker": ("place", "--brokers", "0,-1"),
    "a duplicate broker": ("place", "--brokers", "0,1,0"),
    "a huge broker": ("place", "--brokers", "9" * 400),
    "a word for a broker": ("place", "--brokers", "zero"),
    "a colon without a rack": ("place", "--brokers", "0:,1:a"),
    "mixed racks": (
        *("place", "--brokers", "0:a,1", "--partitions", "1", "--replication-factor", "1"),
    ),
    "more replicas than brokers": (
        *("place", "--brokers", "0,1", "--partitions", "1", "--replication-factor", "3"),
    ),
    "no replicas": (
        *("place", "--brokers", "0,1", "--partitions", "1", "--replication-factor", "0"),
    ),
    "no partitions": (
        *("place", "--brokers", "0,1", "--partitions", "0", "--replication-factor", "1"),
    ),
    "too many partitions": (
        *("place", "--brokers", "0,1", "--partitions", "9" * 30, "--replication-factor", "1"),
    ),
    "a partition count that is not a number": (*FIVE, "--partitions", "ten"),
    "a negative start": (*FIVE, "--start", "-1"),
    "a bad topic name": (*FIVE, "--topic", "no/slashes"),
    "a missing file": ("place", "--brokers-file", "/nonexistent/brokers"),
    "an unknown option": (*FIVE, "--colour"),
    "an unknown command": ("plaice",),
    "counts beside a manual assignment": (
        *("place", "--replica-assignment", "0:1", "--partitions", "1"),
    ),
    "a manual assignment of words": ("place", "--replica-assignment", "a:b"),
    "a start and a seed": (*FIVE, "--start", "1", "--seed", "1"),
    "brokers twice over": (*FIVE, "--brokers-file", "x"),
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED.keys())
def test_bad_input_is_refused_in_one_sentence(kedge: Kedge, arguments: tuple[str, ...]) -> None:
    outcome = kedge(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("kedge: ")
    assert len(outcome.err) < 300


BAD_FILES = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe0:a\n",
    "only comments": b"# nobody\n",
    "broken JSON": b'{"format": "kedge.snapshot/1", ',
    "another format": b'{"format": "kedge.snapshot/9", "brokers": []}',
    "a duplicate": b"0:a\n0:b\n",
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_brokers_file_is_refused_with_its_name(
    kedge: Kedge, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "brokers"
    file.write_bytes(content)
    asked = ("--partitions", "1", "--replication-factor", "1")
    outcome = kedge("place", "--brokers-file", str(file), *asked)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert str(file) in outcome.err
