"""What an operator may ask, and how it is written down."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kedge.balance import Goals, NewBroker, goals_from_json
from kedge.balance.goals.apply_goals import fixed_partitions
from kedge.errors import InvalidRequest, MalformedInput, UnknownTopicOrPartition
from tests.balance.snapshots import broker, cluster

FULL = Goals(
    tolerance=0.1,
    tolerances={"cpu": 0.3},
    weights={"disk": 2.0, "cpu": 0.0},
    limits={"disk": 0.9, "cpu": None},
    max_bytes=10,
    max_moves=3,
    max_moves_per_broker=2,
    max_replicas_per_broker=100,
    remove_brokers=frozenset({3, 1}),
    add_brokers=(NewBroker(9, "a"), NewBroker(8)),
    exclude_brokers=frozenset({5}),
    topics="a.*,b",
    exclude_topics="c",
    exclude_partitions=frozenset({("a", 1), ("a", 0)}),
    replication_factor={"a": 3},
    above=0.85,
    strict_racks=True,
    even_log_dirs=True,
    rate_bytes_per_second=1e6,
    moves_each_way=3,
)


def test_goals_come_back_from_json_as_they_were() -> None:
    assert goals_from_json(orjson.loads(orjson.dumps(FULL.to_json()))) == FULL


def test_only_what_differs_from_the_defaults_is_written() -> None:
    assert Goals().to_json() == {}
    assert Goals(max_moves=3).to_json() == {"max_moves": 3}


def test_a_goal_of_the_future_is_refused_for_it_may_be_hard() -> None:
    with pytest.raises(MalformedInput, match="unknown goal gentle"):
        goals_from_json({"gentle": True})


@pytest.mark.parametrize("document", [{"remove_brokers": "x"}, {"tolerance": "1"}, {"topics": 3}])
def test_goals_of_the_wrong_shape_are_refused(document: dict[str, Any]) -> None:
    with pytest.raises(MalformedInput, match="not the goals of a plan"):
        goals_from_json(document)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"weights": {"dsk": 1}}, "Unknown weight dsk; use one of disk, in, out"),
        ({"limits": {"leaders": 1}}, "Unknown limit leaders"),
        ({"tolerance": -0.1}, "numbers from 0"),
        ({"tolerance": float("nan")}, "numbers from 0"),
        ({"max_bytes": -1}, "max bytes is -1"),
        ({"moves_each_way": 0}, "above 0"),
        ({"limits": {"disk": 0}}, "above 0; write disk=0.9"),
        ({"topics": "("}, "is not a valid pattern"),
        ({"topics": "(?=a)b"}, "patterns have RE2's syntax, without look-around"),
        ({"exclude_topics": r"(a)\1"}, "without look-around and backreferences"),
        ({"replication_factor": {"((.{99}){99}){99}": 2}}, "is not a valid pattern"),
        ({"topics": "\ud800"}, "not Unicode text"),
        ({"replication_factor": {"a": 0}}, "at least 1"),
        ({"remove_brokers": {1}, "exclude_brokers": {1}}, "Broker 1 is in both --remove-brokers"),
        (
            {"remove_brokers": {1}, "add_brokers": (NewBroker(1),)},
            "in both --add-brokers and --remove-brokers",
        ),
        ({"leaders_only": True, "remove_brokers": {1}}, "moves no data, and broker 1 is to be"),
        ({"leaders_only": True, "replication_factor": {"a": 2}}, "--replication-factor needs some"),
    ],
)
def test_goals_that_make_no_sense_are_refused(asked: dict[str, Any], said: str) -> None:
    sets: dict[str, Any] = {k: frozenset(v) if isinstance(v, set) else v for k, v in asked.items()}
    with pytest.raises(InvalidRequest, match=said.replace("(", r"\(")):
        Goals(**sets)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["([a-z]+)+1", "(a|a)*b", "(.*){30}1", "((a?){30}){30}b"])
def test_no_pattern_takes_more_than_linear_time(pattern: str) -> None:
    snapshot = cluster([broker(1)], {"a" * 249: [([1], 1)]})
    with pytest.raises(UnknownTopicOrPartition, match="No topic matches"):
        fixed_partitions(snapshot, Goals(topics=pattern))


def test_a_pattern_names_whole_topics_and_commas_part_alternatives() -> None:
    names = ("logs", "logs-2", "orders", "xlogs")
    snapshot = cluster([broker(1)], {name: [([1], 1)] for name in names})
    fixed = fixed_partitions(snapshot, Goals(exclude_topics="'orders, (?i)LOGS(-[0-9])?'"))
    assert fixed.tolist() == [True, True, True, False]
