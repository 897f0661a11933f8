"""Decodes messages by kafka-python's schemas, with checks on all lengths.

kafka-python describes every message as a tree of fields and has value classes for each; its own
decoder trusts the sender. A server must not: here every length is checked against the remaining
bytes (`Reader`), null is allowed only where the schema allows it, and unknown tagged fields are
skipped (KIP-482). The results are kafka-python's own value classes, so the code that encodes and
handles them is shared.

For each message class and version the tree is compiled once to a list of small functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

from kedge.errors import MalformedMessage
from kedge.protocol.messages import ApiMessage
from kedge.protocol.reader import Reader

M = TypeVar("M", bound="ApiMessage")
Decoder = Callable[[Reader], Any]

_FIXED_SIZE: dict[str, Decoder] = {
    "int8": Reader.int8,
    "int16": Reader.int16,
    "uint16": Reader.uint16,
    "int32": Reader.int32,
    "int64": Reader.int64,
    "float64": Reader.float64,
    "bool": Reader.boolean,
    "uuid": Reader.uuid,
}
_NO_OPERATIONS = {31}  # the sign bit alone: the operations were not requested


def decode(message: type[M], version: int, reader: Reader) -> M:
    """Decode a message of this class and version; raises MalformedMessage."""
    return cast(M, decoder_of(message, version)(reader))


@cache
def decoder_of(message: type[ApiMessage], version: int) -> Decoder:
    """Return the decoder of a message class and version."""
    schema: Any = message
    return _struct(schema._struct, schema, version, schema.flexible_version_q(version))


def _struct(field: Any, data_class: Any, version: int, flexible: bool) -> Decoder:
    plain = [(f.name, _value(f, version, flexible)) for f in field.untagged_fields(version)]
    tagged: dict[int, tuple[str, Decoder]] = {
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


def _tagged(reader: Reader, known: dict[int, tuple[str, Decoder]]) -> dict[str, Any]:
    """Decode the known tagged fields of a struct; skip the others."""
    values: dict[str, Any] = {}
    last = -1
    for _ in range(reader.varint()):
        tag, content = reader.varint(), reader.sub(reader.varint())
        if tag <= last:
            raise reader.malformed("tagged fields out of order")
        last = tag
        if tag in known:
            name, read = known[tag]
            values[name] = read(content)
    return values


def _value(field: Any, version: int, flexible: bool) -> Decoder:
    nullable = field.nullable_for_version_q(version)
    if field.is_array():
        return _array(field, version, flexible, nullable)
    if field.is_struct():
        read = _struct(field, field.data_class, version, flexible)
        return _maybe_struct(read) if nullable else read
    return _scalar(field, flexible, nullable)


def _array(field: Any, version: int, flexible: bool, nullable: bool) -> Decoder:
    inner = field.array_of
    if field.is_struct_array():
        read = _struct(inner, inner.data_class, version, flexible)
    else:
        read = _scalar(inner, flexible, nullable=False)

    structs = field.is_struct_array()

    def read_array(reader: Reader) -> list[Any] | None:
        count = reader.count(compact=flexible, structs=structs)
        if count is not None:
            return [read(reader) for _ in range(count)]
        return None if nullable else _raise_null(reader, field.name)

    return read_array


def _maybe_struct(read: Decoder) -> Decoder:
    return lambda reader: read(reader) if reader.int8() >= 0 else None


def _scalar(field: Any, flexible: bool, nullable: bool) -> Decoder:
    kind: str = field.type_str.removeprefix("[]")
    if kind in _FIXED_SIZE:
        return _FIXED_SIZE[kind]
    if kind == "bitfield":
        return _operations

    def read_text(reader: Reader) -> Any:
        if kind == "string":
            found = reader.text(compact=flexible)
        else:
            found = reader.bytes(compact=flexible)
        return _raise_null(reader, field.name) if found is None and not nullable else found

    return read_text


def _operations(reader: Reader) -> set[int] | None:
    bits = reader.uint32()
    found = {bit for bit in range(32) if bits >> bit & 1}
    return None if found == _NO_OPERATIONS else found


def _raise_null(reader: Reader, name: str) -> Any:
    raise MalformedMessage(f"{name} is null", place=reader.malformed("").place)
