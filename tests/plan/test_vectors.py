"""Known answers of Kafka 3.9.1 for the kinds that this package decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedge.errors import KedgeError, MalformedInput, MalformedJson, MalformedNumber, RefusedCommand
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import (
    cancel,
    move_map,
    parse_broker_list,
    parse_execute,
    parse_topics_to_move,
    reassign_to,
    throttles_of,
    unneeded_replicas,
)

VECTORS = Path(__file__).parent.parent / "vectors"
NAMES: dict[type[KedgeError], str] = {
    MalformedInput: "AdminOperation",
    MalformedJson: "JsonMapping",
    MalformedNumber: "NumberFormat",
    RefusedCommand: "AdminCommandFailed",
}


def cases(file: str, kind: str) -> list[Any]:
    listed = json.loads((VECTORS / f"{file}.json").read_text())["cases"]
    chosen = [pytest.param(case, id=case["id"]) for case in listed if case["kind"] == kind]
    assert chosen, f"no {kind} in {file}"
    return chosen


def key(row: dict[str, Any]) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def state(row: dict[str, Any]) -> ReplicaAssignment:
    return ReplicaAssignment(tuple(row["replicas"]), tuple(row["adding"]), tuple(row["removing"]))


def shown(now: ReplicaAssignment) -> dict[str, Any]:
    lists = {name: list(getattr(now, name)) for name in ("replicas", "adding", "removing")}
    return lists | {
        "origin": list(now.origin),
        "target": list(now.target),
        "in_progress": now.in_progress,
    }


@pytest.mark.parametrize("case", cases("admin-examples", "execute_json"))
def test_a_reassignment_file_reads_as_in_kafka(case: dict[str, Any]) -> None:
    try:
        file = parse_execute(case["text"])
    except KedgeError as error:
        found: dict[str, Any] = {"error": NAMES[type(error)]}
    else:
        found = {
            "partitions": {str(tp): list(ids) for tp, ids in file.targets.items()},
            "log_dirs": {str(replica): path for replica, path in file.log_dir_moves.items()},
        }
    assert found == case["expected"]


@pytest.mark.parametrize("case", cases("admin-examples", "generate_args"))
def test_the_arguments_of_generate_read_as_in_kafka(case: dict[str, Any]) -> None:
    try:
        brokers = parse_broker_list(case["broker_list"])
        found: dict[str, Any] = {
            "brokers": list(brokers),
            "topics": list(parse_topics_to_move(case["text"])),
        }
    except KedgeError as error:
        found = {"error": NAMES[type(error)]}
    assert found == case["expected"]


@pytest.mark.parametrize("case", cases("admin-examples", "throttle"))
def test_throttles_are_those_of_kafka(case: dict[str, Any]) -> None:
    active = {key(row): state(row) for row in case["ongoing"]}
    proposed = {key(row): tuple(row["replicas"]) for row in case["proposed"]}
    current = {key(row): tuple(row["replicas"]) for row in case["current"]}
    found = throttles_of(move_map(active, proposed, current))
    assert {
        "leader": found.leader,
        "follower": found.follower,
        "brokers": list(found.brokers),
    } == case["expected"]


@pytest.mark.parametrize("case", cases("admin-examples", "reassign_to"))
def test_moves_that_replace_each_other_give_the_states_of_kafka(case: dict[str, Any]) -> None:
    now = ReplicaAssignment(tuple(case["initial"]))
    steps: list[dict[str, Any]] = []
    for target in case["targets"]:
        now = reassign_to(now, [BrokerId(broker) for broker in target])
        steps.append(shown(now))
    assert {"steps": steps} == case["expected"]


@pytest.mark.parametrize("case", cases("controller-examples", "reassign_to"))
def test_a_move_or_cancel_gives_the_state_of_kafka(case: dict[str, Any]) -> None:
    current, target = state(case["input"]["current"]), case["input"]["target"]
    result = cancel(current) if target is None else reassign_to(current, target)
    now, then = shown(current), shown(result)
    assert {
        "current_origin": now["origin"],
        "current_target": now["target"],
        "current_in_progress": now["in_progress"],
        "result": {name: then[name] for name in ("replicas", "adding", "removing")},
        "result_in_progress": then["in_progress"],
        "result_target": then["target"],
        "unneeded_replicas_to_stop": list(unneeded_replicas(current, result)),
    } == case["expected"]
