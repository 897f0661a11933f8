"""The parts of the controller's process that need no cluster."""

from __future__ import annotations

import io
import json
import logging

import pytest

from kedge.brokers.wire_forms import Address
from kedge.controller.settings import Ibp, Settings
from kedge.errors import BrokerFailed, InvalidConfiguration, InvalidRequest
from kedge.model import BrokerId
from kedge.runtime import LogEntry
from kedge.service import (
    BrokerSettings,
    JsonLines,
    Options,
    ask_broker,
    parse_address,
    parse_protocol,
)
from kedge.service.process import initial_settings


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:9090", ("127.0.0.1", 9090)), ("[::1]:0", ("::1", 0)), ("host:1", ("host", 1))],
)
def test_addresses_are_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["9090", ":9090", "host:", "host:port", "host:70000", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not an address"):
        parse_address(text)


def test_protocols_from_2_6_on_are_spoken() -> None:
    assert parse_protocol("2.6") == Ibp((2, 6))
    assert parse_protocol("2.6-IV0") == Ibp((2, 6), 0)
    with pytest.raises(InvalidConfiguration, match="is older than"):
        parse_protocol("2.5")


def test_a_protocol_learned_from_a_broker_is_refused_below_the_oldest_that_is_spoken() -> None:
    options = Options("127.0.0.1:2181", Address("127.0.0.1", 0), take_over=True)
    old = BrokerSettings({"inter.broker.protocol.version": "2.5-IV0"})
    with pytest.raises(InvalidConfiguration, match=r"inter-broker protocol 2\.5-IV0 is older than"):
        initial_settings(options, old)
    learned = BrokerSettings({"inter.broker.protocol.version": "2.6-IV0"})
    assert initial_settings(options, learned).ibp == Ibp((2, 6), 0)
    assert initial_settings(options, None) == Settings(take_over=True)


def test_the_log_is_one_json_object_a_line_and_long_lists_are_cut() -> None:
    stream = io.StringIO()
    lines = JsonLines(stream)
    odd = {"partitions": list(range(100)), "event": "x" * 5000}
    lines.sink(LogEntry("TopicsChanged", "done", details=odd))
    record = logging.LogRecord("kedge.x", logging.WARNING, "f", 1, "odd: %s", ("that",), None)
    lines.handle(record)
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["severity"], first["what"]) == ("info", "done")
    assert first["partitions"] == ["0", "1", "2", "3", "4", "… 100 in all"]
    assert first["event"].endswith("x… (5000 characters)")
    assert len(first["event"]) < 500
    assert (second["severity"], second["what"], second["where"]) == (
        "warning",
        "odd: that",
        "kedge.x",
    )


def test_what_is_set_on_brokers_is_heeded_and_what_is_not_is_kafkas_default() -> None:
    told = BrokerSettings({
        "inter.broker.protocol.version": "2.8-IV1", "delete.topic.enable": "false",
        "num.partitions": "7", "offsets.topic.num.partitions": "5",
        "transaction.state.log.min.isr": "1", "leader.imbalance.per.broker.percentage": "odd",
    })  # fmt: skip
    assert told.protocol == Ibp((2, 8), 1)
    settings = told.for_controller(Settings(take_over=True))
    assert (settings.delete_topics, settings.take_over) == (False, True)
    assert settings.imbalance_percentage_max == 10
    clients = told.for_clients()
    assert clients.defaults.partitions == 7
    assert clients.auto_create.offsets.partitions == 5
    assert clients.auto_create.offsets.replication_factor == 3
    assert clients.auto_create.transactions.min_isr == 1
    assert not clients.deletion_enabled


def test_a_broker_that_does_not_answer_is_reported() -> None:
    with pytest.raises(BrokerFailed, match=r"broker 3 at 127\.0\.0\.1:1 does not answer"):
        ask_broker(BrokerId(3), Address("127.0.0.1", 1))


def test_a_protocol_that_cannot_be_read_is_unknown() -> None:
    assert BrokerSettings({"inter.broker.protocol.version": "newest"}).protocol is None
    assert BrokerSettings({}).protocol is None


def test_errors_and_messages_are_logged_with_their_details() -> None:
    stream = io.StringIO()
    lines = JsonLines(stream)
    try:
        raise ValueError("odd")
    except ValueError as error:
        trace = (ValueError, error, error.__traceback__)
    lines.handle(logging.LogRecord("kedge.x", logging.ERROR, "f", 1, "failed", (), trace))
    lines.note("listening", port=9090)
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["severity"], first["what"], first["error"]) == (
        "error",
        "failed",
        "ValueError('odd')",
    )
    assert (second["severity"], second["what"], second["port"]) == ("info", "listening", 9090)
