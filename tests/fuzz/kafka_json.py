"""The JSON files of Kafka's tools: reassignments, topics to move, elections."""

from __future__ import annotations

from random import Random
from typing import Any

from kedge.plan import (
    parse_election,
    parse_execute,
    parse_reassignment,
    parse_topics_to_move,
    reassignment_text,
)
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_json


def fuzz(seed: int) -> None:
    """Read a damaged file as each of the three kinds."""
    random = Random(seed)
    data = mutated_json(random.choice((_moves, _topics, _election))(random), random)
    text = data.decode(errors="replace")
    with only_refusals():
        reassignment_text(parse_reassignment(text).targets)
    for parse in (parse_execute, parse_topics_to_move, parse_election):
        with only_refusals():
            parse(text)


def _moves(random: Random) -> dict[str, Any]:
    partitions: list[dict[str, Any]] = [
        {"topic": f"t{n}", "partition": n, "replicas": random.sample(range(5), 3)}
        for n in range(random.randint(1, 4))
    ]
    for each in partitions:
        if random.random() < 0.5:
            each["log_dirs"] = [random.choice(("any", "/data/0")) for _ in each["replicas"]]
    return {"version": 1, "partitions": partitions}


def _topics(random: Random) -> dict[str, Any]:
    return {"topics": [{"topic": f"t{n}"} for n in range(random.randint(1, 4))], "version": 1}


def _election(random: Random) -> dict[str, Any]:
    count = random.randint(1, 4)
    return {"partitions": [{"topic": f"t{n}", "partition": n} for n in range(count)]}


if __name__ == "__main__":
    start(fuzz)
