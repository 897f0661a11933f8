"""Messages of KRaft, byte for byte against Kafka 4.1's own classes; and Kafka's tool on our log."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jvm import KAFKA_4_1, ROOT, SMALL, classpath, java
from kedge.kraft import SnapshotDue
from kedge.metadata import EMPTY, Versioned, replay_all
from kedge.metadata.records import FeatureLevelRecord, TopicRecord
from kedge.metadata_log import MetadataDirectory
from kedge.metadata_log.checkpoints import SnapshotVoters, path_of
from kedge.protocol.kraft_apis import KRAFT_APIS
from kedge.protocol.metadata_records import encode_record
from kedge.quorum.node import AppendBatches, StoreElection
from kedge.quorum.values import (
    Batch,
    Election,
    EpochOffset,
    KRaftVersionChange,
    LeaderChange,
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VotersChange,
    VoterSet,
)
from tests.protocol.broker_strategies import encode_body
from tests.protocol.drawn_messages import drawn

pytestmark = pytest.mark.real

Codec = Callable[[str, int, int, bytes], bytes]
ALTER_PARTITION_OLDEST = 2  # in 4.1


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codec]:
    directory = tmp_path_factory.mktemp("codec")
    with java(KAFKA_4_1, str(ROOT / "jvm" / "MessageCodec.java"), cwd=directory) as process:
        process.wait_for_line("READY")

        def through(kind: str, key: int, version: int, body: bytes) -> bytes:
            process.say(f"{kind} {key} {version} {body.hex()}")
            _, found, text = process.wait_for_line("BYTES ").split(" ", 2)
            json.loads(text)
            return bytes.fromhex(found)

        yield through


def test_kafka_reads_what_we_write_and_writes_the_same(kafka: Codec) -> None:
    rng = random.Random(20)
    for key, api in KRAFT_APIS.items():
        oldest = max(api.oldest, ALTER_PARTITION_OLDEST) if key == 56 else api.oldest
        for version in range(oldest, api.newest + 1):
            flexible = version >= api.flexible
            for kind, message in (("request", api.request), ("response", api.response)):
                for _ in range(6):
                    value = drawn(message, version, rng)
                    body = encode_body(message, version, value, flexible=flexible)
                    assert kafka(kind, key, version, body) == body, (api.name, kind, version)


VOTERS = VoterSet(
    [Voter(ReplicaKey(1, "zzzzzzzzzzzzzzzzzzzzzQ"), (VoterEndpoint("C", "h", 9),), 0, 1)]
)


def test_kafkas_tool_reads_log_and_snapshot(tmp_path: Path) -> None:
    directory = MetadataDirectory(tmp_path, VOTERS, now_ms=lambda: 1_700_000_000_000)
    directory.open()
    head = LeaderChange(1, (1,), (1,)), KRaftVersionChange(1), VotersChange(VOTERS)
    topic = Versioned(TopicRecord("orders", "zzzzzzzzzzzzzzzzzzzzzQ"))
    directory.carry_out(
        [
            StoreElection(Election(1, 1, None)),
            AppendBatches((Batch(0, 1, (), head), Batch(3, 1, (encode_record(topic),)))),
        ]
    )
    image = replay_all(EMPTY, (FeatureLevelRecord("metadata.version", 27), topic.record))
    due = SnapshotDue(EpochOffset(1, 4), image, 1_700_000_000_000)
    info = directory.write_snapshot(due, SnapshotVoters(1, VOTERS))
    directory.close()
    log = directory.path / f"{0:020d}.log"
    dumped = _dump(f"{log},{path_of(directory.path, info.id)}", tmp_path)
    assert dumped.count("isvalid: true") == 2 + 3
    assert "isvalid: false" not in dumped
    for shown in ('"leaderId":1', '"name":"orders"', "KRaftVoters", "SnapshotHeader", "Footer"):
        assert shown in dumped


def _dump(files: str, directory: Path) -> str:
    command = ["java", *SMALL, "-cp", classpath(KAFKA_4_1), "kafka.tools.DumpLogSegments"]
    done = subprocess.run(
        [*command, "--cluster-metadata-decoder", "--files", files],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
