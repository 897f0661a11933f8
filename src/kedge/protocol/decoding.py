"""Reading messages by kafka-python's schemas, with nothing taken on trust.

kafka-python describes every message as a tree of fields and has value classes for each; its own
decoder is made for answers of brokers that one believes. A server reads what anybody sends: here
every length is checked against what is there (`Reader`), null stands only where it may, and unknown
tagged fields are skipped as the protocol wants it (KIP-482). What comes out are kafka-python's own
value classes, so encoding and handling them is the same on both sides.

For each message class and version the tree is walked once, and what remains is a list of small
reading functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

from kedge.errors import MalformedMessage
from kedge.protocol.messages import ApiMessage
from kedge.protocol.reader import Reader

M = TypeVar("M", bound="ApiMessage")
Read = Callable[[Reader], Any]

_FIXED: dict[str, Read] = {
    "int8": Reader.int8,
    "int16": Reader.int16,
    "uint16": Reader.uint16,
    "int32": Reader.int32,
    "int64": Reader.int64,
    "float64": Reader.float64,
    "bool": Reader.boolean,
    "uuid": Reader.uuid,
}
_NO_OPERATIONS = {31}  # the sign bit alone: nobody asked for the operations


def decode(message: type[M], version: int, reader: Reader) -> M:
    """A message of this class and version; raises MalformedMessage."""
    return cast(M, reading_of(message, version)(reader))


@cache
def reading_of(message: type[ApiMessage], version: int) -> Read:
    """How a message of this class and version is read."""
    schema: Any = message
    return _struct(schema._struct, schema, version, schema.flexible_version_q(version))


def _struct(field: Any, data_class: Any, version: int, flexible: bool) -> Read:
    plain = [(f.name, _value(f, version, flexible)) for f in field.untagged_fields(version)]
    tagged: dict[int, tuple[str, Read]] = {
        f.tag: (f.name, _value(f, version, flexible=True))
        for f in field.fields.values()
        if f.for_version_q(version) and f.tagged_field_q(version)
    }

    def read(reader: Reader) -> Any:
        values = {name: read_one(reader) for name, read_one in plain}
        if flexible:
            values.update(_tagged(reader, tagged))
        return data_class(version=version, **values)

    return read


def _tagged(reader: Reader, known: dict[int, tuple[str, Read]]) -> dict[str, Any]:
    """The known tagged fields of a struct; the others are skipped."""
    values: dict[str, Any] = {}
    last = -1
    for _ in range(reader.varint()):
        tag, content = reader.varint(), reader.sub(reader.varint())
        if tag <= last:
            raise reader.refusal("tagged fields out of order")
        last = tag
        if tag in known:
            name, read = known[tag]
            values[name] = read(content)
    return values


def _value(field: Any, version: int, flexible: bool) -> Read:
    nullable = field.nullable_for_version_q(version)
    if field.is_array():
        return _array(field, version, flexible, nullable)
    if field.is_struct():
        read = _struct(field, field.data_class, version, flexible)
        return _maybe_struct(read) if nullable else read
    return _simple(field, flexible, nullable)


def _array(field: Any, version: int, flexible: bool, nullable: bool) -> Read:
    inner = field.array_of
    if field.is_struct_array():
        read = _struct(inner, inner.data_class, version, flexible)
    else:
        read = _simple(inner, flexible, nullable=False)

    structs = field.is_struct_array()

    def read_array(reader: Reader) -> list[Any] | None:
        count = reader.count(compact=flexible, structs=structs)
        if count is not None:
            return [read(reader) for _ in range(count)]
        return None if nullable else _refuse_null(reader, field.name)

    return read_array


def _maybe_struct(read: Read) -> Read:
    return lambda reader: read(reader) if reader.int8() >= 0 else None


def _simple(field: Any, flexible: bool, nullable: bool) -> Read:
    kind: str = field.type_str.removeprefix("[]")
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "bitfield":
        return _operations

    def read_text(reader: Reader) -> Any:
        if kind == "string":
            found = reader.text(compact=flexible)
        else:
            found = reader.bytes(compact=flexible)
        return _refuse_null(reader, field.name) if found is None and not nullable else found

    return read_text


def _operations(reader: Reader) -> set[int] | None:
    bits = reader.uint32()
    found = {bit for bit in range(32) if bits >> bit & 1}
    return None if found == _NO_OPERATIONS else found


def _refuse_null(reader: Reader, name: str) -> Any:
    raise MalformedMessage(f"{name} is null", place=reader.refusal("").place)
