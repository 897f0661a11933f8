"""The log of runs on Kafka: errors that the client reports in ways of its own."""

from __future__ import annotations

from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from kedge.cluster.access import Access
from kedge.cluster.kafka_log import KafkaLog
from kedge.cluster.log_port import LogEntry
from kedge.cluster.memory import MemoryCluster
from kedge.errors import WriterFenced

FENCED = KafkaException(KafkaError(KafkaError._FENCED, "fenced", fatal=True))


class FencedProducer:
    """Reports that it was fenced as the client does while deliveries are reported."""

    def __init__(self, cause: BaseException | None) -> None:
        self.cause = cause

    def begin_transaction(self) -> None: ...

    def produce(self, *_: Any, **__: Any) -> None: ...

    def flush(self, _: float) -> None:
        raise SystemError("a callback returned a result with an exception set") from self.cause


def log_with(producer: FencedProducer) -> KafkaLog:
    log = KafkaLog(MemoryCluster(1), "127.0.0.1:1", Access())
    log._writer = cast("Producer", producer)
    return log


def test_a_fatal_error_out_of_a_callback_is_that_error() -> None:
    log = log_with(FencedProducer(FENCED))
    with pytest.raises(WriterFenced):
        log.append([LogEntry("k", b"v")])
    with pytest.raises(WriterFenced, match="become the writer again"):
        log.append([LogEntry("k", b"v")])


def test_another_error_of_the_interpreter_is_not_hidden() -> None:
    with pytest.raises(SystemError):
        log_with(FencedProducer(ValueError())).append([LogEntry("k", b"v")])
