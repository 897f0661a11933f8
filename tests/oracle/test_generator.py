"""Scenarios from seeds, and how they are made small: what needs no JVM."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.generator import MAKERS, scenario
from tests.oracle.hunt import Finding, smaller_inputs
from tests.oracle.kafka_side import as_case

Case = dict[str, Any]


@given(st.integers(0, 10**6))
def test_a_seed_is_the_whole_scenario(seed: int) -> None:
    assert scenario(seed) == scenario(seed)


def test_every_kind_of_step_is_drawn() -> None:
    drawn = {step["op"] for seed in range(300) for step in scenario(seed)["steps"]}
    assert drawn == {maker.__name__ for maker in MAKERS}


@given(st.integers(0, 10**6))
def test_a_smaller_scenario_has_something_less(seed: int) -> None:
    whole = scenario(seed)
    for smaller in smaller_inputs(whole):
        assert size(smaller) < size(whole)


def size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(1 + size(v) for v in value.values())
    if isinstance(value, list):
        return sum(1 + size(v) for v in value)
    return 1


def finding(difference: str, accidents: list[list[str]], *steps: Case) -> Finding:
    played: Case = {"steps": list(steps), "after": []}
    case = {**as_case({"brokers": [1]}, played), "accidents": accidents}
    return Finding(0, case, difference)


def test_what_differs_before_an_accident_is_not_excused_by_it() -> None:
    accidents: list[list[str]] = [[], [], ["NullPointerException: Error processing event"]]
    steps: list[Case] = [{"op": "broker_up", "broker": 2}, {"op": "auto_rebalance"}]
    assert finding("after step 2:auto_rebalance: x", accidents, *steps).reason is not None
    before = {"after": [{"sets": {"topics_to_be_deleted": []}}] * 3}
    early = finding("after step 1:broker_up: x", accidents, *steps)
    early.case["expected"] = before
    for seen in before["after"]:
        seen["sets"]["being_reassigned"] = []
    assert early.reason is None


def test_a_scenario_that_kafka_cannot_end_is_no_difference_of_ours() -> None:
    case = as_case({"brokers": []}, {"failed": "the controller never comes to rest"})
    assert Finding(0, case, "Kafka failed").reason == "Kafka never comes to rest"
