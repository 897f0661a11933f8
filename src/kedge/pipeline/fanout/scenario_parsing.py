"""Parses scenarios from `--grid` and from JSON files, and encodes them for workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import product
from math import prod
from typing import Any, cast

import orjson

from kedge.errors import InvalidRequest, KedgeError, MalformedInput, MalformedJson
from kedge.pipeline.fanout.scenarios import ALL_TOPICS, Scenario

SCENARIOS_MAX = 100_000
UNCHANGED = "none"
FIELDS = ("name", "traffic", "size", "lose_racks", "add_brokers", "replication_factor")
KNOWN = (*FIELDS, "tolerance", "seed", "goals")


# ---- a grid -------------------------------------------------------------------------------------


def parse_grid(text: str) -> list[Scenario]:
    """All combinations of `axis=value,value;axis=…`; the last axis varies fastest."""
    axes: dict[str, list[dict[str, Any]]] = {}
    for piece in filter(None, map(str.strip, text.split(";"))):
        name, equals, listed = (part.strip() for part in piece.partition("="))
        if name not in AXES:
            raise InvalidRequest(f"--grid: unknown axis {name!r}", hint=f"axes: {', '.join(AXES)}")
        values = [value.strip() for value in listed.split(",") if value.strip()]
        if not equals or not values or name in axes:
            raise InvalidRequest(f"--grid: {piece!r} has no values", hint=f"write {name}=1,2")
        axes[name] = [_value(name, value) for value in values]
    if (count := prod(map(len, axes.values()))) > SCENARIOS_MAX:
        raise InvalidRequest(f"--grid: {count} scenarios", hint=f"at most {SCENARIOS_MAX}")
    if not axes:
        raise InvalidRequest("--grid: no axis given", hint=f"axes: {', '.join(AXES)}")
    return [_combined(values) for values in product(*axes.values())]


def _combined(values: tuple[dict[str, Any], ...]) -> Scenario:
    return Scenario(**{name: value for one in values for name, value in one.items()})


def _value(axis: str, text: str) -> dict[str, Any]:
    if text == UNCHANGED:
        return {}
    try:
        return AXES[axis](text)
    except ValueError:
        raise InvalidRequest(f"--grid: {axis}={text} is not a number") from None


def _factor(text: str) -> dict[str, Any]:
    pattern, colon, number = text.rpartition(":")
    return {"replication_factor": {pattern if colon else ALL_TOPICS: int(number)}}


AXES: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "traffic": lambda text: {"traffic": float(text)},
    "size": lambda text: {"size": float(text)},
    "lose-rack": lambda text: {"lose_racks": tuple(text.split("+"))},
    "add-brokers": lambda text: {"add_brokers": int(text)},
    "replication-factor": _factor,
    "tolerance": lambda text: {"tolerance": float(text)},
    "seed": lambda text: {"seed": int(text)},
}


# ---- JSON ---------------------------------------------------------------------------------------


def parse_scenarios(data: bytes) -> list[Scenario]:
    """Parse a JSON file: a list of objects, or an object with the list in `scenarios`."""
    try:
        document: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise MalformedInput(f"not JSON ({error})") from error
    if isinstance(document, dict):
        document = cast("dict[str, Any]", document).get("scenarios")
    if not isinstance(document, list) or not document:
        raise MalformedJson("no list of scenarios", hint='write [{"traffic": 2}, …]')
    listed = cast("list[Any]", document)
    if len(listed) > SCENARIOS_MAX:
        raise MalformedJson(f"{len(listed)} scenarios", hint=f"at most {SCENARIOS_MAX}")
    return [_scenario(one, f"scenarios[{place}]") for place, one in enumerate(listed)]


def _scenario(given: Any, place: str) -> Scenario:
    if not isinstance(given, dict):
        raise MalformedJson("not an object", place=place)
    values = cast("dict[str, Any]", given)
    if unknown := sorted(set(values) - set(KNOWN)):
        hint = f"fields: {', '.join(KNOWN)}"
        raise MalformedJson(f"unknown field {unknown[0]!r}", place=place, hint=hint)
    try:
        return Scenario(**{name: _typed(name, value) for name, value in values.items()})
    except KedgeError as error:
        raise MalformedJson(error.what, place=place, hint=error.hint) from error
    except (TypeError, ValueError):
        wrong = ", ".join(f"{name} = {value!r}" for name, value in values.items())
        raise MalformedJson(f"not a scenario: {wrong[:200]}", place=place) from None


def _typed(name: str, value: Any) -> Any:
    """Convert a value to the type of its field; ValueError or TypeError if it does not fit."""
    if name in ("add_brokers", "seed"):
        return _whole(value)
    if name in ("traffic", "size", "tolerance"):
        return None if value is None and name == "tolerance" else _number(value)
    if name == "lose_racks":
        return tuple(_text(rack) for rack in ([value] if isinstance(value, str) else value))
    if name == "replication_factor":
        factors = cast("dict[str, Any]", value) if isinstance(value, dict) else {ALL_TOPICS: value}
        return {_text(pattern): _whole(factor) for pattern, factor in factors.items()}
    return dict(value) if name == "goals" else _text(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def scenario_to_json(scenario: Scenario) -> str:
    """Encode a scenario for a worker."""
    return orjson.dumps(asdict(scenario)).decode()


def scenario_from_json(text: str) -> Scenario:
    """Decode a scenario that `scenario_to_json` encoded."""
    return _scenario(orjson.loads(text), "scenario")
