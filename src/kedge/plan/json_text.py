"""Reading JSON as Kafka's tools read it.

Kafka's files pass through a streaming parser that stops after the first value and through decoders
that convert nothing. So these hold for every file of this package:

- text after the first value is ignored; of two equal keys the last wins; unknown keys are ignored;
- a number is a whole number in 32 bits, written without point or exponent: `1.0`, `"1"` and
  `null` are refused, not converted;
- `null` is a value like any other, never the same as a key that is missing;
- a text that does not parse is `MalformedInput`; one that parses to the wrong shape (an array where
  an object should be, or blanks alone) is `MalformedJson`, with the place in words.

Places are put into words only where something is wrong: files hold hundreds of thousands of lines.

Python's own reader is close to this; what it takes beyond the standard (NaN, Infinity) and what
it overlooks at the end of a bare number or word is refused here.
"""

from __future__ import annotations

import json
from typing import NoReturn, cast

from kedge.errors import MalformedInput, MalformedJson
from kedge.model.java_text import INT32_MAX, INT32_MIN

BLANKS = " \t\r\n"
LONGEST_NUMBER = 1000

Fields = dict[str, object]


def read_json(text: str, what: str) -> object:
    """The first JSON value in `text`; `what` names the file in errors."""
    if not text:
        raise MalformedInput(f"the {what} is empty")
    start = len(text) - len(text.lstrip(BLANKS))
    if start == len(text):
        raise MalformedJson(f"the {what} has blanks only, not an object")
    try:
        value, end = DECODER.raw_decode(text, start)
    except RecursionError:
        raise MalformedInput(f"the {what} is nested too deeply") from None
    except ValueError as fault:
        raise unparsable(what, text, fault) from None
    if runs_on(value, text[end : end + 1]):
        raise unparsable(what, text, json.JSONDecodeError("Unexpected text", text, end))
    return value


def runs_on(value: object, following: str) -> bool:
    """Whether a bare number or word is followed by something that makes it another token."""
    if not following or following in BLANKS or isinstance(value, (str, list, dict)):
        return False
    if value is None or isinstance(value, bool):
        return ("_" + following).isidentifier()
    return True


def unparsable(what: str, text: str, fault: ValueError) -> MalformedInput:
    """The refusal of a text that is not JSON, with line and column."""
    hint = "save it without a byte order mark" if text.startswith("\ufeff") else ""
    if isinstance(fault, json.JSONDecodeError):
        place = f"line {fault.lineno} column {fault.colno}"
        reason = fault.msg.lower()
    else:
        place, reason = "", str(fault)
    return MalformedInput(f"the {what} is not valid JSON: {reason}", place=place, hint=hint)


def as_object(value: object, place: str) -> Fields:
    """`value`, which has to be an object."""
    if isinstance(value, dict):
        return cast("Fields", value)
    raise MalformedJson(f"should be an object, is {shown(value)}", place=place)


def as_array(value: object, place: str) -> list[object]:
    """`value`, which has to be an array."""
    if isinstance(value, list):
        return cast("list[object]", value)
    raise MalformedJson(f"should be an array, is {shown(value)}", place=place)


def is_whole(value: object) -> bool:
    """Whether a value is a whole number in 32 bits; a bool is none, whatever Python says."""
    return type(value) is int and INT32_MIN <= value <= INT32_MAX


def as_whole(value: object, place: str) -> int:
    """`value`, which has to be a whole number in 32 bits."""
    if is_whole(value):
        return cast("int", value)
    raise MalformedJson(f"should be a whole number in 32 bits, is {shown(value)}", place=place)


def as_text(value: object, place: str) -> str:
    """`value`, which has to be a string."""
    if isinstance(value, str):
        return value
    raise MalformedJson(f"should be a string, is {shown(value)}", place=place)


def required(fields: Fields, name: str, place: str) -> object:
    """The value under `name`; a missing key is a fault, a null is a value."""
    if name in fields:
        return fields[name]
    raise MalformedJson(f"{name} is missing", place=place)


def inside(place: str, name: str) -> str:
    """The place of a field in an object, `partitions[3].topic`."""
    return f"{place}.{name}" if place else name


def text_field(fields: Fields, name: str, place: str) -> str:
    """A mandatory string."""
    value = required(fields, name, place)
    return value if isinstance(value, str) else as_text(value, inside(place, name))


def whole_field(fields: Fields, name: str, place: str) -> int:
    """A mandatory whole number."""
    value = required(fields, name, place)
    return cast("int", value) if is_whole(value) else as_whole(value, inside(place, name))


def array_field(fields: Fields, name: str, place: str) -> list[object]:
    """A mandatory array."""
    value = required(fields, name, place)
    if isinstance(value, list):
        return cast("list[object]", value)
    return as_array(value, inside(place, name))


def whole_list(fields: Fields, name: str, place: str) -> tuple[int, ...]:
    """A mandatory array of whole numbers."""
    items = array_field(fields, name, place)
    if not all(map(is_whole, items)):
        for i, item in enumerate(items):
            as_whole(item, f"{inside(place, name)}[{i}]")
    return cast("tuple[int, ...]", tuple(items))


def text_list(fields: Fields, name: str, place: str) -> tuple[str, ...]:
    """A mandatory array of strings."""
    items = array_field(fields, name, place)
    for i, item in enumerate(items):
        if not isinstance(item, str):
            as_text(item, f"{inside(place, name)}[{i}]")
    return cast("tuple[str, ...]", tuple(items))


def shown(value: object) -> str:
    """A value as JSON, cut to what fits in a sentence."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "…"


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _whole(text: str) -> int:
    _refuse_long_number(text)
    return int(text)


def _fraction(text: str) -> float:
    _refuse_long_number(text)
    return float(text)


def _refuse_long_number(text: str) -> None:
    """A thousand digits are a mistake or an attack; Kafka's parser stops there too."""
    if len(text) > LONGEST_NUMBER and sum(map(str.isdigit, text)) > LONGEST_NUMBER:
        raise ValueError(f"a number has more than {LONGEST_NUMBER} digits")


DECODER = json.JSONDecoder(parse_constant=_constant, parse_int=_whole, parse_float=_fraction)
