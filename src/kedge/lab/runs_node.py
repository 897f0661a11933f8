"""A node of a lab that also answers requests about the log of runs, and lists them as supported."""

from __future__ import annotations

from collections.abc import Callable

from kedge.endpoint.dispatch import Answer, Node
from kedge.endpoint.handlers.cluster import supported
from kedge.endpoint.threads import StoreThread
from kedge.errors import KedgeError, MalformedMessage, WriterFenced
from kedge.lab.runs_log import RunsLog
from kedge.model.error_codes import ErrorCode
from kedge.protocol import API_VERSIONS, Reader, code_of, decode_header, encode_response, message_of
from kedge.protocol.messages import ApiVersionsResponse
from kedge.protocol.runs_log import (
    FENCED,
    RUNS_LOG,
    RunsLogOp,
    RunsLogRequest,
    RunsLogResponse,
)

LabClock = Callable[[], tuple[int, float]]  # milliseconds of lab time, and its speed


class RunsNode:
    """Passes all other requests on to the node's dispatcher."""

    def __init__(self, own: Node, log: RunsLog, thread: StoreThread, clock: LabClock) -> None:
        self._own, self._log, self._thread, self._clock = own, log, thread, clock

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a request; raises MalformedMessage where there is none."""
        key, version = (int.from_bytes(payload[at : at + 2], "big") for at in (0, 2))
        if key == RUNS_LOG.key:
            if not RUNS_LOG.supports(version):
                raise MalformedMessage(f"{RUNS_LOG.name} of version {version} is not supported")
            header, request = RUNS_LOG.decode_request(payload)
            response = await self._thread.run(lambda: self._response(request))
            return Answer(RUNS_LOG.encode_response(header, response))
        answer = await self._own.answer(payload)
        return _with_runs_log(payload) if key == API_VERSIONS.key else answer

    def _response(self, request: RunsLogRequest) -> RunsLogResponse:
        if request.op == RunsLogOp.CLOCK:
            lab_ms, speed = self._clock()
            return RunsLogResponse(lab_ms=lab_ms, speed=round(speed * 1000))
        try:
            return self._log.answer(request)
        except WriterFenced as fenced:
            return RunsLogResponse(FENCED, fenced.what)
        except KedgeError as refusal:
            return RunsLogResponse(code_of(refusal), message_of(refusal))


def _with_runs_log(payload: bytes) -> Answer:
    """The supported versions, with those of the log of runs."""
    header = decode_header(Reader(payload))
    response = supported(ErrorCode.NONE if header.is_supported else ErrorCode.UNSUPPORTED_VERSION)
    entry = ApiVersionsResponse.ApiVersion(
        api_key=RUNS_LOG.key, min_version=RUNS_LOG.oldest, max_version=RUNS_LOG.newest
    )
    response.api_keys.append(entry)
    return Answer(encode_response(header, response))
