"""Record batches of Kafka's logs (magic 2), as the metadata log has them: not compressed, of no
producer, data or control.

    base offset 8 · length 4 · leader epoch 4 · magic 1 · crc 4 · attributes 2 · last delta 4 ·
    first and last timestamp 8 + 8 · producer 8 + 2 + 4 · count 4 · records

The checksum (CRC-32C) covers everything from the attributes on, so the offset and the epoch can be
set afterwards. A record is a length and a body, with signed numbers of variable length (zigzag).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, overload

from crc32c import crc32c

from kedge.errors import MalformedMessage
from kedge.protocol.schema import varint

_HEAD = struct.Struct(">qiibI")  # up to the checksum
_BODY = struct.Struct(">hiqqqhii")  # from the attributes to the number of records
HEAD_BYTES, OVERHEAD_BYTES = _HEAD.size, _HEAD.size + _BODY.size
_LENGTH_END = 12  # the length counts what follows itself
_MAGIC = 2
_CONTROL = 1 << 5
_COMPRESSED = 0b111


class Record(NamedTuple):
    """One record; keys are for control records alone."""

    value: bytes
    key: bytes | None = None


class BatchHeader(NamedTuple):
    """What a batch says of itself."""

    base: int
    epoch: int
    size: int  # in bytes, all of it
    records: int
    last: int
    is_control: bool
    timestamp_ms: int


def encode_batch(
    base: int, epoch: int, timestamp_ms: int, records: Iterable[Record], *, control: bool = False
) -> bytes:
    """A batch of records that all have one timestamp."""
    content = bytearray()
    count = 0
    for record in records:
        content += _encoded(count, record)
        count += 1
    attributes = _CONTROL if control else 0
    body = _BODY.pack(attributes, count - 1, timestamp_ms, timestamp_ms, -1, -1, -1, count)
    checksum = crc32c(content, crc32c(body))
    length = HEAD_BYTES - _LENGTH_END + len(body) + len(content)
    return b"".join((_HEAD.pack(base, length, epoch, _MAGIC, checksum), body, content))


def _encoded(offset_delta: int, record: Record) -> bytes:
    key, value = record.key, record.value
    with_key = b"\x01" if key is None else zigzag(len(key)) + key
    body = b"".join((b"\0\0", zigzag(offset_delta), with_key, zigzag(len(value)), value, b"\0"))
    return zigzag(len(body)) + body


@lru_cache(maxsize=20_000)
def zigzag(number: int) -> bytes:
    """A signed number: 0, -1, 1, -2 … as 0, 1, 2, 3 …"""
    return varint((number << 1) ^ (number >> 63))


# ---- reading -------------------------------------------------------------------------------------


def batch_size(data: bytes, position: int = 0) -> int | None:
    """The size of the batch that begins here; None if not even its length is there."""
    if len(data) - position < _LENGTH_END:
        return None
    (length,) = struct.unpack_from(">i", data, position + 8)
    if length < OVERHEAD_BYTES - _LENGTH_END:
        raise MalformedMessage(f"a batch of {length} bytes", place=f"byte {position}")
    return _LENGTH_END + length


def decode_header(data: bytes) -> BatchHeader:
    """The header of a whole batch; MalformedMessage if it is damaged or of another form."""
    if len(data) < OVERHEAD_BYTES:
        raise MalformedMessage(f"a batch of {len(data)} bytes")
    base, length, epoch, magic, checksum = _HEAD.unpack_from(data)
    if magic != _MAGIC or length + _LENGTH_END != len(data):
        raise MalformedMessage(f"a batch of magic {magic} with {length} bytes", place=str(base))
    if crc32c(memoryview(data)[HEAD_BYTES:]) != checksum:
        raise MalformedMessage("a batch with a wrong checksum", place=f"offset {base}")
    attributes, delta, first_ms, _, _, _, _, count = _BODY.unpack_from(data, HEAD_BYTES)
    if attributes & _COMPRESSED:
        raise MalformedMessage("a compressed batch in the metadata log", place=f"offset {base}")
    return BatchHeader(
        base, epoch, len(data), count, base + delta, bool(attributes & _CONTROL), first_ms
    )


def split(data: bytes) -> Iterator[bytes]:
    """The whole batches that follow each other in `data`; an incomplete last one is left out."""
    position = 0
    while (size := batch_size(data, position)) is not None and position + size <= len(data):
        yield data[position : position + size]
        position += size


def records_of(batch: bytes) -> Iterator[Record]:
    """The records of a whole batch whose checksum is right."""
    (count,) = struct.unpack_from(">i", batch, OVERHEAD_BYTES - 4)
    position = OVERHEAD_BYTES
    try:
        for _ in range(count):
            size, position = _zigzag(batch, position)
            end = position + size
            _, position = _zigzag(batch, position + 1)  # the timestamp, after the attributes
            _, position = _zigzag(batch, position)
            key, position = _bytes(batch, position)
            value, position = _bytes(batch, position)
            yield Record(value or b"", key)
            position = end
    except IndexError:
        raise MalformedMessage("a record that is longer than its batch") from None


def _bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = _zigzag(data, position)
    if size < 0:
        return None, position
    if position + size > len(data):
        raise IndexError
    return data[position : position + size], position + size


def _zigzag(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position
        shift += 7


class RecordsInBatch(Sequence[bytes]):
    """The values of a batch's records, decoded when they are looked at."""

    __slots__ = ("_batch", "_count")

    def __init__(self, batch: bytes, count: int) -> None:
        self._batch = batch
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        return (record.value for record in records_of(self._batch))

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        return tuple(self)[index]
