"""Differences that are meant, or that are no rule of Kafka's: docs/concepts/differences.md.

Each test says whether a scenario got into such a place before the two controllers parted. A
difference that none of them explains is a bug of Kedge's, or a place for a new test here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]
Excuse = Callable[[Case, int], bool]  # the case, and the number of the step that differs

_STEP = re.compile(r"after step (?:(\d+):|start)")


def why(case: Case, difference: str) -> str | None:
    """The name of the quirk that explains a difference."""
    if "failed" in case:
        return "Kafka never comes to rest"
    found = _STEP.match(difference)
    number = int(found[1] or 0) if found else 0
    return next((name for name, excuses in EXCUSES.items() if excuses(case, number)), None)


def stumbled(case: Case, number: int) -> bool:
    """An event of Kafka's died of an exception that it does not expect."""
    return any(case["accidents"][: number + 1])


def fenced(case: Case, number: int) -> bool:
    """The epoch was raised under a controller that keeps its role: requests stay in its batches."""
    return any(step.get("only_epoch") for step in case["input"]["steps"][: number - 1])


def deleted_on_the_move(case: Case, number: int) -> bool:
    """Several moves of one topic that is to be deleted go on in one event, and each may start the
    deletion of the whole topic: Kafka takes them in the order of a hash table."""
    moving = Counter(name.rpartition("-")[0] for name in moves_before(case, number))
    given, now = case["input"], case["expected"]["after"][number]
    queued = {*given.get("delete_topics", ()), *now["sets"]["topics_to_be_deleted"]}
    return any(moving[topic] > 1 for topic in queued)


def moves_before(case: Case, number: int) -> set[str]:
    """The partitions that were on the move before a step."""
    given, seen = case["input"], case["expected"]["after"]
    if number > 0 and given["steps"][number - 1]["op"] != "failover":
        return set(seen[number - 1]["sets"]["being_reassigned"])
    stored = seen[number - 1]["zk"]["topics"] if number > 0 else given.get("topics", {})
    return {f"{topic}-{p}" for topic, value in stored.items() for p in moving_of(value)}


def moving_of(topic: Case) -> set[str]:
    """The partitions of a topic that are on the move, as the stage or as the tree shows them."""
    if "states" in topic:
        return {*topic["adding_replicas"], *topic["removing_replicas"]}
    described = {p: v for p, v in topic.items() if isinstance(v, dict)}
    return {p for p, v in described.items() if v.get("adding") or v.get("removing")}


EXCUSES: dict[str, Excuse] = {
    "Kafka's event died": stumbled,
    "fenced with the role kept": fenced,
    "several moves of a topic to be deleted": deleted_on_the_move,
}
