"""The reference page says what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.topics import V3_9, V4_1, ConfigKey

PAGE = (Path(__file__).parents[2] / "docs/reference/topic-configs.md").read_text("utf-8")
DEFAULTS = {None: "—", "": "(empty)", str(2**63 - 1): "2^63-1"}


def row(key: ConfigKey) -> str:
    broker = ", ".join(f"`{synonym.name}`" for synonym in key.synonyms) or "—"
    default = DEFAULTS.get(key.default, key.default)
    return f"| `{key.name}` | {key.kind.value} | {default} | {key.validity} | {broker} |"


def rows(title: str) -> list[str]:
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("Kafka 3.9", list(V3_9.keys.values())),
        (
            "Kafka 4.1: what differs",
            [key for key in V4_1.keys.values() if V3_9.keys.get(key.name) != key],
        ),
    ],
)
def test_the_page_has_every_config(title: str, keys: list[ConfigKey]) -> None:
    assert rows(title) == [row(key) for key in keys]
