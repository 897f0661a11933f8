"""Random questions put to Kafka's own classes and to ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jvm import KAFKA_3_9, JavaProcess, java
from tests.placement.clusters import ODD_RACKS
from tests.placement.known_answers import Case, observed

pytestmark = pytest.mark.real

DRIVER = Path(__file__).with_name("KafkaAnswers.java")
QUESTIONS = 300
TOKENS = (
    "0",
    "1",
    "12",
    "00",
    "2147483648",
    "٣",
    ":",
    ":",
    ",",
    " ",
    "\t",
    "\u00a0",
    "+",
    "-",
    "_",
)


@pytest.fixture(scope="module")
def kafka() -> Iterator[JavaProcess]:
    with java(KAFKA_3_9, str(DRIVER), cwd=DRIVER.parent) as process:
        yield process


def ids(luck: Random) -> list[int]:
    count = luck.choice([0, 1, 2, 3, 5, 7, 12, 20])
    return luck.sample(range(luck.choice([count, count + 3, 100_000])), count)


def ring_question(luck: Random) -> Case:
    racks: list[Any] = luck.sample(ODD_RACKS, luck.randint(1, 5))
    racks = luck.choice([[None], racks, racks, [None, *racks]])
    brokers = [{"id": i, "rack": luck.choice(racks)} for i in ids(luck)]
    start = luck.choice([0, 1, 3, 50, 12_345])
    return {
        "kind": "create",
        "brokers": brokers,
        "partitions": luck.choice([-1, 0, 1, 5, 17, 500]),
        "rf": luck.choice([0, 1, 2, 3, len(brokers), len(brokers) + 1]),
        "start": start,
        "shift": start,
        "startPartitionId": luck.choice([-1, 0, 1, 3, 12, 40, 999]),
    }


def stripe_question(luck: Random) -> Case:
    racks: list[Any] = [*luck.sample(ODD_RACKS, luck.randint(1, 4)), *[None][: luck.randint(0, 1)]]
    fenced = luck.choice([0.0, 0.2, 0.6, 1.0])
    brokers = [
        {"id": i, "rack": luck.choice(racks), "fenced": luck.random() < fenced} for i in ids(luck)
    ]
    return {
        "kind": "stripe",
        "brokers": brokers,
        "partitions": luck.choice([0, 1, 5, 17, 60]),
        "rf": luck.choice([0, 1, 2, 3, len(brokers), len(brokers) + 1]),
        "draw": luck.randrange(60),
    }


def manual_question(luck: Random) -> Case:
    tokens = TOKENS if luck.random() < 0.5 else "0123:,"
    return {"kind": "manual", "text": "".join(luck.choices(tokens, k=luck.randrange(12)))}


@pytest.mark.parametrize("question", [ring_question, stripe_question, manual_question])
def test_kafka_gives_the_same_answer(kafka: JavaProcess, question: Any) -> None:
    luck = Random(f"{question.__name__} 1")
    for _ in range(QUESTIONS):
        asked = {**question(luck), "expected": {}}
        kafka.say(json.dumps(asked))
        answer = json.loads(kafka.wait_for_line("answer ").removeprefix("answer "))
        expected = {"error": answer} if isinstance(answer, str) else {"assignment": answer}
        assert observed(asked) == expected, asked
