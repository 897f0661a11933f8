"""From a frame to its answer: the header decides which handler reads the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kedge.endpoint.backend import Backend
from kedge.endpoint.call import Call
from kedge.endpoint.handlers import HANDLERS
from kedge.endpoint.handlers.cluster import supported
from kedge.endpoint.quota import MutationQuota
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

assert HANDLERS.keys() == {api.name for api in APIS.values()}, "what is offered can be answered"


@dataclass(frozen=True, slots=True)
class Answer:
    """A frame to send, and how long the client is to wait after it."""

    frame: bytes
    throttle_ms: int = 0


class Answering(Protocol):
    """Whoever answers for a node."""

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
        listener: str = "PLAINTEXT",
        answered: Callable[[RequestHeader], None] = lambda _: None,
    ) -> None:
        self._node = node
        self._backend = backend
        self._quota = quota
        self._listener = listener
        self._answered = answered

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a request; raises MalformedMessage where there is none."""
        reader = Reader(payload)
        header = decode_header(reader)
        if not header.is_understood:
            return Answer(encode_response(header, supported(ErrorCode.UNSUPPORTED_VERSION)))
        request = decode_request(header, reader)
        response = await HANDLERS[header.api.name](self._call(header), request)
        self._answered(header)
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
