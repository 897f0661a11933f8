"""Kedge's KRaft decisions against Kafka's QuorumController, on random scenarios."""

from __future__ import annotations

import pytest

from tests.oracle.kraft import compare, hunt
from tests.oracle.kraft_generator import scenario
from tests.oracle.kraft_side import play_all

SEEDS = range(9_000, 9_040)


@pytest.mark.real
@pytest.mark.slow
def test_random_scenarios_are_decided_as_kafka_decides_them() -> None:
    assert [found for found in hunt(SEEDS) if found.reason is None] == []


@pytest.mark.real
@pytest.mark.slow
def test_a_changed_answer_is_found() -> None:
    (case,) = play_all([scenario(9_000)])
    case["steps"][-1]["end"] += 1
    found = compare(case)
    assert found is not None
    assert "end" in found[0]


def test_a_seed_is_the_whole_input() -> None:
    assert scenario(7) == scenario(7)
    assert scenario(7) != scenario(8)
