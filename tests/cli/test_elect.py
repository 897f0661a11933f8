"""`kedge elect` on a cluster in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.model import BrokerId
from tests.cli.cluster_commands import Desk

B1, B2 = BrokerId(1), BrokerId(2)
PREFERRED = ("elect", "--election-type", "preferred")


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    cluster = MemoryCluster(2)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2), 1: (B2, B1), 2: (B1,)})])
    return Desk(cluster, capsys)


def shaken(desk: Desk) -> Desk:
    """Broker 1 was away for a moment, so broker 2 leads what it can."""
    desk.cluster.stop_broker(B1)
    desk.cluster.start_broker(B1)
    return desk


def test_a_preferred_leader_is_elected_once(desk: Desk) -> None:
    asked = (*PREFERRED, "--topic", "t", "--partition", "0")
    assert shaken(desk).lines(*asked) == [
        "Successfully completed leader election (PREFERRED) for partitions t-0"
    ]
    assert desk.lines(*asked) == ["Valid replica already elected for partitions t-0"]


def test_of_all_partitions_only_those_with_something_to_elect_are_told(desk: Desk) -> None:
    assert shaken(desk).lines(*PREFERRED, "--all-topic-partitions") == [
        "Successfully completed leader election (PREFERRED) for partitions t-0"
    ]
    assert desk.lines(*PREFERRED, "--all-topic-partitions") == []


def test_partitions_come_from_a_file_too(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "some.json"
    file.write_text('{"partitions":[{"topic":"t","partition":0},{"topic":"t","partition":1}]}')
    assert shaken(desk).json(*PREFERRED, "--path-to-json-file", str(file)) == {
        "elected": [{"topic": "t", "partition": 0}],
        "not_needed": [{"topic": "t", "partition": 1}],
        "failed": [],
    }


def test_what_cannot_be_elected_fails(desk: Desk) -> None:
    desk.cluster.stop_broker(B1)
    outcome = desk(*PREFERRED, "--all-topic-partitions")
    assert outcome.code == 1
    assert [line.split(": ")[1] for line in outcome.out.splitlines()] == ["t-0", "t-2"]
    assert outcome.err == "kedge: 2 replica(s) could not be elected\n"


def test_an_unclean_election_takes_whoever_is_alive(desk: Desk) -> None:
    desk.cluster.alter_reassignments({})
    desk.cluster.stop_broker(B2)
    desk.cluster.stop_broker(B1)
    desk.cluster.alive.add(B2)
    asked = ("elect", "--election-type", "UNCLEAN", "--topic", "t", "--partition", "0")
    assert desk.lines(*asked, "--yes") == [
        "Successfully completed leader election (UNCLEAN) for partitions t-0"
    ]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--topic", "t"),
        ("--partition", "0"),
        ("--topic", "t", "--partition", "0", "--all-topic-partitions"),
    ],
)
def test_which_partitions_must_be_said_in_one_way(desk: Desk, words: tuple[str, ...]) -> None:
    assert desk.refusal(*PREFERRED, *words)
