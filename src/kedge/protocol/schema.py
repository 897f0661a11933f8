"""A schema language for messages that no client library describes: those of controllers and
brokers.

A message is a NamedTuple with a `Struct`: its fields in wire order, each with its type and
versions. For each version it is compiled once into a writer and a reader. Adjacent fields of fixed
size become one `struct` call: ten thousand partitions are written in some hundredths of a second.

Tagged fields follow the others, where they differ from their defaults; those that are not known
are skipped (KIP-482). A field that a version lacks has the tuple's default when read.

    PARTITION = Struct(Partition, Field("index", INT32), Field("isr", ArrayOf(INT32), since=4))
    write = PARTITION.writer(version=7, flexible=True)
    write(out := bytearray(), Partition(index=0, isr=(1, 2)))
"""

from __future__ import annotations

import struct
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Protocol

from kedge.protocol.reader import Reader

Write = Callable[[bytearray, Any], None]
Read = Callable[[Reader], Any]

NEWEST = 1_000  # larger than any version


class Kind(Protocol):
    """The type of a field."""

    def writer(self, version: int, *, flexible: bool) -> Write:
        """Return the function that writes a value in a version."""
        ...

    def reader(self, version: int, *, flexible: bool) -> Read:
        """Return the function that reads a value in a version."""
        ...


@dataclass(frozen=True, slots=True)
class Field:
    """One field and its versions."""

    name: str
    kind: Kind
    since: int = 0
    until: int = NEWEST
    tag: int | None = None
    """Tagged fields come after the others, and only where they differ from the default."""
    default: Any = None


# ---- simple values -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number of fixed size; `code` as in `struct`."""

    code: str
    read: Read

    def writer(self, version: int, *, flexible: bool) -> Write:
        pack = struct.Struct(f">{self.code}").pack

        def write(out: bytearray, value: Any) -> None:
            out += pack(value)

        return write

    def reader(self, version: int, *, flexible: bool) -> Read:
        return self.read


INT8, INT16 = Fixed("b", Reader.int8), Fixed("h", Reader.int16)
UINT16 = Fixed("H", Reader.uint16)
INT32, INT64 = Fixed("i", Reader.int32), Fixed("q", Reader.int64)
BOOL = Fixed("?", Reader.boolean)


@dataclass(frozen=True, slots=True)
class Text:
    """A string, perhaps nullable."""

    nullable: bool = False

    def writer(self, version: int, *, flexible: bool) -> Write:
        encoded = _compact_text if flexible else _plain_text

        def write(out: bytearray, value: Any) -> None:
            out += encoded(value)

        return write

    def reader(self, version: int, *, flexible: bool) -> Read:
        def read(reader: Reader) -> str | None:
            found = reader.text(compact=flexible)
            if found is None and not self.nullable:
                raise reader.malformed("a text is null")
            return found

        return read


@dataclass(frozen=True, slots=True)
class TopicIdText:
    """A topic id: base64 text as a value, 16 bytes on the wire; None is all zeros there."""

    def writer(self, version: int, *, flexible: bool) -> Write:
        def write(out: bytearray, value: Any) -> None:
            out += _id_bytes(value)

        return write

    def reader(self, version: int, *, flexible: bool) -> Read:
        return lambda reader: _id_text(reader.uuid())


@dataclass(frozen=True, slots=True)
class NullableBytes:
    """Bytes, or None."""

    def writer(self, version: int, *, flexible: bool) -> Write:
        def write(out: bytearray, value: Any) -> None:
            size = -1 if value is None else len(value)
            out += varint(size + 1) if flexible else struct.pack(">i", size)
            out += value or b""

        return write

    def reader(self, version: int, *, flexible: bool) -> Read:
        return lambda reader: reader.bytes(compact=flexible)


STRING, NULLABLE_STRING, TOPIC_ID = Text(), Text(nullable=True), TopicIdText()
NULLABLE_BYTES = NullableBytes()


@lru_cache(maxsize=4096)
def _compact_text(text: str | None) -> bytes:
    if text is None:
        return b"\0"
    content = text.encode()
    return varint(len(content) + 1) + content


