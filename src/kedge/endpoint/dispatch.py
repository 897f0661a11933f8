"""From a frame to its answer: the header decides which handler reads the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from kedge.endpoint.backend import Backend
from kedge.endpoint.call import Call
from kedge.endpoint.handlers import HANDLERS
from kedge.endpoint.handlers.cluster import supported
from kedge.endpoint.quota import MutationQuota
from kedge.endpoint.weight import LIGHT_BYTES, is_light
from kedge.endpoint.worker import WorkerLoop
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
from kedge.protocol.messages import ApiMessage

assert HANDLERS.keys() == {api.name for api in APIS.values()}, "what is offered can be answered"


@dataclass(frozen=True, slots=True)
class Answer:
    """A frame to send, how long the client is to wait after it, and whether it is the last."""

    frame: bytes
    throttle_ms: int = 0
    ends_connection: bool = False


class Answering(Protocol):
    """Answers the requests to a node."""

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a request; raises MalformedMessage where there is none."""
        ...


class Dispatcher:
    """Answers for one node."""

    def __init__(
        self,
        node: BrokerId,
        backend: Backend,
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

        What takes long to decode or to answer is done on the worker's loop.
        """
        if len(payload) > LIGHT_BYTES:
            return await self._apart(self._decode_and_answer(payload))
        header, request = _decoded(payload)
        if request is None:
            return Answer(encode_response(header, supported(ErrorCode.UNSUPPORTED_VERSION)))
        work = self._answer(header, request)
        is_small = is_light(request, self._backend.image(self._node))
        return await (work if is_small else self._apart(work))

    async def _apart(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return await (work if self._worker is None else self._worker.run(work))

    async def _decode_and_answer(self, payload: bytes) -> Answer:
        header, request = _decoded(payload)
        if request is None:
            return Answer(encode_response(header, supported(ErrorCode.UNSUPPORTED_VERSION)))
        await asyncio.sleep(0)  # the client may have closed its connection meanwhile
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
    """Header and body; no body where ApiVersions is asked in a version that is not known."""
    reader = Reader(payload)
    header = decode_header(reader)
    return header, decode_request(header, reader) if header.is_supported else None
