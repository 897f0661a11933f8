"""Random scenarios without Kafka: numbers that depend on the state are filled in here.

The oracle does the same on its side; so a scenario of `tests.oracle.kraft_generator` can be played
on the code under test alone.
"""

from __future__ import annotations

from typing import Any

from kedge.metadata.decision import SUPPORTED_FEATURES
from tests.conformance.kraft_player import Player
from tests.oracle.kraft_generator import scenario

Request = dict[str, Any]


def played(seed: int) -> Player:
    """A player after the scenario of a seed."""
    given = scenario(seed)
    player = Player(given["settings"])
    player.activate()
    for request in given["steps"]:
        player.step(filled(request, player))
    return player


def filled(request: Request, player: Player) -> Request:
    """A request with the current epochs and offsets where it names none."""
    made = dict(request)
    match request["op"]:
        case "register":
            made.setdefault("features", {k: list(v) for k, v in SUPPORTED_FEATURES.items()})
            made.setdefault("dirs", [f"dir:{request['broker']}"])
            if request.get("previous_epoch") == "current":
                made["previous_epoch"] = _epoch(player, request["broker"])
        case "heartbeat":
            made["epoch"] = _given_epoch(request, player)
            made["offset"] = _offset(request, player)
        case "allocateProducerIds" | "assignDirs":
            made["epoch"] = _given_epoch(request, player)
        case "alterPartition":
            _fill_isrs(made, player)
        case _:
            pass
    return made


def _epoch(player: Player, broker: int) -> int:
    found = player.image.brokers.get(broker)
    return -1 if found is None else found.epoch


def _given_epoch(request: Request, player: Player) -> int:
    given, current = request.get("epoch"), _epoch(player, request["broker"])
    if given is None:
        return current
    return current - 1 if isinstance(given, str) else given


def _offset(request: Request, player: Player) -> int:
    found = player.image.brokers.get(request["broker"])
    registered = -1 if found is None else found.offset
    named = {"registered": registered, "before": registered - 1, "end": player.end - 1}
    given: str | int = request.get("offset", "end")
    return named[given] if isinstance(given, str) else given


def _member(player: Player, member: int | list[int]) -> list[int]:
    return member if isinstance(member, list) else [member, _epoch(player, member)]


def _fill_isrs(made: Request, player: Player) -> None:
    topics: list[Request] = []
    for topic in made["topics"]:
        found = player.image.topic_named(topic["topic"])
        partitions: list[Request] = []
        for wanted in topic["partitions"]:
            now = found.partitions.get(wanted["partition"]) if found else None
            if isinstance(made["broker"], str):
                made["broker"] = now.leader if now and now.has_leader else 1
            members = [made["broker"] if isinstance(m, str) else m for m in wanted["isr"]]
            partitions.append(
                {
                    **wanted,
                    "leader_epoch": (now.leader_epoch if now else 0)
                    + wanted.get("leader_epoch_delta", 0),
                    "partition_epoch": (now.epoch if now else 0)
                    + wanted.get("partition_epoch_delta", 0),
                    "isr": [_member(player, m) for m in members],
                }
            )
        topics.append({**topic, "partitions": partitions})
    made["topics"] = topics
    made["epoch"] = _epoch(player, made["broker"])
