"""The node of a broker in KRaft mode: changes are forwarded to the active controller.

Kafka's brokers put such a request into an Envelope. Here its bytes go to the handlers of the
controller (`kedge.kraft_rpc`) in the same process.
"""

from __future__ import annotations

from kedge.endpoint.dispatch import Answer, Node
from kedge.endpoint.handlers.cluster import supported
from kedge.kraft_rpc.dispatch import api_versions
from kedge.lab.kraft.lab_quorum import LabQuorum
from kedge.lab.kraft.quorum_client import QuorumClient
from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.protocol import API_VERSIONS, Reader, decode_header, encode_response
from kedge.protocol.apis import CONTROLLER_APIS
from kedge.protocol.kraft_apis import KRAFT_APIS
from kedge.protocol.messages import ApiVersionsResponse
from kedge.protocol.runs_log import RUNS_LOG

_UNREGISTER_BROKER = 64
# topics, partitions, configs, elections, moves, quotas, credentials, quorum, features
FORWARDED = frozenset((19, 20, 33, 37, 43, 44, 45, 46, 49, 51, 55, 57, _UNREGISTER_BROKER))


class ForwardingNode:
    """Forwards what the controller answers, and lists it as supported."""

    def __init__(
        self, broker: BrokerId, own: Node, client: QuorumClient, quorum: LabQuorum
    ) -> None:
        self._broker = broker
        self._own = own
        self._client = client
        self._quorum = quorum

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a request; raises MalformedMessage where there is none."""
        key = int.from_bytes(payload[:2], "big")
        if key == API_VERSIONS.key:
            return self._api_versions(payload)
        if key in FORWARDED:
            return Answer(await self._client.forward(self._broker, payload))
        return await self._own.answer(payload)

    def _api_versions(self, payload: bytes) -> Answer:
        """The supported requests, with those that are forwarded, and the features."""
        header = decode_header(Reader(payload))
        served = self._quorum.served
        if not header.is_supported or served is None:
            known = ErrorCode.NONE if header.is_supported else ErrorCode.UNSUPPORTED_VERSION
            return Answer(encode_response(header, supported(known)))
        response = api_versions(served, header.version, known=True)
        row = ApiVersionsResponse.ApiVersion
        rows = {api.api_key: api for api in supported(ErrorCode.NONE).api_keys}
        others = [*(CONTROLLER_APIS.get(key) or KRAFT_APIS[key] for key in FORWARDED), RUNS_LOG]
        for api in others:
            rows[api.key] = row(api_key=api.key, min_version=api.oldest, max_version=api.newest)
        response.api_keys = [rows[key] for key in sorted(rows)]
        return Answer(encode_response(header, response))
