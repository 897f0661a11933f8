"""Metadata records as bytes: read again as they were, and damaged ones refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.errors import MalformedMessage
from kedge.metadata import records as r
from kedge.metadata.record_json import from_json, to_json
from kedge.metadata.records import Versioned
from kedge.protocol.metadata_records import decode_record, encode_record
from kedge.topics import encode_id
from tests.metadata.filled import played

ID = encode_id(bytes(range(16)))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 300))
def test_records_are_read_as_they_were_written(seed: int) -> None:
    for entry in played(seed).log:
        kept = from_json(to_json(entry.versioned))  # without fields that the version lacks
        assert decode_record(encode_record(entry.versioned)) == kept


def test_a_change_of_a_partition_byte_by_byte() -> None:
    change = r.PartitionChangeRecord(3, ID, isr=(1, 2), leader=1)
    assert (
        encode_record(Versioned(change, 2)).hex()
        == (
            "010502"  # frame 1, type 5, version 2
            "00000003" + bytes(range(16)).hex() + "02"  # two tagged fields
            "000903" + "00000001" + "00000002"  # tag 0, nine bytes: two brokers
            "0104" + "00000001"  # tag 1, four bytes
        )
    )


def test_tagged_fields_of_a_newer_version_are_skipped() -> None:
    value = bytes.fromhex("011400" + "01" + "63" + "02" + "beef")
    assert decode_record(value) == Versioned(r.NoOpRecord(), 0)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("021400", "frame version 2"),
        ("016300", "type 99 version 0 is unknown"),
        ("011401", "type 20 version 1 is unknown"),
        ("011400", "1 bytes wanted"),
        ("01140000ff", "1 bytes after a NoOp record"),
        ("010c000000010000", "name is null"),
    ],
)
def test_a_damaged_record_is_refused(value: str, why: str) -> None:
    with pytest.raises(MalformedMessage, match=why):
        decode_record(bytes.fromhex(value))
