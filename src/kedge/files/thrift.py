"""Reads Thrift's compact encoding, as far as Parquet's footers and page headers use it.

A structure is read as `{field number: value}`; what a field means is the caller's matter. Damaged
bytes raise `Unreadable`. Nothing is ever larger than the bytes that it was read from.
(apache/thrift, doc/specs/thrift-compact-protocol.md)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fields = dict[int, Any]
DEPTH_MAX = 16
_LIST_COUNT_FOLLOWS = 15


class Unreadable(ValueError):
    """Bytes that are no structure in the compact encoding."""


class ThriftReader:
    """Reads values from bytes, from a place on; `at` is where the next one begins."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.at = at
        self._data = data
        self._end = len(data) if end is None else min(end, len(data))
        self._depth = 0
        self._readers: dict[int, Callable[[], Any]] = {
            1: lambda: True,
            2: lambda: False,
            3: self._byte,
            4: self._zigzag,
            5: self._zigzag,
            6: self._zigzag,
            7: lambda: self._take(8),
            8: self._binary,
            9: self._list,
            10: self._list,
            11: self._map,
            12: self.structure,
        }

    def structure(self) -> Fields:
        """The fields of one structure."""
        fields: Fields = {}
        number = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 15
            number = number + delta if delta else self._zigzag()
            fields[number] = self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        reader = self._readers.get(kind)
        if reader is None:
            raise Unreadable(f"a value of the unknown type {kind}")
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise Unreadable("nested too deeply")
        value = reader()
        self._depth -= 1
        return value

    def _element(self, kind: int) -> Any:
        """A value in a list or map, where a truth value is a byte."""
        return self._byte() == 1 if kind in (1, 2) else self._value(kind)

    def _list(self) -> list[Any]:
        head = self._byte()
        count, kind = head >> 4, head & 15
        if count == _LIST_COUNT_FOLLOWS:
            count = self._count()
        return [self._element(kind) for _ in range(count)]

    def _map(self) -> list[tuple[Any, Any]]:
        count = self._count()
        kinds = self._byte() if count else 0
        return [(self._element(kinds >> 4), self._element(kinds & 15)) for _ in range(count)]

    def _count(self) -> int:
        """A number of elements: each takes a byte at least."""
        count = self._varint()
        if count > self._end - self.at:
            raise Unreadable("more elements than bytes")
        return count

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Unreadable("a number without an end")

    def _binary(self) -> bytes:
        return self._take(self._varint())

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if end > self._end:
            raise Unreadable("it ends too early")
        taken, self.at = self._data[self.at : end], end
        return taken
