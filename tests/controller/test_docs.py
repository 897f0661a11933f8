"""The pictures in the docs are the tables of the code."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.states import PARTITION_MAY_COME_FROM, REPLICA_MAY_COME_FROM

PAGE = Path(__file__).parents[2] / "docs/concepts/controller.md"


def _diagram(may_come_from: Mapping[Any, frozenset[Any]]) -> str:
    states: list[Enum] = list(may_come_from)
    moves = [
        f"    {before.value} --> {after.value}"
        for before in states
        for after in states
        if before in may_come_from[after]
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", *moves, "```"])


@pytest.mark.parametrize(
    ("name", "table"),
    [("partition", PARTITION_MAY_COME_FROM), ("replica", REPLICA_MAY_COME_FROM)],
)
def test_the_picture_shows_every_legal_move(name: str, table: Mapping[Any, frozenset[Any]]) -> None:
    after_mark = PAGE.read_text("utf-8").partition(f"<!-- {name} states -->\n")[2]
    assert after_mark.startswith(_diagram(table) + "\n")
