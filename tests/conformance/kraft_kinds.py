"""Vector kind `kraft`: scenarios played by Kafka's own QuorumController, played again by ours.

Codes, fields and records are compared exactly; differing message texts are counted apart.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.conformance.compare import Case, Runner, difference
from tests.conformance.kraft_player import Player

TEXTS: Counter[str] = Counter()
"""How many message texts were the same, and how many differed."""

MESSAGE = "message"


def run_kraft(case: Case) -> str | None:
    """Play a case, and tell the first difference."""
    player = Player(case["settings"])
    played = [player.activate()]
    played += [player.step(step["request"]) for step in case["steps"][1:]]
    for at, (step, got) in enumerate(zip(case["steps"], played, strict=True)):
        place = f"step {at} {step['request']}"
        _count_texts(step["response"], got["response"], place)
        for part in ("records", "end", "response"):
            if found := _difference(_bare(step[part]), _bare(got[part])):
                return f"{place}: {part}{found}"
    expected = by_acl_id(case.get("snapshot", player.snapshot()))
    if found := _difference(expected, by_acl_id(player.snapshot())):
        return f"snapshot{found}"
    return None


def text_line() -> str | None:
    """The figures of message texts since the last call, if any were compared."""
    if not TEXTS:
        return None
    line = f"message texts: {TEXTS['same']} same, {TEXTS['differ']} differ"
    TEXTS.clear()
    return line


def _difference(expected: Any, got: Any) -> str | None:
    if isinstance(expected, list) and isinstance(got, list):
        for at, (one, other) in enumerate(zip(expected, got, strict=False)):
            if found := difference(one, other, f"[{at}]"):
                return found
        if len(expected) != len(got):
            at = min(len(expected), len(got))
            return f"[{at}]: expected {expected[at:][:1]}, got {got[at:][:1]}"
        return None
    return difference(expected, got)


def by_acl_id(records: list[Any]) -> list[Any]:
    """Sorted ACLs: Kafka writes them in the order of random ids."""

    def order(record: Any) -> tuple[str, str]:
        kind = record["type"]
        return kind, record["data"]["id"] if kind == "AccessControlEntry" else ""

    return sorted(records, key=order)


def _bare(value: Any) -> Any:
    """A response without its message texts."""
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key != MESSAGE}
    return value


def _count_texts(expected: Any, got: Any, place: str) -> None:
    if isinstance(expected, list) and isinstance(got, list):
        for one, other in zip(expected, got, strict=False):
            _count_texts(one, other, place)
    elif isinstance(expected, dict) and isinstance(got, dict) and MESSAGE in expected:
        same = expected[MESSAGE] == got.get(MESSAGE)
        TEXTS["same" if same else "differ"] += 1
        if not same:
            wanted, found = expected[MESSAGE], got.get(MESSAGE)
            print(f"text   {place[:200]}: expected {wanted!r}, got {found!r}")


RUNNERS: dict[str, Runner] = {"kraft": run_kraft}
