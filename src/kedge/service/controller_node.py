"""The node that is the controller of real brokers and not a broker itself.

    sender           request                                                     answered by
    brokers          AlterPartition, ControlledShutdown, AllocateProducerIds     the controller
    clients          topics, moves, elections                                    the controller
                     configs and directories of the node itself                  a stub
                     everything else                                             a real broker

ApiVersions is a broker's list with Kedge's versions of what is answered here, so that clients send
only versions that the answering side can read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kedge.endpoint.dispatch import LIGHT_BYTES, Answer, Node
from kedge.endpoint.handlers.cluster import supported
from kedge.endpoint.threads import WorkerLoop
from kedge.errors import MalformedMessage
from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.protocol import (
    API_VERSIONS,
    APIS,
    Api,
    Reader,
    decode,
    decode_header,
    decode_request,
    encode_response,
)
from kedge.protocol.broker_apis import SENT_BY_BROKERS
from kedge.protocol.messages import ApiVersionsResponse
from kedge.service.controller_stub import STUB_HANDLERS, concerns_only
from kedge.service.relay import Relay
from kedge.service.requests_from_brokers import BrokerRequests

T = TypeVar("T")

CONTROLLER_APIS = frozenset(
    {
        "AlterPartitionReassignments",
        "CreatePartitions",
        "CreateTopics",
        "DeleteTopics",
        "DescribeLogDirs",
        "ElectLeaders",
        "ListGroups",
        "ListPartitionReassignments",
    }
)

# ApiVersions of version 3, which every supported broker understands, from client "kedge"
_VERSION = 3
_API_VERSIONS_REQUEST = struct.pack(">hhih", 18, _VERSION, 0, 5) + b"kedge\0" + b"\x06kedge\x021\0"


class ControllerNode:
    """Answers requests to the controller's node."""

    def __init__(
        self,
        node: BrokerId,
        own: Node,
        brokers: BrokerRequests,
        relay: Relay,
        *,
        worker: WorkerLoop | None = None,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._node = node
        self._own = own
        self._brokers = brokers
        self._relay = relay
        self._worker = worker
        self._count = count

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a request; raises MalformedMessage where there is none."""
        if len(payload) < 8:
            raise MalformedMessage("a request without a header")
        key, version = struct.unpack_from(">hh", payload)
        from_broker = SENT_BY_BROKERS.get(key)
        if from_broker is not None:
            if not from_broker.supports(version):
                raise MalformedMessage(f"{from_broker.name} of version {version} is not supported")
            self._count(from_broker.name)
            return Answer(await self._maybe_on_worker(payload, self._brokers.answer(key, payload)))
        api = APIS.get(key)
        if api is not None:
            found = await self._answer_here(api, version, payload)
            if found is not None:
                self._count(api.name)
                return found
        self._count("passed on")
        return Answer(await self._relay.answer(payload))

    async def close(self) -> None:
        """Close the connections to brokers."""
        await self._relay.close()

    async def _answer_here(self, api: Api, version: int, payload: bytes) -> Answer | None:
        """The answer, or None where a broker has to answer."""
        if api is API_VERSIONS:
            return await self._api_versions(payload)
        if api.name in CONTROLLER_APIS:
            return await self._own.answer(payload)
        if api.name in STUB_HANDLERS and api.supports(version):
            return await self._maybe_on_worker(payload, self._own_configs(api, payload))
        return None

    async def _own_configs(self, api: Api, payload: bytes) -> Answer | None:
        reader = Reader(payload)
        header = decode_header(reader)
        request = decode_request(header, reader)
        if not concerns_only(self._node, request):
            return None
        return Answer(encode_response(header, await STUB_HANDLERS[api.name](request)))

    async def _maybe_on_worker(self, payload: bytes, work: Coroutine[Any, Any, T]) -> T:
        """Large requests are decoded on the worker's loop."""
        if self._worker is None or len(payload) <= LIGHT_BYTES:
            return await work
        return await self._worker.run(work)

    async def _api_versions(self, payload: bytes) -> Answer:
        header = decode_header(Reader(payload))
        error = ErrorCode.NONE if header.is_supported else ErrorCode.UNSUPPORTED_VERSION
        try:
            reader = Reader((await self._relay.answer(_API_VERSIONS_REQUEST))[4:])
            reader.int32()
            listed: Any = decode(ApiVersionsResponse, _VERSION, reader)
        except (OSError, EOFError, TimeoutError, MalformedMessage):
            # no broker can be reached, so only the controller's own requests are listed
            listed = supported(error)
            listed.api_keys = [
                k for k in listed.api_keys if _name(k.api_key) in {*CONTROLLER_APIS, *_SELF}
            ]
        listed.error_code = error
        listed.api_keys = _with_own_versions(listed.api_keys)
        return Answer(encode_response(header, listed))


_SELF = frozenset({API_VERSIONS.name})


def _name(key: int) -> str:
    return APIS[key].name if key in APIS else ""


def _with_own_versions(listed: list[Any]) -> list[Any]:
    """A broker's list, with the versions of what is answered here."""
    row = ApiVersionsResponse.ApiVersion
    own = {
        **{api.key: (api.oldest, api.newest) for api in SENT_BY_BROKERS.values()},
        **{
            api.key: (api.oldest, api.newest)
            for api in APIS.values()
            if api.name in CONTROLLER_APIS
        },
        API_VERSIONS.key: (API_VERSIONS.oldest, API_VERSIONS.newest),
    }
    # what either side may answer is limited to versions that both can read
    shared = {api.key: api for api in APIS.values() if api.name in STUB_HANDLERS}
    found = {k.api_key: (k.min_version, k.max_version) for k in listed}
    for key, api in shared.items():
        if key in found:
            low, high = found[key]
            found[key] = (max(low, api.oldest), min(high, api.newest))
    found |= own
    return [row(api_key=k, min_version=a, max_version=b) for k, (a, b) in sorted(found.items())]
