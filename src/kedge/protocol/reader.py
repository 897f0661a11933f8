"""Reads primitive values from untrusted bytes.

Every read checks the remaining bytes first, a variable-length number has at most as many bytes as
its type needs, and a length is accepted only if as many bytes follow. So no frame costs more than a
small multiple of its own size.
"""

from __future__ import annotations

import struct
import uuid

from kedge.errors import MalformedMessage

VARINT_BITS = 32
ELEMENTS_MAX = 1_000_000  # in all arrays of one message together
STRUCTS_MAX = 250_000  # of those, elements that have fields of their own
TEXT_BYTES_MAX = 0x7FFF  # in every form, as in Kafka

_INT8, _INT16, _UINT16 = struct.Struct(">b"), struct.Struct(">h"), struct.Struct(">H")
_INT32, _UINT32, _INT64 = struct.Struct(">i"), struct.Struct(">I"), struct.Struct(">q")
_FLOAT64 = struct.Struct(">d")
_NO_ID = bytes(16)


class Reader:
    """A position in a message; errors are MalformedMessage with the position."""

    __slots__ = ("_data", "_elements", "_end", "_pos", "_structs")

    def __init__(
        self, data: bytes, *, elements_max: int = ELEMENTS_MAX, structs_max: int = STRUCTS_MAX
    ) -> None:
        self._data = data
        self._pos = 0
        self._end = len(data)
        self._elements = elements_max
        self._structs = structs_max

    @property
    def remaining(self) -> int:
        """How many bytes are left."""
        return self._end - self._pos

    # ---- fixed sizes ----------------------------------------------------------------------------

    def int8(self) -> int:
        return self._unpack(_INT8)

    def int16(self) -> int:
        return self._unpack(_INT16)

    def uint16(self) -> int:
        return self._unpack(_UINT16)

    def int32(self) -> int:
        return self._unpack(_INT32)

    def uint32(self) -> int:
        return self._unpack(_UINT32)

    def int64(self) -> int:
        return self._unpack(_INT64)

    def float64(self) -> float:
        return self._unpack(_FLOAT64)

    def numbers(self, code: str, count: int) -> tuple[int, ...]:
        """Return several numbers of one `struct` code."""
        form = f">{count}{code}"
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def boolean(self) -> bool:
        """Return true for any byte but zero, as in Kafka."""
        return self._unpack(_INT8) != 0

    def uuid(self) -> uuid.UUID | None:
        """Return sixteen bytes as an id; None if all are zero."""
        raw = self.take(16)
        return None if raw == _NO_ID else uuid.UUID(bytes=raw)

    # ---- lengths --------------------------------------------------------------------------------

    def varint(self) -> int:
        """Return an unsigned number, seven bits to a byte, the lowest first."""
        at = self._pos
        if at < self._end and (first := self._data[at]) < 0x80:  # nearly all of them
            self._pos = at + 1
            return first
        value = 0
        for shift in range(0, VARINT_BITS, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
        raise self.malformed(f"a number of more than {VARINT_BITS} bits")

    def length(self, *, compact: bool, short: bool = False) -> int | None:
        """Return the length of what follows, None for null; compact forms store it plus one."""
        size = self.varint() - 1 if compact else self.int16() if short else self.int32()
        if size < -1:
            raise self.malformed(f"a length of {size}")
        if size > self.remaining:
            raise self.malformed(f"a length of {size} where {self.remaining} bytes are left")
        return None if size == -1 else size

    def count(self, *, compact: bool, structs: bool = False) -> int | None:
        """Return the number of an array's elements, None for a null array."""
        size = self.length(compact=compact)
        if size is not None:
            self._elements -= size
            self._structs -= size if structs else 0
            if self._elements < 0 or self._structs < 0:
                raise self.malformed("too many elements in one message")
        return size

    # ---- variable sizes -------------------------------------------------------------------------

    def text(self, *, compact: bool) -> str | None:
        """Return a UTF-8 string, None for null."""
        size = self.length(compact=compact, short=True)
        if size is None:
            return None
        if size > TEXT_BYTES_MAX:
            raise self.malformed(f"a text of {size} bytes")
        try:
            return self.take(size).decode()
        except UnicodeDecodeError:
            raise self.malformed("a text that is not UTF-8") from None

    def bytes(self, *, compact: bool) -> bytes | None:
        """Return bytes, None for null."""
        size = self.length(compact=compact)
        return None if size is None else self.take(size)

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        begin, end = self._pos, self._pos + size
        if end > self._end:
            raise self.malformed(f"{size} bytes wanted, {self.remaining} left")
        self._pos = end
        return self._data[begin:end]

    def sub(self, size: int) -> Reader:
        """Return a reader of the next `size` bytes, with the same limits on elements."""
        return Reader(self.take(size), elements_max=self._elements, structs_max=self._structs)

    def skip_tagged_fields(self) -> None:
        """Skip the tagged fields of a struct or a header."""
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())

    def malformed(self, what: str) -> MalformedMessage:
        """Return the error for this position."""
        return MalformedMessage(what, place=f"byte {self._pos}")

    def _unpack(self, form: struct.Struct) -> int:
        if self._pos + form.size > self._end:
            raise self.malformed(f"{form.size} bytes wanted, {self.remaining} left")
        (value,) = form.unpack_from(self._data, self._pos)
        self._pos += form.size
        return value
