"""A place in a JSON document, which knows its own name: how a fault can say where it is.

    Cursor(document).field("brokers").item(2).field("id").whole()
        MalformedJson: brokers[2].id: expected a whole number, got true

A field that is null counts as absent. Fields that nobody asks for are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import orjson

from kedge.errors import MalformedJson
from kedge.model.columns import INT32_MAX

INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Cursor:
    """A value of a JSON document and where it is; the document itself is at ''."""

    value: Any
    place: str = ""

    def refuse(self, what: str, hint: str = "") -> MalformedJson:
        """The error that names this place."""
        return MalformedJson(what, place=self.place, hint=hint)

    # ---- going down -----------------------------------------------------------------------------

    def field(self, name: str) -> Cursor:
        """A field that must be there."""
        found = self.optional(name)
        if found is None:
            raise Cursor(None, self._place_of(name)).refuse("missing")
        return found

    def optional(self, name: str) -> Cursor | None:
        """A field, or None where it is absent or null."""
        value = self.object().get(name)
        return None if value is None else Cursor(value, self._place_of(name))

    def items(self) -> Iterator[Cursor]:
        """The elements of a list."""
        values = self._typed(list, "a list")
        return (Cursor(value, f"{self.place}[{i}]") for i, value in enumerate(values))

    def _place_of(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    # ---- values ---------------------------------------------------------------------------------

    def object(self) -> dict[str, Any]:
        """The value as an object."""
        return cast("dict[str, Any]", self._typed(dict, "an object"))

    def text(self) -> str:
        """The value as text."""
        return cast("str", self._typed(str, "text"))

    def number(self) -> float:
        """The value as a number; true and false are none."""
        if type(self.value) not in (int, float):
            raise self.refuse(f"expected a number, got {shown(self.value)}")
        return float(self.value)

    def whole(self, largest: int = INT64_MAX) -> int:
        """The value as a whole number that a signed integer can hold."""
        value = cast("int", self._typed(int, "a whole number"))
        if not -largest - 1 <= value <= largest:
            raise self.refuse(f"{value} does not fit in {largest.bit_length() + 1} bits")
        return value

    def whole32(self) -> int:
        """The value as a whole number of 32 bits: an id."""
        return self.whole(INT32_MAX)

    def _typed(self, wanted: type, name: str) -> Any:
        # Exactly this type: in Python, true is an instance of int.
        if type(self.value) is not wanted:
            raise self.refuse(f"expected {name}, got {shown(self.value)}")
        return self.value


def shown(value: object) -> str:
    """A value for a sentence: short ones as JSON, others by what they are."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = orjson.dumps(value).decode()
    return text if len(text) <= 40 else f"{text[:40]}…"


def parse_document(data: bytes) -> Cursor:
    """The JSON object that some bytes hold."""
    if not data.strip():
        raise MalformedJson("the file is empty")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        reason = error.msg.partition(": line")[0]
        raise MalformedJson(
            f"not JSON at line {error.lineno}, column {error.colno}: {reason}"
        ) from error
    cursor = Cursor(document)
    cursor.object()
    return cursor
