"""The requests between controllers and brokers: their keys and versions, and their codec.

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
from kedge.protocol.schema import STRING, Read, Struct, Write

_HEADER = struct.Struct(">hhi")
_CORRELATION = struct.Struct(">i")


class BrokerHeader(NamedTuple):
    """The header of a request."""

    version: int
    correlation: int
    client: str | None


@dataclass(frozen=True, slots=True)
class BrokerApi:
    """One kind of request and its response; versions from `flexible` on have compact lengths."""

    key: int
    name: str
    request: Struct
    response: Struct
    oldest: int
    newest: int
    flexible: int

    def supports(self, version: int) -> bool:
        """Return whether this version is supported."""
        return self.oldest <= version <= self.newest

    # ---- client side -----------------------------------------------------------------------

    def encode_request(self, version: int, request: Any, *, correlation: int, client: str) -> bytes:
        """Encode a framed request, in a supported version."""
        assert self.supports(version), f"{self.name} does not support version {version}"
        flexible = version >= self.flexible
        out = bytearray(_HEADER.pack(self.key, version, correlation))
        STRING.writer(version, flexible=False)(out, client)
        if flexible:
            out.append(0)
        _writer(self.request, version, flexible)(out, request)
        return framed(out)

    def decode_response(self, version: int, payload: bytes) -> tuple[int, Any]:
        """Decode the correlation id and the response of a payload."""
        flexible = version >= self.flexible
        reader = Reader(payload)
        correlation = reader.int32()
        if flexible:
            reader.skip_tagged_fields()
        return correlation, _reader(self.response, version, flexible)(reader)

    # ---- server side ---------------------------------------------------------------------------

    def decode_request(self, payload: bytes) -> tuple[BrokerHeader, Any]:
        """Decode header and body of a payload of a supported key and version."""
        reader = Reader(payload)
        _, version, correlation = reader.int16(), reader.int16(), reader.int32()
        client = reader.text(compact=False)
        flexible = version >= self.flexible
        if flexible:
            reader.skip_tagged_fields()
        body = _reader(self.request, version, flexible)(reader)
        return BrokerHeader(version, correlation, client), body

    def encode_response(self, header: BrokerHeader, response: Any) -> bytes:
        """Encode a framed response, in the request's version."""
        assert self.supports(header.version), f"{self.name} does not support {header.version}"
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
    """Encode a part of a request of a flexible version, to be shared by several requests."""
    out = bytearray()
    _writer(message, version, True)(out, value)
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
