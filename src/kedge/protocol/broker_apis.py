"""The requests between controllers and brokers: their keys and versions, and how they are framed.

frame = LEADER_AND_ISR.encode_request(7, request, correlation=3, client="1000")
response = LEADER_AND_ISR.decode_response(7, payload)[1]
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from kedge.protocol import broker_messages as m
from kedge.protocol.framing import framed
from kedge.protocol.reader import Reader
from kedge.protocol.schema import STRING, Read, Struct, Write, skip_tagged

_HEADER = struct.Struct(">hhi")
_CORRELATION = struct.Struct(">i")


class BrokerHeader(NamedTuple):
    """What a request begins with."""

    version: int
    correlation: int
    client: str | None


@dataclass(frozen=True, slots=True)
class BrokerApi:
    """One kind of request and its answer; versions from `flexible` on have compact lengths."""

    key: int
    name: str
    request: Struct
    response: Struct
    oldest: int
    newest: int
    flexible: int

    def speaks(self, version: int) -> bool:
        """Whether this version is understood."""
        return self.oldest <= version <= self.newest

    # ---- the side that asks -----------------------------------------------------------------

    def encode_request(self, version: int, request: Any, *, correlation: int, client: str) -> bytes:
        """A framed request, in a version that this API speaks."""
        assert self.speaks(version), f"{self.name} is not written in version {version}"
        flexible = version >= self.flexible
        out = bytearray(_HEADER.pack(self.key, version, correlation))
        STRING.writer(version, flexible=False)(out, client)
        if flexible:
            out.append(0)
        _writer(self.request, version, flexible)(out, request)
        return framed(out)

    def decode_response(self, version: int, payload: bytes) -> tuple[int, Any]:
        """The correlation and the answer of a payload."""
        flexible = version >= self.flexible
        reader = Reader(payload)
        correlation = reader.int32()
        if flexible:
            skip_tagged(reader)
        return correlation, _reader(self.response, version, flexible)(reader)

    # ---- the side that answers ------------------------------------------------------------------

    def decode_request(self, payload: bytes) -> tuple[BrokerHeader, Any]:
        """Header and body of a payload whose key and version are known to be understood."""
        reader = Reader(payload)
        _, version, correlation = reader.int16(), reader.int16(), reader.int32()
        client = reader.text(compact=False)
        flexible = version >= self.flexible
        if flexible:
            skip_tagged(reader)
        body = _reader(self.request, version, flexible)(reader)
        return BrokerHeader(version, correlation, client), body

    def encode_response(self, header: BrokerHeader, response: Any) -> bytes:
        """A framed answer, in the request's version."""
        assert self.speaks(header.version), f"{self.name} is not written in {header.version}"
        flexible = header.version >= self.flexible
        out = bytearray(_CORRELATION.pack(header.correlation))
        if flexible:
            out.append(0)
        _writer(self.response, header.version, flexible)(out, response)
        return framed(out)


@cache
def _writer(message: Struct, version: int, flexible: bool) -> Write:
    return message.writer(version, flexible=flexible)


@cache
def _reader(message: Struct, version: int, flexible: bool) -> Read:
    return message.reader(version, flexible=flexible)


def encode_part(message: Struct, version: int, value: Any) -> bytes:
    """A part of a request of a flexible version by itself, to be shared by several requests."""
    out = bytearray()
    _writer(message, version, True)(out, value)
    return bytes(out)


def decode_body(message: Struct, version: int, payload: bytes, *, flexible: bool) -> Any:
    """A message without its header."""
    return _reader(message, version, flexible)(Reader(payload))


def encode_body(message: Struct, version: int, value: Any, *, flexible: bool) -> bytes:
    """A message without its header."""
    out = bytearray()
    _writer(message, version, flexible)(out, value)
    return bytes(out)


LEADER_AND_ISR = BrokerApi(
    4, "LeaderAndIsr", m.LEADER_AND_ISR_REQUEST, m.LEADER_AND_ISR_RESPONSE, 4, 7, 4
)
STOP_REPLICA = BrokerApi(5, "StopReplica", m.STOP_REPLICA_REQUEST, m.STOP_REPLICA_RESPONSE, 3, 4, 2)
UPDATE_METADATA = BrokerApi(
    6, "UpdateMetadata", m.UPDATE_METADATA_REQUEST, m.UPDATE_METADATA_RESPONSE, 6, 8, 6
)
CONTROLLED_SHUTDOWN = BrokerApi(
    7, "ControlledShutdown", m.CONTROLLED_SHUTDOWN_REQUEST, m.CONTROLLED_SHUTDOWN_RESPONSE, 1, 3, 3
)
ALTER_PARTITION = BrokerApi(
    56, "AlterPartition", m.ALTER_PARTITION_REQUEST, m.ALTER_PARTITION_RESPONSE, 0, 3, 0
)
ALLOCATE_PRODUCER_IDS = BrokerApi(
    67,
    "AllocateProducerIds",
    m.ALLOCATE_PRODUCER_IDS_REQUEST,
    m.ALLOCATE_PRODUCER_IDS_RESPONSE,
    0,
    0,
    0,
)

SENT_BY_CONTROLLERS: Mapping[int, BrokerApi] = MappingProxyType(
    {api.key: api for api in (LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA)}
)
SENT_BY_BROKERS: Mapping[int, BrokerApi] = MappingProxyType(
    {api.key: api for api in (CONTROLLED_SHUTDOWN, ALTER_PARTITION, ALLOCATE_PRODUCER_IDS)}
)
