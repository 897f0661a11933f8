"""Comparing what came with what was expected, and naming the first difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kedge.errors import KedgeError
from kedge.placement import Placement
from tests.conformance.errors import kafka_name

Case = dict[str, Any]
Runner = Callable[[Case], str | None]  # None, or the first difference as one line


def judged(case: Case, compute: Callable[[], dict[str, Any]]) -> str | None:
    """Run a computation whose refusal is an answer too, and compare with `expected`."""
    try:
        got = compute()
    except KedgeError as error:
        got = {"error": kafka_name(error)}
    return difference(case["expected"], got)


def difference(expected: Any, got: Any, place: str = "") -> str | None:
    """The first place where two JSON-like values differ, or None."""
    if isinstance(expected, dict) and isinstance(got, dict):
        keys = [*expected, *(key for key in got if key not in expected)]
        for key in keys:
            if key not in got or key not in expected:
                return f"{place}.{key}: expected {_of(expected, key)}, got {_of(got, key)}"
            if found := difference(expected[key], got[key], f"{place}.{key}"):
                return found
        return None
    return None if expected == got else f"{place}: expected {expected!r}, got {got!r}"


def assignment_answer(expected: Mapping[str, Any], placement: Placement) -> dict[str, Any]:
    """A placement in the form of the expectation: in full, or by digest for large ones."""
    if "sha256" not in expected:
        return {"assignment": {str(p): list(ids) for p, ids in placement.as_mapping().items()}}
    lists = placement.as_mapping()
    answer: dict[str, Any] = {"sha256": placement.digest(), "count": len(lists)}
    if "sample" in expected:
        answer["sample"] = {p: list(lists[int(p)]) for p in expected["sample"] if int(p) in lists}
    for name in ("leaders_per_broker", "replicas_per_broker"):
        if name in expected:
            counts = getattr(placement, name)()
            # a broker with nothing may be listed with 0 or not at all
            zeros = {broker: 0 for broker, count in expected[name].items() if count == 0}
            answer[name] = zeros | {str(broker): count for broker, count in counts.items()}
    return {key: answer.get(key) for key in expected}


def _of(values: Mapping[str, Any], key: str) -> str:
    return repr(values[key]) if key in values else "nothing"
