"""The brokers' settings, read from one of them, so that an operator does not give them twice.

A controller acts on settings that Kafka has in the brokers' files: the default number of
partitions, whether topics may be deleted, the size of the internal topics, the inter-broker
protocol. Any broker describes them.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kedge.brokers.wire_forms import Address
from kedge.controller.settings import Ibp, Settings
from kedge.endpoint import ClusterSettings
from kedge.errors import BrokerFailed, KedgeError
from kedge.model import BrokerId
from kedge.protocol import PREFIX_BYTES, Reader, decode, frame_length, framed
from kedge.protocol.messages import DescribeConfigsRequest, DescribeConfigsResponse
from kedge.topics import AutoCreate, Defaults
from kedge.topics.auto_create import InternalTopic

_BROKER = 4
_VERSION = 1  # of DescribeConfigs: the oldest with the source of a value
_KEY = 32
_TIMEOUT_S = 5.0


def ask_broker(broker: BrokerId, at: Address) -> dict[str, str]:
    """All settings of a broker that are not sensitive."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_BROKER, resource_name=str(broker), configuration_keys=None
    )
    request: Any = DescribeConfigsRequest(resources=[resource], include_synonyms=False)
    header = struct.pack(">hhih", _KEY, _VERSION, 0, 5) + b"kedge"
    try:
        payload = _exchange(at, header + request.encode(version=_VERSION))
    except OSError as error:
        raise BrokerFailed(f"broker {broker} at {at.host}:{at.port} does not answer") from error
    reader = Reader(payload)
    reader.int32()
    answer: Any = decode(DescribeConfigsResponse, _VERSION, reader)
    (result,) = answer.results
    if result.error_code:
        raise BrokerFailed(f"broker {broker} did not return its settings: {result.error_message}")
    return {c.name: c.value for c in result.configs if c.value is not None}


def _exchange(at: Address, payload: bytes) -> bytes:
    with socket.create_connection(at, timeout=_TIMEOUT_S) as connection:
        connection.sendall(framed(payload))
        return _receive(connection, frame_length(_receive(connection, PREFIX_BYTES)))


def _receive(connection: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        some = connection.recv(size - len(found))
        if not some:
            raise ConnectionResetError("the broker closed the connection")
        found += some
    return bytes(found)


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """A broker's settings as a controller needs them; missing ones have Kafka's defaults."""

    values: Mapping[str, str]

    def integer(self, name: str, default: int) -> int:
        """A setting that is an integer."""
        try:
            return int(self.values.get(name, default))
        except ValueError:
            return default

    def flag(self, name: str, *, default: bool) -> bool:
        """A setting that is a boolean."""
        return self.values.get(name, str(default)).strip().lower() == "true"

    @property
    def protocol(self) -> Ibp | None:
        """The inter-broker protocol version, if it can be read."""
        try:
            return Ibp.parse(self.values.get("inter.broker.protocol.version", ""))
        except KedgeError:
            return None

    def for_controller(self, now: Settings) -> Settings:
        """The controller's settings; the protocol is not changed."""
        return replace(
            now,
            delete_topics=self.flag("delete.topic.enable", default=True),
            auto_rebalance=self.flag("auto.leader.rebalance.enable", default=True),
            imbalance_percentage_max=self.integer("leader.imbalance.per.broker.percentage", 10),
            imbalance_check_seconds=self.integer("leader.imbalance.check.interval.seconds", 300),
            unclean_elections=self.flag("unclean.leader.election.enable", default=False),
        )

    def for_clients(self) -> ClusterSettings:
        """The settings that requests of clients are answered by."""
        return ClusterSettings(
            defaults=Defaults(
                self.integer("num.partitions", 1), self.integer("default.replication.factor", 1)
            ),
            auto_create=AutoCreate(
                self.flag("auto.create.topics.enable", default=True),
                InternalTopic(
                    self.integer("offsets.topic.num.partitions", 50),
                    self.integer("offsets.topic.replication.factor", 3),
                    self.integer("offsets.topic.segment.bytes", 104_857_600),
                ),
                InternalTopic(
                    self.integer("transaction.state.log.num.partitions", 50),
                    self.integer("transaction.state.log.replication.factor", 3),
                    self.integer("transaction.state.log.segment.bytes", 104_857_600),
                    self.integer("transaction.state.log.min.isr", 2),
                ),
            ),
            deletion_enabled=self.flag("delete.topic.enable", default=True),
        )
