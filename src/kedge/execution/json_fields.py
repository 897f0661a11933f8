"""Reads fields of JSON lines that were written by another process: the wrong type raises."""

from __future__ import annotations

from typing import Any, cast

import orjson


def object_of(line: bytes) -> dict[str, Any]:
    """The object that a line holds."""
    value = orjson.loads(line)
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return cast("dict[str, Any]", value)


def items(value: Any) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise TypeError("not a list")
    return cast("list[Any]", value)


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def whole(value: Any) -> int:
    """A whole number that is not negative."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("not a whole number")
    return value


def whole_or_none(value: Any) -> int | None:
    """A whole number, or nothing."""
    return None if value is None else whole(value)


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def seconds_or_none(value: Any) -> float | None:
    """The same, or nothing."""
    return None if value is None else seconds(value)


def seconds(value: Any) -> float:
    """Seconds since 1970 that are a date: no report can show others."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 2e11:
        raise TypeError("not a time")
    return float(value)
