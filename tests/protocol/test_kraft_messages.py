"""Messages of KRaft: what is written can be read again, in every version."""

from __future__ import annotations

import random

import pytest

from kedge.errors import MalformedMessage
from kedge.protocol.control_records import decode_control, encode_control
from kedge.protocol.kraft_apis import KRAFT_APIS
from kedge.protocol.record_batches import (
    Record,
    RecordsInBatch,
    decode_header,
    encode_batch,
    records_of,
    split,
)
from kedge.quorum.values import (
    ControlRecord,
    KRaftVersionChange,
    LeaderChange,
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VotersChange,
    VoterSet,
)
from tests.protocol.broker_strategies import decode_body, encode_body
from tests.protocol.drawn_messages import drawn

CASES = [(key, v) for key, api in KRAFT_APIS.items() for v in range(api.oldest, api.newest + 1)]


@pytest.mark.parametrize(("key", "version"), CASES)
def test_what_is_written_can_be_read_again(key: int, version: int) -> None:
    api, rng = KRAFT_APIS[key], random.Random(key * 100 + version)
    flexible = version >= api.flexible
    for message in (api.request, api.response):
        for _ in range(20):
            value = drawn(message, version, rng)
            body = encode_body(message, version, value, flexible=flexible)
            assert decode_body(message, version, body, flexible=flexible) == value


def test_batches_come_apart_as_they_were_put_together() -> None:
    values = [b"", b"a", b"b" * 70, b"c" * 20_000]
    batch = encode_batch(100, 7, 1234, map(Record, values))
    header = decode_header(batch)
    assert (header.base, header.epoch, header.last, header.records) == (100, 7, 103, 4)
    assert header.timestamp_ms == 1234
    assert list(RecordsInBatch(batch, 4)) == values
    assert RecordsInBatch(batch, 4)[2] == b"b" * 70
    assert list(split(batch + batch + batch[:-1])) == [batch, batch]


@pytest.mark.parametrize("position", [20, 30, 60, 75])
def test_a_damaged_batch_is_noticed(position: int) -> None:
    batch = bytearray(encode_batch(0, 1, 0, [Record(b"value" * 5)]))
    batch[position] ^= 1
    with pytest.raises(MalformedMessage):
        decode_header(bytes(batch))


VOTERS = VoterSet(
    Voter(ReplicaKey(n, "AAAAAAAAAAAAAAAAAAAAaQ"), (VoterEndpoint("C", f"h{n}", n),), 0, 1)
    for n in (1, 2)
)


@pytest.mark.parametrize(
    "record", [LeaderChange(1, (1, 2, 3), (1, 3)), KRaftVersionChange(1), VotersChange(VOTERS)]
)
def test_control_records_can_be_read_again(record: ControlRecord) -> None:
    batch = encode_batch(0, 1, 0, [encode_control(record)], control=True)
    assert decode_header(batch).is_control
    assert [decode_control(found) for found in records_of(batch)] == [record]
