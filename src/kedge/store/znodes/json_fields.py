"""Reads JSON objects field by field with type checks, and writes JSON as Kafka's library does.

`JsonFields` returns the fields of one JSON object; a missing field or one of the wrong type is a
MalformedJson that names the node and the field. Unknown fields are ignored, as Kafka ignores them:
a newer release may have added them.
"""

from __future__ import annotations

import re
from typing import Any, cast

import orjson

from kedge.errors import MalformedJson
from kedge.model import BrokerId

_ESCAPED = re.compile(rb"\\(?:u[0-9a-f]{4}|.)")
_BEYOND_16_BITS = re.compile(r"[\U00010000-\U0010ffff]")


def dump(value: dict[str, Any]) -> bytes:
    """Encode JSON without blanks, keys in the sequence given."""
    out = orjson.dumps(value)
    if b"\\u" in out:
        out = _ESCAPED.sub(_upper_hex, out)
    if not out.isascii():
        out = _BEYOND_16_BITS.sub(_surrogates, out.decode()).encode()
    return out


def _upper_hex(escape: re.Match[bytes]) -> bytes:
    found = escape[0]
    return b"\\u" + found[2:].upper() if found.startswith(b"\\u") else found


def _surrogates(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be")
    return f"\\u{units[:2].hex().upper()}\\u{units[2:].hex().upper()}"


def load(data: bytes | None, place: str) -> JsonFields:
    """Decode the one JSON object of a node."""
    if data is None:
        raise MalformedJson("no data where JSON is expected", place=place)
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise MalformedJson(f"not JSON: {error}", place=place) from error
    return JsonFields(value, place)


class JsonFields:
    """One JSON object and its position for error messages."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise MalformedJson("not a JSON object", place=place)
        self._value = cast("dict[str, Any]", value)
        self.place = place

    def __contains__(self, name: str) -> bool:
        return self._value.get(name) is not None

    def __iter__(self) -> Any:
        return iter(self._value)

    def version(self, newest: int | None = None) -> int:
        """Return `version`, at least 1 and at most the newest that can be read."""
        found = self.integer("version")
        if found < 1 or (newest is not None and found > newest):
            raise MalformedJson(f"version {found} is not known", place=self.place)
        return found

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer field."""
        found = self._get(name, default)
        if type(found) is not int:
            raise self._wrong(name, "a integer number")
        return found

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string field."""
        found = self._get(name, default)
        if not isinstance(found, str):
            raise self._wrong(name, "a text")
        return found

    def object(self, name: str) -> JsonFields:
        """Return an object field; an absent one is empty."""
        return JsonFields(self._value.get(name) or {}, f"{self.place}, {name}")

    def objects(self, name: str) -> list[JsonFields]:
        """Return a list of objects."""
        found = self._list(name)
        return [JsonFields(each, f"{self.place}, {name}[{i}]") for i, each in enumerate(found)]

    def texts(self, name: str) -> list[str]:
        """Return a list of strings."""
        found = self._list(name)
        if not all(isinstance(each, str) for each in found):
            raise self._wrong(name, "a list of texts")
        return found

    def brokers(self, name: str) -> tuple[BrokerId, ...]:
        """Return a list of broker ids."""
        found = self._list(name)
        if not all(type(each) is int for each in found):
            raise self._wrong(name, "a list of broker ids")
        return tuple(map(BrokerId, found))

    def integer_text(self, name: str) -> int:
        """Return an integer that Kafka writes as a string."""
        found = self.text(name)
        try:
            return int(found)
        except ValueError:
            raise self._wrong(name, "a number as text") from None

    def _list(self, name: str) -> list[Any]:
        found = self._get(name, None)
        if not isinstance(found, list):
            raise self._wrong(name, "a list")
        return cast("list[Any]", found)

    def _get(self, name: str, default: Any) -> Any:
        found = self._value.get(name, default)
        if found is None:
            raise MalformedJson(f"field {name!r} is missing", place=self.place)
        return found

    def _wrong(self, name: str, wanted: str) -> MalformedJson:
        return MalformedJson(f"field {name!r} is not {wanted}", place=self.place)
