"""A value in a JSON document together with its path, so that errors name the position.

    JsonPath(document).field("brokers").item(2).field("id").integer()
        MalformedJson: brokers[2].id: expected a whole number, got true

A null field counts as absent. Fields that are not read are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import orjson

from kedge.errors import MalformedJson
from kedge.model.java_text import INT32_MAX, INT64_MAX


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A value of a JSON document and its path; the path of the document itself is ''."""

    value: Any
    place: str = ""

    def malformed(self, what: str, hint: str = "") -> MalformedJson:
        """Return the error that names this path."""
        return MalformedJson(what, place=self.place, hint=hint)

    # ---- navigation -----------------------------------------------------------------------------

    def field(self, name: str) -> JsonPath:
        """Return a required field."""
        found = self.optional(name)
        if found is None:
            raise JsonPath(None, self._place_of(name)).malformed("missing")
        return found

    def optional(self, name: str) -> JsonPath | None:
        """Return a field, or None where it is absent or null."""
        value = self.object().get(name)
        return None if value is None else JsonPath(value, self._place_of(name))

    def items(self) -> Iterator[JsonPath]:
        """Iterate over the elements of a list."""
        values = self._typed(list, "a list")
        return (JsonPath(value, f"{self.place}[{i}]") for i, value in enumerate(values))

    def _place_of(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    # ---- values ---------------------------------------------------------------------------------

    def object(self) -> dict[str, Any]:
        """Return the value as an object."""
        return cast("dict[str, Any]", self._typed(dict, "an object"))

    def text(self) -> str:
        """Return the value as a string."""
        return cast("str", self._typed(str, "text"))

    def number(self) -> float:
        """Return the value as a number; booleans are not numbers."""
        if type(self.value) not in (int, float):
            raise self.malformed(f"expected a number, got {shown(self.value)}")
        return float(self.value)

    def integer(self, largest: int = INT64_MAX) -> int:
        """Return the value as an integer that a signed type can hold."""
        value = cast("int", self._typed(int, "a whole number"))
        if not -largest - 1 <= value <= largest:
            raise self.malformed(f"{value} does not fit in {largest.bit_length() + 1} bits")
        return value

    def int32(self) -> int:
        """Return the value as a 32-bit integer: an id."""
        return self.integer(INT32_MAX)

    def _typed(self, wanted: type, name: str) -> Any:
        # exactly this type: in Python, true is an instance of int
        if type(self.value) is not wanted:
            raise self.malformed(f"expected {name}, got {shown(self.value)}")
        return self.value


def shown(value: object) -> str:
    """Return a value for an error message: short ones as JSON, others by their type."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = orjson.dumps(value).decode()
    return text if len(text) <= 40 else f"{text[:40]}…"


def parse_document(data: bytes) -> JsonPath:
    """Parse the JSON object in some bytes."""
    if not data.strip():
        raise MalformedJson("the file is empty")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        reason = error.msg.partition(": line")[0]
        raise MalformedJson(
            f"not JSON at line {error.lineno}, column {error.colno}: {reason}"
        ) from error
    path = JsonPath(document)
    path.object()
    return path