@lru_cache(maxsize=4096)
def _plain_text(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    content = text.encode()
    return struct.pack(">h", len(content)) + content


@lru_cache(maxsize=4096)
def _id_bytes(text: str | None) -> bytes:
    return bytes(16) if text is None else urlsafe_b64decode(text + "==")


def _id_text(found: uuid.UUID | None) -> str | None:
    return None if found is None else urlsafe_b64encode(found.bytes).decode().rstrip("=")


@lru_cache(maxsize=4096)
def varint(number: int) -> bytes:
    """Return an unsigned number, seven bits to a byte, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


# ---- arrays and structs --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """Any number of values of one type."""

    kind: Kind
    nullable: bool = False

    def writer(self, version: int, *, flexible: bool) -> Write:
        length = _compact_length if flexible else _plain_length
        if isinstance(self.kind, Fixed) and not self.nullable:
            return _fixed_array(self.kind, length)
        write_one = self.kind.writer(version, flexible=flexible)

        def write(out: bytearray, values: Any) -> None:
            if values is None:
                out += length(-1)
                return
            out += length(len(values))
            for value in values:
                write_one(out, value)

        return write

    def reader(self, version: int, *, flexible: bool) -> Read:
        read_one = self.kind.reader(version, flexible=flexible)

        def read(reader: Reader) -> tuple[Any, ...] | None:
            count = reader.count(compact=flexible)
            if count is None and self.nullable:
                return None
            if count is None:
                raise reader.malformed("an array is null")
            return tuple([read_one(reader) for _ in range(count)])

        return read


INT32S = ArrayOf(INT32)


def _fixed_array(kind: Fixed, length: Callable[[int], bytes]) -> Write:
    @cache
    def pack(count: int) -> Callable[..., bytes]:
        return struct.Struct(f">{count}{kind.code}").pack

    def write(out: bytearray, values: Any) -> None:
        count = len(values)
        out += length(count)
        out += pack(count)(*values)

    return write


def _compact_length(count: int) -> bytes:
    return varint(count + 1)


def _plain_length(count: int) -> bytes:
    return struct.pack(">i", count)


class Struct:
    """Fields one after the other, as a NamedTuple.

    An inline one has no tagged fields: it names a part of the struct that contains it, and may be
    given as bytes that were encoded before.
    """

    def __init__(self, form: Callable[..., Any], *fields: Field, inline: bool = False) -> None:
        self._form = form
        self._fields = tuple(field for field in fields if field.tag is None)
        tagged = [field for field in fields if field.tag is not None]
        self._tagged = tuple(sorted(tagged, key=lambda field: field.tag or 0))
        self._inline = inline

    def __call__(self, **values: Any) -> Any:
        """A value of this struct."""
        return self._form(**values)

    def writer(self, version: int, *, flexible: bool) -> Write:
        steps = [
            _run_writer(run, version, flexible=flexible) for run in _runs(self._fields, version)
        ]
        if flexible and not self._inline:
            steps.append(_tagged_writer(self._tagged, version))

        def write(out: bytearray, value: Any) -> None:
            if type(value) is bytes:
                out += value
                return
            for step in steps:
                step(out, value)

        return write

    def reader(self, version: int, *, flexible: bool) -> Read:
        present = [f for f in self._fields if f.since <= version <= f.until]
        steps = [(f.name, f.kind.reader(version, flexible=flexible)) for f in present]
        form, has_tags = self._form, flexible and not self._inline
        tags = {
            f.tag: (f.name, f.kind.reader(version, flexible=True))
            for f in self._tagged
            if f.since <= version <= f.until
        }

        def read(reader: Reader) -> Any:
            values = {name: read_one(reader) for name, read_one in steps}
            if tags:
                values |= _read_tagged(reader, tags)
            elif has_tags:
                reader.skip_tagged_fields()
            return form(**values)

        return read


def struct_of(name: str, *fields: Field) -> Struct:
    """A struct whose values are frozen dataclasses with a default for every field.

    >>> struct_of("Epoch", Field("epoch", INT32, default=-1))()
    Epoch(epoch=-1)
    """
    typed = [(f.name, Any, field(default=f.default)) for f in fields]
    return Struct(make_dataclass(name, typed, frozen=True, slots=True), *fields)


def _read_tagged(reader: Reader, tags: Mapping[int | None, tuple[str, Read]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(reader.varint()):
        tag, size = reader.varint(), reader.varint()
        part = reader.sub(size)
        if tag in tags:
            name, read_one = tags[tag]
            found[name] = read_one(part)
    return found


def _tagged_writer(fields: Sequence[Field], version: int) -> Write:
    steps = [
        (f.name, f.default, varint(f.tag or 0), f.kind.writer(version, flexible=True))
        for f in fields
        if f.since <= version <= f.until
    ]
    if not steps:
        return _write_no_tags

    def write(out: bytearray, value: Any) -> None:
        parts: list[bytes] = []
        for name, default, tag, write_one in steps:
            found = getattr(value, name)
            if found != default:
                content = bytearray()
                write_one(content, found)
                parts.append(tag + varint(len(content)) + content)
        out += varint(len(parts))
        for part in parts:
            out += part

    return write


def _write_no_tags(out: bytearray, value: Any) -> None:
    out.append(0)


def _runs(fields: Sequence[Field], version: int) -> list[list[Field]]:
    """Return the fields of a version; adjacent ones of fixed size are grouped."""
    runs: list[list[Field]] = []
    for each in (f for f in fields if f.since <= version <= f.until):
        fixed = isinstance(each.kind, Fixed)
        if fixed and runs and isinstance(runs[-1][0].kind, Fixed):
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def _run_writer(run: Sequence[Field], version: int, *, flexible: bool) -> Write:
    get = attrgetter(*(each.name for each in run))
    if len(run) == 1:
        write_one = run[0].kind.writer(version, flexible=flexible)
        return lambda out, value: write_one(out, get(value))
    codes = "".join(each.kind.code for each in run if isinstance(each.kind, Fixed))
    pack = struct.Struct(f">{codes}").pack

    def write(out: bytearray, value: Any) -> None:
        out += pack(*get(value))

    return write
