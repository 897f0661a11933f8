"""Parses and prints config values exactly as Kafka does.

Kafka reads values with Java's own parsers, which differ from Python's in ways that matter when the
same text must be accepted or refused by both:

    trim        cuts U+0000 to U+0020 at both ends and nothing else: a no-break space stays
    INT, LONG   a sign and decimal digits of any script, one UTF-16 unit each: `٣` and `+5` are
                numbers, `1_0` and the mathematical `𝟓` are not; 32 and 64 bits
    DOUBLE      ASCII only; `1d`, `.5f`, `0x1p-3`, `NaN` and `Infinity` are numbers, `nan` is not
    BOOLEAN     `true` and `false` whatever the case, letter by letter (so `falſe` is false)
    LIST        split at commas with ASCII blanks around them, empty pieces kept; no text, no items
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from kedge.errors import MalformedInput, MalformedNumber
from kedge.model.java_text import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, trim, whole_number

Value: TypeAlias = bool | int | float | str | tuple[str, ...]

_COMMA = re.compile(r"[ \t\n\v\f\r]*,[ \t\n\v\f\r]*")
_DECIMAL = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEX = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
)
_NAMED = re.compile(r"([+-]?)(NaN|Infinity)")


class ConfigType(StrEnum):
    """The types that topic configs have."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"


def parse_type(text: str, kind: ConfigType) -> Value:
    """The value that a text has as this type, or MalformedInput."""
    trimmed = trim(text)
    match kind:
        case ConfigType.BOOLEAN:
            return _boolean(trimmed)
        case ConfigType.STRING:
            return trimmed
        case ConfigType.INT:
            return _whole(trimmed, INT32_MIN, INT32_MAX)
        case ConfigType.LONG:
            return _whole(trimmed, INT64_MIN, INT64_MAX)
        case ConfigType.DOUBLE:
            return _double(trimmed)
        case ConfigType.LIST:
            return split_list(trimmed)


def split_list(text: str) -> tuple[str, ...]:
    """The items of a list; empty pieces are items too, but the empty text has none."""
    trimmed = trim(text)
    return tuple(_COMMA.split(trimmed)) if trimmed else ()


def show(value: Value) -> str:
    """A value as Kafka prints it."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return _show_double(value)
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


def _boolean(text: str) -> bool:
    folded = "".join(_fold(letter) for letter in text)
    if folded not in ("true", "false"):
        raise MalformedInput(f"{text!r} is neither true nor false")
    return folded == "true"


def _fold(letter: str) -> str:
    # Java compares letters by their upper case first: the long ſ is an S, so it reads as an s.
    upper = letter.upper()
    return upper.lower() if len(upper) == 1 else letter


def _whole(text: str, low: int, high: int) -> int:
    number = whole_number(text, low, high)
    if number is None:
        raise MalformedNumber(f"{text!r} is not a whole number from {low} to {high}")
    return number


def _double(text: str) -> float:
    if named := _NAMED.fullmatch(text):
        return float(f"{named[1]}{named[2]}")
    if decimal := _DECIMAL.fullmatch(text):
        return float(decimal[1])
    if hexadecimal := _HEX.fullmatch(text):
        return _from_hex(hexadecimal[1])
    raise MalformedNumber(f"{text!r} is not a number")


def _from_hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return float("-inf") if text.startswith("-") else float("inf")


def _show_double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    exact = Decimal(repr(value)).normalize()
    head, *tail = map(str, exact.as_tuple().digits)
    return f"{'-' if value < 0 else ''}{head}.{''.join(tail) or '0'}E{exact.adjusted()}"
