"""The node that is the controller of real brokers and no broker itself.

    from brokers     AlterPartition, ControlledShutdown, AllocateProducerIds     the controller
    from clients     topics, moves, elections                                    the controller
                     configs and directories of the node itself                  there are none
                     everything else                                             a real broker

ApiVersions is the broker's list with our own versions of what is answered here, so that clients
send nothing that somebody behind this port could not read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kedge.endpoint.dispatch import Answer, Answering
from kedge.endpoint.from_brokers import FromBrokers
from kedge.endpoint.handlers.cluster import supported
from kedge.endpoint.pseudo_node import CONFIGS, is_about
from kedge.endpoint.relay import Relay
from kedge.endpoint.weight import LIGHT_BYTES
from kedge.endpoint.worker import WorkerLoop
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

T = TypeVar("T")

OURS = frozenset(
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

# a question that every broker of our time understands: ApiVersions, version 3, from "kedge"
_ASKED = 3
_QUESTION = struct.pack(">hhih", 18, _ASKED, 0, 5) + b"kedge\0" + b"\x06kedge\x021\0"


class ControllerNode:
    """Answers for the node; has the face of a `Dispatcher`."""

    def __init__(
        self,
        node: BrokerId,
        own: Answering,
        brokers: FromBrokers,
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
        """The answer, whoever gives it; raises MalformedMessage where there is none."""
        if len(payload) < 8:
            raise MalformedMessage("a request without a header")
        key, version = struct.unpack_from(">hh", payload)
        from_broker = SENT_BY_BROKERS.get(key)
        if from_broker is not None:
            if not from_broker.supports(version):
                raise MalformedMessage(f"{from_broker.name} of version {version} is not known here")
            self._count(from_broker.name)
            return Answer(await self._maybe_apart(payload, self._brokers.answer(key, payload)))
        api = APIS.get(key)
        if api is not None:
            found = await self._answer_here(api, version, payload)
            if found is not None:
                self._count(api.name)
                return found
        self._count("passed on")
        return Answer(await self._relay.answer(payload))

    async def close(self) -> None:
        """Let go of the brokers that requests were passed on to."""
        await self._relay.close()

    async def _answer_here(self, api: Api, version: int, payload: bytes) -> Answer | None:
        """The answer, unless it is a broker's to give."""
        if api is API_VERSIONS:
            return await self._api_versions(payload)
        if api.name in OURS:
            return await self._own.answer(payload)
        if api.name in CONFIGS and api.supports(version):
            return await self._maybe_apart(payload, self._own_configs(api, payload))
        return None

    async def _own_configs(self, api: Api, payload: bytes) -> Answer | None:
        reader = Reader(payload)
        header = decode_header(reader)
        request = decode_request(header, reader)
        if not is_about(self._node, request):
            return None
        return Answer(encode_response(header, await CONFIGS[api.name](request)))

    async def _maybe_apart(self, payload: bytes, work: Coroutine[Any, Any, T]) -> T:
        """Large requests are decoded on the worker's loop."""
        if self._worker is None or len(payload) <= LIGHT_BYTES:
            return await work
        return await self._worker.run(work)

    async def _api_versions(self, payload: bytes) -> Answer:
        header = decode_header(Reader(payload))
        error = ErrorCode.NONE if header.is_supported else ErrorCode.UNSUPPORTED_VERSION
        try:
            reader = Reader((await self._relay.answer(_QUESTION))[4:])
            reader.int32()
            theirs: Any = decode(ApiVersionsResponse, _ASKED, reader)
        except (OSError, EOFError, TimeoutError, MalformedMessage):
            # nobody to pass anything on to, so nothing but our own is offered
            theirs = supported(error)
            theirs.api_keys = [k for k in theirs.api_keys if _name(k.api_key) in {*OURS, *_SELF}]
        theirs.error_code = error
        theirs.api_keys = _with_ours(theirs.api_keys)
        return Answer(encode_response(header, theirs))


_SELF = frozenset({API_VERSIONS.name})


def _name(key: int) -> str:
    return APIS[key].name if key in APIS else ""


def _with_ours(theirs: list[Any]) -> list[Any]:
    """Their list, with our versions of what is ours."""
    row = ApiVersionsResponse.ApiVersion
    ours = {
        **{api.key: (api.oldest, api.newest) for api in SENT_BY_BROKERS.values()},
        **{api.key: (api.oldest, api.newest) for api in APIS.values() if api.name in OURS},
        API_VERSIONS.key: (API_VERSIONS.oldest, API_VERSIONS.newest),
    }
    # what is answered here or there must be of versions that both sides can read
    shared = {api.key: api for api in APIS.values() if api.name in CONFIGS}
    found = {k.api_key: (k.min_version, k.max_version) for k in theirs}
    for key, api in shared.items():
        if key in found:
            low, high = found[key]
            found[key] = (max(low, api.oldest), min(high, api.newest))
    found |= ours
    return [row(api_key=k, min_version=a, max_version=b) for k, (a, b) in sorted(found.items())]
