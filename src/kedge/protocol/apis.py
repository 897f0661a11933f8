"""The supported client requests with their versions, and the codec of their headers and bodies.

The schemas are kafka-python's. A few of them still list versions that Kafka 4 has dropped; the
range here is what both the schemas and Kafka's own clients from 2.0 on support.
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
    """One kind of request, its response, and the supported versions."""

    key: int
    request: type[m.ApiMessage]
    response: type[m.ApiMessage]
    oldest: int
    newest: int

    @property
    def name(self) -> str:
        """The name of the request, such as `CreateTopics`."""
        return self.request.__name__.removesuffix("Request")

    def supports(self, version: int) -> bool:
        """Return whether this version is supported."""
        return self.oldest <= version <= self.newest

    def is_flexible(self, version: int) -> bool:
        """Return whether this version has compact lengths and tagged fields (KIP-482)."""
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
# what the listener of a KRaft controller answers beside what `kraft_apis` describes
CONTROLLER_APIS: Mapping[int, Api] = MappingProxyType(
    {
        api.key: api
        for api in (
            *(APIS[key] for key in (17, 18, 36, 19, 20, 32, 33, 37, 43, 44, 45, 46, 60)),
            _api(m.CreateAclsRequest, m.CreateAclsResponse),
            _api(m.DeleteAclsRequest, m.DeleteAclsResponse),
            _api(m.AlterClientQuotasRequest, m.AlterClientQuotasResponse),
            _api(m.AlterUserScramCredentialsRequest, m.AlterUserScramCredentialsResponse),
            _api(m.DescribeQuorumRequest, m.DescribeQuorumResponse),
            _api(m.UpdateFeaturesRequest, m.UpdateFeaturesResponse),
        )
    }
)
API_VERSIONS = APIS[18]
SASL_HANDSHAKE, SASL_AUTHENTICATE = APIS[17], APIS[36]


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """The header of a request."""

    api: Api
    version: int
    correlation: int
    client: str | None

    @property
    def is_supported(self) -> bool:
        """Whether the body can be decoded."""
        return self.api.supports(self.version)


def decode_header(reader: Reader, apis: Mapping[int, Api] = APIS) -> RequestHeader:
    """Decode the header; raise MalformedMessage for a request that is not among `apis`.

    An unsupported version of ApiVersions is not an error here, since it must be answered.
    """
    key, version, correlation = reader.int16(), reader.int16(), reader.int32()
    api = apis.get(key)
    if api is None or (not api.supports(version) and api is not API_VERSIONS):
        raise MalformedMessage(f"request {key} of version {version} is not known here")
    client = reader.text(compact=False)
    if api.supports(version) and api.is_flexible(version):
        reader.skip_tagged_fields()
    return RequestHeader(api, version, correlation, client)


def decode_request(header: RequestHeader, reader: Reader) -> m.ApiMessage:
    """Decode the body of a request of a supported version."""
    return decode(header.api.request, header.version, reader)


def encode_response(header: RequestHeader, response: m.ApiMessage) -> bytes:
    """Encode the frame of a response.

    The response to ApiVersions has the old header in all versions, and version 0 if the requested
    version is not supported: the client does not know the supported versions yet (KIP-511).
    """
    version = header.version if header.is_supported else 0
    flexible = header.api.is_flexible(version) and header.api is not API_VERSIONS
    top: Any = m.ResponseHeader(correlation_id=header.correlation)
    message: Any = response
    return framed(top.encode(flexible=flexible) + message.encode(version=version))
