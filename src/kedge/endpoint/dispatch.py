"""From a frame to its answer: the header selects the handler, the cost selects the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kedge.endpoint.backend import ControllerBackend
from kedge.endpoint.handlers import HANDLERS, Call
from kedge.endpoint.handlers.call import text_id
from kedge.endpoint.handlers.cluster import supported
from kedge.endpoint.limits import MutationQuota
from kedge.endpoint.metadata_caches import MetadataCache
from kedge.endpoint.threads import WorkerLoop
from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.protocol import (
    APIS,
    Reader,
    RequestHeader,
    decode_header,
    decode_request,
    encode_response,
)
from kedge.protocol.messages import (
    ApiMessage,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    ElectLeadersRequest,
    MetadataRequest,
)

assert HANDLERS.keys() == {api.name for api in APIS.values()}, "every API has a handler"


@dataclass(frozen=True, slots=True)
class Answer:
    """A frame to send, how long the client has to wait after it, and whether it is the last."""

    frame: bytes
    throttle_ms: int = 0
    ends_connection: bool = False


class Node(Protocol):
    """A node of the cluster that answers requests."""

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a request; raises MalformedMessage where there is none."""
        ...


class Dispatcher:
    """Answers for one node."""

    def __init__(
        self,
        node: BrokerId,
        backend: ControllerBackend,
        quota: MutationQuota,
        *,
        worker: WorkerLoop | None = None,
        listener: str = "PLAINTEXT",
        answered: Callable[[RequestHeader], None] = lambda _: None,
    ) -> None:
        self._node = node
        self._backend = backend
        self._quota = quota
        self._worker = worker
        self._listener = listener
        self._answered = answered

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a request; raises MalformedMessage where there is none.

        Requests that are costly to decode or to answer run on the worker's loop.
        """
        if len(payload) > LIGHT_BYTES:
            return await self._on_worker(self._decode_and_answer(payload))
        header, request = _decoded(payload)
        if request is None:
            return Answer(encode_response(header, supported(ErrorCode.UNSUPPORTED_VERSION)))
        work = self._answer(header, request)
        is_small = is_light(request, self._backend.cache(self._node))
        return await (work if is_small else self._on_worker(work))

    async def _on_worker(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return await (work if self._worker is None else self._worker.run(work))

    async def _decode_and_answer(self, payload: bytes) -> Answer:
        header, request = _decoded(payload)
        if request is None:
            return Answer(encode_response(header, supported(ErrorCode.UNSUPPORTED_VERSION)))
        await asyncio.sleep(0)  # the client may have closed its connection by now
        return await self._answer(header, request)

    async def _answer(self, header: RequestHeader, request: ApiMessage) -> Answer:
        response = await HANDLERS[header.api.name](self._call(header), request)
        self._answered(header)
        await asyncio.sleep(0)
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        return Answer(encode_response(header, response), throttle_ms)

    def _call(self, header: RequestHeader) -> Call:
        return Call(
            node=self._node,
            client=header.client,
            version=header.version,
            backend=self._backend,
            quota=self._quota,
            listener=self._listener,
        )


def _decoded(payload: bytes) -> tuple[RequestHeader, ApiMessage | None]:
    """Header and body; no body for ApiVersions of an unknown version."""
    reader = Reader(payload)
    header = decode_header(reader)
    return header, decode_request(header, reader) if header.is_supported else None


# ---- cost ----------------------------------------------------------------------------------------

LIGHT_BYTES = 4096  # of a request: decoded within milliseconds
LIGHT_COST = 500
_ENTRIES_PER_TOPIC = 40  # configs in the description of one topic


def is_light(request: ApiMessage, cache: MetadataCache) -> bool:
    """Whether the response takes a few milliseconds at most.

    The unit of cost is a partition or a config entry in the response: some tens of microseconds
    each. Requests that are not listed cost as much as their own bytes, which the frame bounds.
    """
    cost_of = _COSTS.get(type(request))
    return cost_of is None or cost_of(request, cache) <= LIGHT_COST


def _of_metadata(request: Any, cache: MetadataCache) -> int:
    # in version 0 no names mean all topics
    if request.topics is None or (request.version == 0 and not request.topics):
        return cache.partition_count
    total = 0
    for topic in request.topics:
        topic_id = text_id(topic.topic_id)
        name = topic.name if topic_id is None else cache.names_by_id.get(topic_id)
        known = cache.topics.get(name or "")
        total += 1 if known is None else len(known.partitions)
    return total


def _of_all_partitions(request: Any, cache: MetadataCache) -> int:
    return cache.partition_count


def _of_election(request: Any, cache: MetadataCache) -> int:
    return cache.partition_count if request.topic_partitions is None else 0


def _of_configs(request: Any, cache: MetadataCache) -> int:
    return _ENTRIES_PER_TOPIC * len(request.resources)


def _of_creation(request: Any, cache: MetadataCache) -> int:
    return _ENTRIES_PER_TOPIC * len(request.topics)


_COSTS: Mapping[type[ApiMessage], Callable[[Any, MetadataCache], int]] = {
    MetadataRequest: _of_metadata,
    DescribeTopicPartitionsRequest: _of_all_partitions,
    DescribeLogDirsRequest: _of_all_partitions,
    ElectLeadersRequest: _of_election,
    DescribeConfigsRequest: _of_configs,
    CreateTopicsRequest: _of_creation,
}
