"""Answers of Kafka itself, as data: every case of the kinds that this package decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.placement.vector_cases import RUNNERS, Case, observed

VECTORS = Path(__file__).parent.parent / "vectors"
FILES = ("placement-examples.json", "admin-examples.json")


def cases() -> list[Any]:
    read = [c for name in FILES for c in json.loads((VECTORS / name).read_text())["cases"]]
    return [pytest.param(c, id=f"{c['kind']}-{c['id']}") for c in read if c["kind"] in RUNNERS]


@pytest.mark.parametrize("case", cases())
def test_the_answer_is_kafkas(case: Case) -> None:
    assert observed(case) == case["expected"]
