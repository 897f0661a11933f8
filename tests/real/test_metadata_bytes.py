"""Metadata records, byte for byte against Kafka's own classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jvm import KAFKA_4_1, ROOT, java
from kedge.metadata import records as r
from kedge.metadata.record_json import to_json
from kedge.metadata.record_schemas import SCHEMAS
from kedge.metadata.records import Versioned
from kedge.protocol.metadata_records import decode_record, encode_record
from kedge.topics import encode_id
from tests.metadata.filled import played

pytestmark = pytest.mark.real

ID, OTHER = encode_id(bytes(range(16))), encode_id(bytes(range(1, 17)))
ENDPOINT, FEATURE = r.Endpoint("PLAINTEXT", "höst", 65_535, 1), r.FeatureRange("f", 0, 7)

# every field set to something that is not its default
FULL: tuple[r.MetadataRecord, ...] = (
    r.RegisterBrokerRecord(
        1, ID, 2**40, (ENDPOINT,), (FEATURE,), "rack", False, True, True, (ID, OTHER)
    ),
    r.UnregisterBrokerRecord(1, 2),
    r.TopicRecord("t", ID),
    r.PartitionRecord(
        1, ID, (1, 2), (2,), 2, (1,), (2,), r.RECOVERING, 5, 6, (ID, OTHER), (1,), (2,)
    ),
    r.ConfigRecord(2, "t", "k", "v"),
    r.PartitionChangeRecord(
        1, ID, (1,), 1, (1, 2), (2,), (1,), r.RECOVERED, (2,), (3,), (ID, OTHER)
    ),
    r.FenceBrokerRecord(1, 2),
    r.UnfenceBrokerRecord(1, 2),
    r.RemoveTopicRecord(ID),
    r.DelegationTokenRecord("User:a", "User:b", ("User:c",), 1, 2, 3, "token"),
    r.UserScramCredentialRecord("u", 1, b"salt", b"stored", b"server", 4096),
    r.FeatureLevelRecord("metadata.version", 27),
    r.ClientQuotaRecord((r.QuotaEntityPart("user", None),), "rate", 5.5, True),
    r.ProducerIdsRecord(1, 2, 3000),
    r.BrokerRegistrationChangeRecord(1, 2, r.UNFENCE, 1, (ID,)),
    r.AccessControlEntryRecord(ID, 2, "t", 3, "User:a", "*", 3, 3),
    r.RemoveAccessControlEntryRecord(ID),
    r.NoOpRecord(),
    r.ZkMigrationStateRecord(1),
    r.RemoveUserScramCredentialRecord("u", 2),
    r.BeginTransactionRecord("b"),
    r.EndTransactionRecord(),
    r.AbortTransactionRecord("a"),
    r.RemoveDelegationTokenRecord("token"),
    r.RegisterControllerRecord(1, ID, True, (ENDPOINT,), (FEATURE,)),
    r.ClearElrRecord("t"),
)

Codec = Callable[[bytes], tuple[bytes, Any]]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codec]:
    directory: Path = tmp_path_factory.mktemp("codec")
    with java(KAFKA_4_1, str(ROOT / "jvm" / "RecordCodec.java"), cwd=directory) as process:
        process.wait_for_line("READY")

        def through(value: bytes) -> tuple[bytes, Any]:
            process.say(value.hex())
            _, found, text = process.wait_for_line("BYTES ").split(" ", 2)
            return bytes.fromhex(found), json.loads(text)

        yield through


def oldest(record: r.MetadataRecord) -> int:
    """The first version that has a field for everything a record of this kind must say."""
    return 1 if isinstance(record, r.RegisterBrokerRecord) else 0


def test_every_kind_of_record_is_tried() -> None:
    assert [type(record) for record in FULL] == list(SCHEMAS)


def test_kafka_reads_what_we_write_and_writes_the_same(kafka: Codec) -> None:
    for record in FULL:
        for version in range(oldest(record), SCHEMAS[type(record)].newest + 1):
            written = Versioned(record, version)
            value = encode_record(written)
            theirs, shown = kafka(value)
            assert theirs == value, written
            assert shown == to_json(written)["data"]
            assert encode_record(decode_record(value)) == value


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_whole_logs_are_the_same_in_both(kafka: Codec, seed: int) -> None:
    for entry in played(seed).log:
        value = encode_record(entry.versioned)
        theirs, shown = kafka(value)
        assert theirs == value
        assert shown == to_json(entry.versioned)["data"]
