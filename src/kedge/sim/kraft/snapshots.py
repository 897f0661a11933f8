"""An image as the bytes of a snapshot: its records, each after its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kedge.metadata import Versioned
from kedge.protocol.metadata_records import decode_record, encode_record

LENGTH_BYTES = 4


def encoded(records: Iterable[Versioned]) -> bytes:
    """A snapshot as bytes."""
    values = map(encode_record, records)
    return b"".join(len(value).to_bytes(LENGTH_BYTES) + value for value in values)


def decoded(data: bytes) -> Iterator[Versioned]:
    """The records of a snapshot."""
    at = 0
    while at < len(data):
        end = at + LENGTH_BYTES + int.from_bytes(data[at : at + LENGTH_BYTES])
        yield decode_record(data[at + LENGTH_BYTES : end])
        at = end
