"""Kedge's controller against Kafka's, on the vectors' scenarios and on random ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.conformance.controller_kinds import first_difference
from tests.conformance.scenario_view import Told, in_order
from tests.oracle.hunt import Finding, compare, hunt
from tests.oracle.kafka_side import Oracle, oracle

pytestmark = pytest.mark.real

VECTORS = Path(__file__).parent.parent / "vectors"
SEEDS = range(9000, 9040)

Case = dict[str, Any]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Oracle]:
    with oracle() as started:
        yield started


def scenarios(name: str) -> list[Case]:
    cases: list[Case] = orjson.loads((VECTORS / name).read_bytes())["cases"]
    return [case for case in cases if case["kind"] == "scenario"]


def part(wanted: Case, seen: Case) -> str | None:
    """Where two views of one step differ, by the rules of the vectors."""
    state = first_difference(in_order(state_of(wanted)), in_order(state_of(seen)))
    return state or tell(wanted).first_difference(tell(seen), tell(wanted).leaving_together())


def state_of(after: Case) -> Case:
    return {key: value for key, value in after.items() if key != "requests"}


def tell(after: Case) -> Told:
    told = Told()
    for request in after["requests"]:
        for broker in request["to"]:
            told.add(broker, request)
    return told


@pytest.mark.parametrize("name", ["controller-examples.json", "controller-found.json"])
def test_the_oracle_says_what_the_vectors_say(kafka: Oracle, name: str) -> None:
    wanted = scenarios(name)
    for case, played in zip(wanted, kafka.play_all([c["input"] for c in wanted]), strict=True):
        assert played["input"] == case["input"], case["id"]
        seen = played["expected"]["after"]
        for before, after in zip(case["expected"]["after"], seen, strict=True):
            assert part(before, after) is None, f"{case['id']} after {before['step']}"


def test_both_controllers_play_random_scenarios_alike(kafka: Oracle) -> None:
    found = [finding for finding in hunt(kafka, SEEDS) if finding is not None]
    assert [told(finding) for finding in found if finding.reason is None] == []


def told(finding: Finding) -> str:
    return f"python -m tests.oracle --first {finding.seed} --seeds 1: {finding.difference}"


def test_a_wrong_answer_is_noticed(kafka: Oracle) -> None:
    case = kafka.play({"brokers": [1, 2], "topics": {"t": {"0": [1, 2]}}, "steps": []})
    assert compare(case) is None
    case["expected"]["after"][0]["partitions"]["t-0"]["isr"] = [2, 1]
    assert compare(case) == "after step start: partitions.t-0.isr: [1, 2], expected [2, 1]"
