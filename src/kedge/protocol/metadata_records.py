"""Metadata records of KRaft as bytes: the values of the records of `__cluster_metadata`.

A value is a frame (its version 1, the record's type, the version of its schema, each an unsigned
varint) and the body in the flexible encoding: compact lengths, then the tagged fields that differ
from their defaults, by ascending tags. The table of fields is `kedge.metadata.record_schemas`; each
type and version is compiled once into a writer and a reader.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

from kedge.metadata.record_schemas import BY_TYPE_ID, SCHEMAS, STRUCTS, Field, Kind
from kedge.metadata.records import Versioned
from kedge.protocol.reader import Reader
from kedge.protocol.schema import varint

FRAME_VERSION = 1

Encode = Callable[[Any], bytes]
Decode = Callable[[Reader], Any]

_NUMBERS: dict[Kind, tuple[str, Decode]] = {
    Kind.INT8: ("b", Reader.int8),
    Kind.INT16: ("h", Reader.int16),
    Kind.UINT16: ("H", Reader.uint16),
    Kind.INT32: ("i", Reader.int32),
    Kind.INT64: ("q", Reader.int64),
    Kind.FLOAT64: ("d", Reader.float64),
    Kind.BOOL: ("?", Reader.boolean),
}


def encode_record(versioned: Versioned) -> bytes:
    """The value of a record in the log."""
    kind = type(versioned.record)
    return _frame(kind, versioned.version) + _struct_writer(kind, versioned.version)(
        versioned.record
    )


def decode_record(value: bytes) -> Versioned:
    """The record that a value holds, or MalformedMessage."""
    reader = Reader(value)
    frame, type_id, version = reader.varint(), reader.varint(), reader.varint()
    if frame != FRAME_VERSION:
        raise reader.malformed(f"a metadata record in frame version {frame}")
    schema = BY_TYPE_ID.get(type_id)
    if schema is None or version > schema.newest:
        raise reader.malformed(f"metadata record type {type_id} version {version} is unknown")
    record = _struct_reader(schema.record, version)(reader)
    if reader.remaining:
        raise reader.malformed(f"{reader.remaining} bytes after a {schema.name} record")
    return Versioned(record, version)


@cache
def _frame(kind: type, version: int) -> bytes:
    return varint(FRAME_VERSION) + varint(SCHEMAS[kind].type_id) + varint(version)


def _fields(kind: type, version: int) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """The fields of a struct: those in sequence, and those with tags by ascending tags."""
    fields = SCHEMAS[kind].fields_of(version) if kind in SCHEMAS else STRUCTS[kind]
    tagged = [field for field in fields if field.tag is not None]
    plain = tuple(field for field in fields if field.tag is None)
    return plain, tuple(sorted(tagged, key=lambda field: field.tag or 0))


# ---- writing -------------------------------------------------------------------------------------


@cache
def _struct_writer(kind: type, version: int) -> Encode:
    plain, tagged = _fields(kind, version)
    in_sequence = [_run_writer(run, version) for run in _runs(plain)]
    with_tags = [
        (field.name, field.default, varint(field.tag or 0), _writer(field, version))
        for field in tagged
    ]

    def write(value: Any) -> bytes:
        parts = [encode(get(value)) for get, encode in in_sequence]
        set_fields: list[bytes] = []
        for name, default, tag, encode in with_tags:
            found = getattr(value, name)
            if found != default:
                content = encode(found)
                set_fields.append(tag + varint(len(content)) + content)
        return b"".join((*parts, varint(len(set_fields)), *set_fields))

    return write


def _runs(fields: Iterable[Field]) -> list[list[Field]]:
    """Fields in sequence, with neighbouring numbers together: they are packed at once."""
    runs: list[list[Field]] = []
    for field in fields:
        if runs and _is_number(field) and _is_number(runs[-1][-1]):
            runs[-1].append(field)
        else:
            runs.append([field])
    return runs


def _is_number(field: Field) -> bool:
    return field.kind in _NUMBERS and not field.many


def _run_writer(run: list[Field], version: int) -> tuple[Callable[[Any], Any], Encode]:
    """What to take from a record, and how it is written."""
    get = attrgetter(*(field.name for field in run))
    if len(run) == 1:
        return get, _writer(run[0], version)
    pack = struct.Struct(">" + "".join(_NUMBERS[field.kind][0] for field in run)).pack
    return get, lambda values: pack(*values)


def _writer(field: Field, version: int) -> Encode:
    if field.many:
        return _array_writer(field, version)
    return _item_writer(field, version)


def _item_writer(field: Field, version: int) -> Encode:
    if field.kind in _NUMBERS:
        return struct.Struct(f">{_NUMBERS[field.kind][0]}").pack
    match field.kind:
        case Kind.STRING:
            return _text
        case Kind.BYTES:
            return lambda value: varint(len(value) + 1) + value
        case Kind.UUID:
            return _id_bytes
        case _:
            assert field.of is not None, "a struct has a class"
            return _struct_writer(field.of, version)


def _array_writer(field: Field, version: int) -> Encode:
    write_one = _item_writer(field, version)

    def write(values: tuple[Any, ...] | None) -> bytes:
        if values is None:
            return b"\0"
        return varint(len(values) + 1) + b"".join(map(write_one, values))

    # replicas and directories of many partitions are alike
    return write if field.of is not None else lru_cache(maxsize=4096)(write)


@lru_cache(maxsize=4096)
def _text(text: str | None) -> bytes:
    if text is None:
        return b"\0"
    content = text.encode()
    return varint(len(content) + 1) + content


@lru_cache(maxsize=4096)
def _id_bytes(text: str) -> bytes:
    return urlsafe_b64decode(f"{text}==")


# ---- reading -------------------------------------------------------------------------------------


@cache
def _struct_reader(kind: type, version: int) -> Decode:
    plain, tagged = _fields(kind, version)
    in_sequence = [(field.name, _reader(field, version)) for field in plain]
    with_tags = {field.tag: (field.name, _reader(field, version)) for field in tagged}

    def read(reader: Reader) -> Any:
        values = {name: decode(reader) for name, decode in in_sequence}
        for _ in range(reader.varint()):
            tag, size = reader.varint(), reader.varint()
            if tag in with_tags:
                name, decode = with_tags[tag]
                values[name] = decode(reader.sub(size))
            else:
                reader.take(size)  # of a newer version
        return kind(**values)

    return read


def _reader(field: Field, version: int) -> Decode:
    read_one = _item_reader(field, version)
    if not field.many:
        return read_one
    code = _NUMBERS[field.kind][0] if field.kind in _NUMBERS else None

    def read(reader: Reader) -> tuple[Any, ...] | None:
        count = reader.count(compact=True, structs=field.of is not None)
        if count is None:
            if field.nullable:
                return None
            raise reader.malformed(f"{field.name} is null")
        if code is not None:
            return reader.numbers(code, count)
        return tuple([read_one(reader) for _ in range(count)])

    return read


def _item_reader(field: Field, version: int) -> Decode:
    if field.kind in _NUMBERS:
        return _NUMBERS[field.kind][1]
    match field.kind:
        case Kind.UUID:
            return lambda reader: _id_text(reader.take(16))
        case Kind.STRUCT:
            assert field.of is not None, "a struct has a class"
            return _struct_reader(field.of, version)
        case _:
            read_any = Reader.text if field.kind is Kind.STRING else Reader.bytes

    def read(reader: Reader) -> Any:
        found = read_any(reader, compact=True)
        if found is None and not field.nullable:
            raise reader.malformed(f"{field.name} is null")
        return found

    return read


@lru_cache(maxsize=4096)
def _id_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
