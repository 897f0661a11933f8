"""Raft's batches as bytes, and the other way round."""

from __future__ import annotations

from kedge.metadata import Versioned
from kedge.protocol.control_records import decode_control, encode_control
from kedge.protocol.metadata_records import decode_record, encode_record
from kedge.protocol.record_batches import (
    Record,
    RecordsInBatch,
    decode_header,
    encode_batch,
    records_of,
)
from kedge.quorum.values import Batch


class AsBytes:
    """Records of the log as the bytes of their values."""

    def encode(self, record: Versioned) -> object:
        return encode_record(record)

    def decode(self, kept: object) -> Versioned:
        assert isinstance(kept, bytes)
        return decode_record(kept)

    def size(self, kept: object) -> int:
        assert isinstance(kept, bytes)
        return len(kept) + 8  # and about as much around it


def batch_of(raw: bytes) -> Batch:
    """A batch of another node or of the disk; MalformedMessage if it is damaged."""
    header = decode_header(raw)
    if header.is_control:
        control = tuple(c for c in map(decode_control, records_of(raw)) if c is not None)
        return Batch(header.base, header.epoch, (), control, header.size, raw)
    records = RecordsInBatch(raw, header.records)
    return Batch(header.base, header.epoch, records, size=header.size, raw=raw)


def bytes_of(batch: Batch, timestamp_ms: int) -> bytes:
    """A batch as it is in the log; one that came from elsewhere is kept as it came."""
    if batch.raw:
        return batch.raw
    if batch.control:
        control = map(encode_control, batch.control)
        return encode_batch(batch.base, batch.epoch, timestamp_ms, control, control=True)
    return encode_batch(batch.base, batch.epoch, timestamp_ms, map(_record, batch.records))


def _record(kept: object) -> Record:
    assert isinstance(kept, bytes)
    return Record(kept)
