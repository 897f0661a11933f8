"""Errors of librdkafka and of Spark's Kafka connector as errors of one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kedge.cluster.access import access_from
from kedge.errors import (
    AuthenticationFailed,
    BrokerFailed,
    ClusterUnavailable,
    InvalidRequest,
    KedgeError,
    SparkUnavailable,
    Unauthorised,
    UnknownTopicOrPartition,
)
from kedge.pipeline.jobs.kafka_producer import (
    KafkaSender,
    _translate_error,
    librdkafka_settings,
)
from kedge.pipeline.jobs.stream import _stream_error

NO_BROKER = "127.0.0.1:1"


@dataclass
class Failure:
    """An error as librdkafka reports it."""

    code: str
    is_fatal: bool = False

    def name(self) -> str:
        return self.code

    def fatal(self) -> bool:
        return self.is_fatal


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("UNKNOWN_TOPIC_OR_PART", UnknownTopicOrPartition),
        ("_AUTHENTICATION", AuthenticationFailed),
        ("TOPIC_AUTHORIZATION_FAILED", Unauthorised),
        ("_MSG_TIMED_OUT", ClusterUnavailable),
        ("MSG_SIZE_TOO_LARGE", BrokerFailed),
    ],
)
def test_an_error_of_the_producer_has_its_kind(code: str, kind: type[KedgeError]) -> None:
    assert type(_translate_error(Failure(code), "metrics")) is kind


def test_the_first_failed_delivery_is_raised_by_the_next_call() -> None:
    sender = KafkaSender(NO_BROKER, "metrics", {})
    sender._on_delivery(None, None)
    sender._on_delivery(Failure("MSG_SIZE_TOO_LARGE"), None)
    sender._on_delivery(Failure("_MSG_TIMED_OUT"), None)
    assert sender.sent == 1
    with pytest.raises(BrokerFailed, match="MSG_SIZE_TOO_LARGE"):
        sender(b"value", b"key")


def test_only_permanent_errors_of_connections_are_raised() -> None:
    sender = KafkaSender(NO_BROKER, "metrics", {})
    sender._on_error(Failure("_TRANSPORT"))
    sender._raise()
    sender._on_error(Failure("_SSL"))
    with pytest.raises(AuthenticationFailed):
        sender._raise()


def test_pem_text_and_files_become_settings_of_librdkafka(tmp_path: Path) -> None:
    text = access_from(
        {
            "security.protocol": "SSL",
            "ssl.keystore.key": "KEY",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.keystore.type": "PEM",
            "ssl.endpoint.identification.algorithm": "",
        }
    )
    found = librdkafka_settings(text)
    assert found["ssl.endpoint.identification.algorithm"] == "none"
    assert (found["ssl.key.pem"], found["ssl.certificate.pem"]) == ("KEY", "CHAIN")
    for name, location in (("a.p12", "ssl.keystore.location"), ("a.pem", "ssl.key.location")):
        path = str(tmp_path / name)
        kind = "PKCS12" if name.endswith("p12") else "PEM"
        stored = {"ssl.keystore.location": path, "ssl.keystore.type": kind}
        access = access_from({"security.protocol": "SSL", **stored, "ssl.keystore.password": "p"})
        assert librdkafka_settings(access)[location] == path


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("Partition t-0's offset was changed from 9 to 0", InvalidRequest, "next offsets"),
        ("UnknownTopicOrPartitionException", UnknownTopicOrPartition, "does not exist any more"),
        ("x\n[STREAM_FAILED] query terminated\ny", SparkUnavailable, "[STREAM_FAILED] query"),
        ("", SparkUnavailable, "no reason"),
    ],
)
def test_an_error_of_the_stream_has_its_kind(
    text: str, kind: type[KedgeError], sentence: str
) -> None:
    error = _stream_error(text, "t")
    assert type(error) is kind
    assert sentence in str(error)
