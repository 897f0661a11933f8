"""Our messages between controllers and brokers, byte for byte against Kafka's own classes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jvm import KAFKA_3_9, ROOT, java
from kedge.protocol import broker_messages as m
from tests.protocol.broker_strategies import ALL, VERSIONS, decode_body, encode_body

pytestmark = pytest.mark.real

Codec = Callable[[str, int, int, bytes], tuple[bytes, Any]]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codec]:
    directory: Path = tmp_path_factory.mktemp("codec")
    with java(KAFKA_3_9, str(ROOT / "jvm" / "MessageCodec.java"), cwd=directory) as process:
        process.wait_for_line("READY")

        def through(kind: str, key: int, version: int, body: bytes) -> tuple[bytes, Any]:
            process.say(f"{kind} {key} {version} {body.hex()}")
            _, found, text = process.wait_for_line("BYTES ").split(" ", 2)
            return bytes.fromhex(found), json.loads(text)

        yield through


def test_kafka_reads_what_we_write_and_writes_the_same(kafka: Codec) -> None:
    command = [sys.executable, "-m", "tests.protocol.broker_strategies", "12"]
    drawn = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen: set[tuple[str, int, int]] = set()
    for line in drawn.stdout.splitlines():
        kind, key, version, text = line.split(" ")
        body = bytes.fromhex(text)
        api = ALL[int(key)]
        message = api.request if kind == "request" else api.response
        theirs, _ = kafka(kind, api.key, int(version), body)
        assert theirs == body, line
        flexible = int(version) >= api.flexible
        value = decode_body(message, int(version), theirs, flexible=flexible)
        assert encode_body(message, int(version), value, flexible=flexible) == body
        seen.add((kind, api.key, int(version)))
    assert len(seen) == 2 * len(VERSIONS)


def test_fields_mean_to_kafka_what_they_mean_to_us(kafka: Codec) -> None:
    topic_id = "AAAAAAAAAAAAAAAAAAAABw"
    lead = m.LeaderAndIsrPartition(1, 2, 3, 4, (5,), 6, (7,), (8,), (9,), True, 1)
    request = m.LeaderAndIsrRequest(
        10,
        11,
        12,
        (m.LeaderAndIsrTopic("t", (lead,), topic_id),),
        (m.LiveLeader(13, "h", 14),),
        False,
        1,
    )
    body = encode_body(ALL[4].request, 7, request, flexible=True)
    assert kafka("request", 4, 7, body)[1] == {
        "controllerId": 10, "isKRaftController": False, "controllerEpoch": 11, "brokerEpoch": 12,
        "type": 1, "topicStates": [{"topicName": "t", "topicId": topic_id, "partitionStates": [
            {"partitionIndex": 1, "controllerEpoch": 2, "leader": 3, "leaderEpoch": 4, "isr": [5],
             "partitionEpoch": 6, "replicas": [7], "addingReplicas": [8], "removingReplicas": [9],
             "isNew": True, "leaderRecoveryState": 1}]}],
        "liveLeaders": [{"brokerId": 13, "hostName": "h", "port": 14}],
    }  # fmt: skip
    known = m.MetadataPartition(1, 2, 3, 4, (5,), 6, (7,), (8,))
    broker = m.LiveBroker(9, (m.BrokerEndpoint(10, "h", "l", 2),), "r")
    content = m.MetadataContent((m.MetadataTopic("t", (known,), topic_id),), (broker,))
    body = encode_body(
        ALL[6].request, 8, m.UpdateMetadataRequest(11, 12, 13, content), flexible=True
    )
    assert kafka("request", 6, 8, body)[1] == {
        "controllerId": 11, "isKRaftController": False, "controllerEpoch": 12, "brokerEpoch": 13,
        "topicStates": [{"topicName": "t", "topicId": topic_id, "partitionStates": [
            {"partitionIndex": 1, "controllerEpoch": 2, "leader": 3, "leaderEpoch": 4, "isr": [5],
             "zkVersion": 6, "replicas": [7], "offlineReplicas": [8]}]}],
        "liveBrokers": [{"id": 9, "rack": "r", "endpoints": [
            {"port": 10, "host": "h", "listener": "l", "securityProtocol": 2}]}],
    }  # fmt: skip
    stop = m.StopReplicaRequest(
        1, 2, 3, (m.StopReplicaTopic("t", (m.StopReplicaPartition(4, 5, True),)),)
    )
    body = encode_body(ALL[5].request, 4, stop, flexible=True)
    assert kafka("request", 5, 4, body)[1]["topicStates"] == [
        {
            "topicName": "t",
            "partitionStates": [{"partitionIndex": 4, "leaderEpoch": 5, "deletePartition": True}],
        }
    ]
    altered = m.AlteredPartition(1, 2, 3, 4, (5,), 1, 6)
    answer = m.AlterPartitionResponse(7, (m.AlteredTopic((altered,), topic_id=topic_id),), 8)
    body = encode_body(ALL[56].response, 3, answer, flexible=True)
    assert kafka("response", 56, 3, body)[1] == {
        "throttleTimeMs": 8, "errorCode": 7, "topics": [{"topicId": topic_id, "partitions": [
            {"partitionIndex": 1, "errorCode": 2, "leaderId": 3, "leaderEpoch": 4, "isr": [5],
             "leaderRecoveryState": 1, "partitionEpoch": 6}]}],
    }  # fmt: skip
    block = m.AllocateProducerIdsResponse(1, 2, 3, 4)
    body = encode_body(ALL[67].response, 0, block, flexible=True)
    assert kafka("response", 67, 0, body)[1] == {
        "throttleTimeMs": 4, "errorCode": 1, "producerIdStart": 2, "producerIdLen": 3,
    }  # fmt: skip
