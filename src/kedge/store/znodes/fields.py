"""JSON read with suspicion and written as Kafka's library writes it.

`Fields` hands out the fields of one JSON object; what is missing or of the wrong type becomes a
MalformedJson that names the node and the field. Fields that nobody asks for are ignored, as Kafka
ignores them: a newer release may have added them.
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
    """JSON without blanks, keys in the order given."""
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


def load(data: bytes | None, place: str) -> Fields:
    """The fields of the one object that a node holds."""
    if data is None:
        raise MalformedJson("no data where JSON is expected", place=place)
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise MalformedJson(f"not JSON: {error}", place=place) from error
    return Fields(value, place)


class Fields:
    """One JSON object."""

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
        """The `version`, at least 1 and at most the newest that can be read."""
        found = self.whole("version")
        if found < 1 or (newest is not None and found > newest):
            raise MalformedJson(f"version {found} is not known", place=self.place)
        return found

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        found = self._get(name, default)
        if type(found) is not int:
            raise self._wrong(name, "a whole number")
        return found

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        found = self._get(name, default)
        if not isinstance(found, str):
            raise self._wrong(name, "a text")
        return found

    def object(self, name: str) -> Fields:
        """An object; an absent one is empty."""
        return Fields(self._value.get(name) or {}, f"{self.place}, {name}")

    def objects(self, name: str) -> list[Fields]:
        """A list of objects."""
        found = self._list(name)
        return [Fields(each, f"{self.place}, {name}[{i}]") for i, each in enumerate(found)]

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        found = self._list(name)
        if not all(isinstance(each, str) for each in found):
            raise self._wrong(name, "a list of texts")
        return found

    def brokers(self, name: str) -> tuple[BrokerId, ...]:
        """A list of broker ids."""
        found = self._list(name)
        if not all(type(each) is int for each in found):
            raise self._wrong(name, "a list of broker ids")
        return tuple(map(BrokerId, found))

    def whole_text(self, name: str) -> int:
        """A whole number that Kafka writes as a text."""
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
