"""Answers of Kafka itself, as data: every case of the kinds that this package decides."""

from __future__ import annotations

import pytest

from tests.placement.known_answers import Case, cases, observed


@pytest.mark.parametrize("case", cases())
def test_the_answer_is_kafkas(case: Case) -> None:
    assert observed(case) == case["expected"]
