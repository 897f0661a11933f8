"""Known answers of the real classes: names, collisions, configs, the create chain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedge.errors import KedgeError
from kedge.model import BrokerId
from kedge.topics import (
    collides,
    has_collision_chars,
    is_internal,
    validate_configs,
    validate_name,
    validate_new_topic,
)

FILE = Path(__file__).parents[1] / "vectors" / "admin-examples.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["cases"]


def topic_name(case: dict[str, Any]) -> dict[str, Any]:
    name = case["name"]
    validate_name(name)
    return {
        "ok": True,
        "collision_chars": has_collision_chars(name),
        "internal": is_internal(name),
    }


def collision(case: dict[str, Any]) -> dict[str, Any]:
    return {"collides": collides(case["a"], case["b"])}


def topic_config(case: dict[str, Any]) -> dict[str, Any]:
    validate_configs(case["configs"])
    return {"ok": True}


def create_chain(case: dict[str, Any]) -> dict[str, Any]:
    validate_new_topic(
        case["topic"],
        {int(pid): [BrokerId(b) for b in ids] for pid, ids in case["assignment"].items()},
        case["configs"],
        existing=case["existing_topics"],
        marked=case["marked_for_deletion"],
    )
    return {"ok": True}


KINDS = {
    "topic_name": topic_name,
    "collision": collision,
    "topic_config": topic_config,
    "validate_create": create_chain,
}


@pytest.mark.parametrize(
    "case", [c for c in CASES if c["kind"] in KINDS], ids=lambda c: f"{c['kind']}-{c['id']}"
)
def test_the_known_answer_is_given(case: dict[str, Any]) -> None:
    try:
        answer = KINDS[case["kind"]](case)
    except KedgeError as refusal:
        answer = {"error": type(refusal).__name__}

    assert answer == case["expected"]


def test_every_kind_has_vectors() -> None:
    assert KINDS.keys() <= {case["kind"] for case in CASES}
