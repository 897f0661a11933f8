"""The requests that are understood, with their versions, and how they come and go.

The schemas are kafka-python's. A few of them still list versions that Kafka 4 has dropped; the
range here is what both the schemas and Kafka's own clients from 2.0 on can talk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kedge.errors import MalformedMessage
from kedge.protocol import messages as m
from kedge.protocol.decoding import decode
from kedge.protocol.framing import framed
from kedge.protocol.reader import Reader


@dataclass(frozen=True, slots=True)
class Api:
    """One kind of request, its answer, and the versions of both."""

    key: int
    request: type[m.ApiMessage]
    response: type[m.ApiMessage]
    oldest: int
    newest: int

    @property
    def name(self) -> str:
        """`CreateTopics` and the like."""
        return self.request.__name__.removesuffix("Request")

    def speaks(self, version: int) -> bool:
        """Whether this version is understood."""
        return self.oldest <= version <= self.newest

    def is_flexible(self, version: int) -> bool:
        """Whether this version has compact lengths and tagged fields (KIP-482)."""
        schema: Any = self.request
        return schema.flexible_version_q(version)


_PAIRS: tuple[tuple[type[m.ApiMessage], type[m.ApiMessage]], ...] = (
    (m.MetadataRequest, m.MetadataResponse),
    (m.FindCoordinatorRequest, m.FindCoordinatorResponse),
    (m.ListGroupsRequest, m.ListGroupsResponse),
    (m.SaslHandshakeRequest, m.SaslHandshakeResponse),
    (m.ApiVersionsRequest, m.ApiVersionsResponse),
    (m.CreateTopicsRequest, m.CreateTopicsResponse),
    (m.DeleteTopicsRequest, m.DeleteTopicsResponse),
    (m.DescribeConfigsRequest, m.DescribeConfigsResponse),
    (m.AlterConfigsRequest, m.AlterConfigsResponse),
    (m.AlterReplicaLogDirsRequest, m.AlterReplicaLogDirsResponse),
    (m.DescribeLogDirsRequest, m.DescribeLogDirsResponse),
    (m.CreatePartitionsRequest, m.CreatePartitionsResponse),
    (m.SaslAuthenticateRequest, m.SaslAuthenticateResponse),
    (m.ElectLeadersRequest, m.ElectLeadersResponse),
    (m.IncrementalAlterConfigsRequest, m.IncrementalAlterConfigsResponse),
    (m.AlterPartitionReassignmentsRequest, m.AlterPartitionReassignmentsResponse),
    (m.ListPartitionReassignmentsRequest, m.ListPartitionReassignmentsResponse),
    (m.DescribeClusterRequest, m.DescribeClusterResponse),
    (m.DescribeTopicPartitionsRequest, m.DescribeTopicPartitionsResponse),
)


def _api(request: type[m.ApiMessage], response: type[m.ApiMessage]) -> Api:
    schema: Any = request
    oldest, newest = schema.valid_versions
    return Api(schema.API_KEY, request, response, oldest, newest)


APIS: Mapping[int, Api] = MappingProxyType(
    {api.key: api for api in (_api(*pair) for pair in _PAIRS)}
)
API_VERSIONS = APIS[18]
SASL_HANDSHAKE, SASL_AUTHENTICATE = APIS[17], APIS[36]


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """What every request begins with."""

    api: Api
    version: int
    correlation: int
    client: str | None

    @property
    def is_understood(self) -> bool:
        """Whether the body can be read."""
        return self.api.speaks(self.version)


def decode_header(reader: Reader) -> RequestHeader:
    """The header, or MalformedMessage for a request that nobody here knows.

    A version beyond those known is told apart later, since ApiVersions must be answered even so.
    """
    key, version, correlation = reader.int16(), reader.int16(), reader.int32()
    api = APIS.get(key)
    if api is None or (not api.speaks(version) and api is not API_VERSIONS):
        raise MalformedMessage(f"request {key} of version {version} is not known here")
    client = reader.text(compact=False)
    if api.speaks(version) and api.is_flexible(version):
        skip_tagged(reader)
    return RequestHeader(api, version, correlation, client)


def skip_tagged(reader: Reader) -> None:
    """Pass over tagged fields."""
    for _ in range(reader.varint()):
        reader.varint()
        reader.take(reader.varint())


def decode_request(header: RequestHeader, reader: Reader) -> m.ApiMessage:
    """The body of a request whose version is understood."""
    return decode(header.api.request, header.version, reader)


def encode_response(header: RequestHeader, response: m.ApiMessage) -> bytes:
    """The frame that answers a request.

    ApiVersions is answered with the old header whatever its version, and in version 0 if the
    version asked for is not known: the caller cannot yet know what we speak (KIP-511).
    """
    version = header.version if header.is_understood else 0
    flexible = header.api.is_flexible(version) and header.api is not API_VERSIONS
    top: Any = m.ResponseHeader(correlation_id=header.correlation)
    message: Any = response
    return framed(top.encode(flexible=flexible) + message.encode(version=version))
