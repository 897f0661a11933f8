"""From the bytes of a request to its script, and from the script's result to bytes.

`dispatch` gives one of

    Finished      the frame of the answer: nothing has to be waited for
    Dispatched    what the core is asked, and `resume(answer)`, which gives one of the two again

An Envelope is unpacked: its inner request is dispatched, and the inner answer is packed again. If
this node is not the active controller, the Envelope itself says so, and the broker asks elsewhere.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

from kedge.errors import MalformedMessage
from kedge.kraft_rpc import admin_requests, broker_requests, topic_requests, voter_requests
from kedge.kraft_rpc.scripts import Handlers, Script, Served
from kedge.metadata.refusal import ApiError
from kedge.model.error_codes import ErrorCode
from kedge.protocol import API_VERSIONS, PREFIX_BYTES, Reader, encode_response
from kedge.protocol import decode_request as decode_body
from kedge.protocol.apis import CONTROLLER_APIS, decode_header
from kedge.protocol.broker_apis import BrokerApi, BrokerHeader
from kedge.protocol.controller_messages import ENVELOPE_RESPONSE
from kedge.protocol.kraft_apis import ENVELOPE, KRAFT_APIS
from kedge.protocol.messages import ApiVersionsResponse
from kedge.quorum.messages import (
    AddVoterResponse,
    DescribeQuorumResponse,
    RemoveVoterResponse,
)

HANDLERS: Handlers = {
    **broker_requests.HANDLERS,
    **topic_requests.HANDLERS,
    **admin_requests.HANDLERS,
    **voter_requests.HANDLERS,
}
NEWEST_WITHOUT_ZERO_FEATURES = 3  # ApiVersions up to here must hide features whose minimum is 0
Encode: TypeAlias = Callable[[Any], bytes]


class Finished(NamedTuple):
    """The frame of an answer."""

    frame: bytes


@dataclass(slots=True)
class Dispatched:
    """A script that waits for the core."""

    asks: Any
    script: Script
    encode: Encode
    refuse: Callable[[ApiError], bytes | None]

    def resume(self, answer: Any) -> Dispatched | Finished:
        """Hand the script its answer."""
        if _is_not_controller(answer):
            frame = self.refuse(_NOT_CONTROLLER)
            if frame is not None:
                return Finished(frame)
        return _advance(self, answer)


_NOT_CONTROLLER = ApiError(ErrorCode.NOT_CONTROLLER, None)


def _is_not_controller(answer: Any) -> bool:
    if isinstance(answer, DescribeQuorumResponse):
        return answer.partition_error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    if isinstance(answer, AddVoterResponse | RemoveVoterResponse):
        return answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    return isinstance(answer, ApiError) and answer.code is ErrorCode.NOT_CONTROLLER


def _advance(waiting: Dispatched, answer: Any) -> Dispatched | Finished:
    try:
        waiting.asks = waiting.script.send(answer)
    except StopIteration as ended:
        return Finished(waiting.encode(ended.value))
    return waiting


def dispatch(served: Served, payload: bytes) -> Dispatched | Finished:
    """Take a request apart; raises MalformedMessage for one that is not served."""
    if len(payload) < 8:
        raise MalformedMessage("a request without a header")
    key, version = struct.unpack_from(">hh", payload)
    if key == ENVELOPE.key:
        return _open_envelope(served, payload)
    api = KRAFT_APIS.get(key)
    if api is not None:
        return _own_form(served, api, version, payload)
    return _client_form(served, payload)


def _own_form(
    served: Served, api: BrokerApi, version: int, payload: bytes
) -> Dispatched | Finished:
    if not api.supports(version) or api.key not in HANDLERS:
        raise MalformedMessage(f"{api.name} of version {version} is not served")
    header, request = api.decode_request(payload)

    def encode(response: Any) -> bytes:
        return api.encode_response(header, response)

    return _begin(HANDLERS[api.key](served, request, version), encode)


def _client_form(served: Served, payload: bytes) -> Dispatched | Finished:
    reader = Reader(payload)
    header = decode_header(reader, CONTROLLER_APIS)

    def encode(response: Any) -> bytes:
        return encode_response(header, response)

    if header.api is API_VERSIONS:
        return Finished(encode(api_versions(served, header.version, known=header.is_supported)))
    request = decode_body(header, reader)
    if header.api.key not in HANDLERS:
        raise MalformedMessage(f"{header.api.name} is not served here")
    return _begin(HANDLERS[header.api.key](served, request, header.version), encode)


def _begin(made: Any, encode: Encode) -> Dispatched | Finished:
    if not isinstance(made, Generator):
        return Finished(encode(made))
    return _advance(Dispatched(None, cast("Script", made), encode, lambda error: None), None)


# ---- envelopes -----------------------------------------------------------------------------------


def _open_envelope(served: Served, payload: bytes) -> Dispatched | Finished:
    header, envelope = ENVELOPE.decode_request(payload)
    inner = dispatch(served, envelope.request or b"")
    if isinstance(inner, Finished):
        return Finished(_packed(header, inner.frame))
    encode = inner.encode
    inner.encode = lambda response: _packed(header, encode(response))
    inner.refuse = lambda error: ENVELOPE.encode_response(
        header, ENVELOPE_RESPONSE(error=error.code)
    )
    return inner


def _packed(header: BrokerHeader, frame: bytes) -> bytes:
    """An answer in its envelope: without the length, with its own header."""
    return ENVELOPE.encode_response(header, ENVELOPE_RESPONSE(response=frame[PREFIX_BYTES:]))


# ---- ApiVersions ---------------------------------------------------------------------------------


def api_versions(served: Served, version: int, *, known: bool) -> ApiVersionsResponse:
    """All requests that are served, the features supported, and those finalized."""
    row = ApiVersionsResponse.ApiVersion
    own = {api.key: (api.oldest, api.newest) for api in KRAFT_APIS.values()}
    clients = {api.key: (api.oldest, api.newest) for api in CONTROLLER_APIS.values()}
    keys = sorted({**clients, **own, 56: (2, 3)}.items())
    response: Any = ApiVersionsResponse(
        error_code=ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[row(api_key=k, min_version=a, max_version=b) for k, (a, b) in keys],
        throttle_time_ms=0,
    )
    if known and version >= 3:
        _add_features(served, response, hide_zero=version <= NEWEST_WITHOUT_ZERO_FEATURES)
    return response


def _add_features(served: Served, response: Any, *, hide_zero: bool) -> None:
    supported = ApiVersionsResponse.SupportedFeatureKey
    finalized = ApiVersionsResponse.FinalizedFeatureKey
    response.supported_features = [
        supported(name=name, min_version=low, max_version=high)
        for name, (low, high) in sorted(served.settings.features.items())
        if low > 0 or not hide_zero
    ]
    levels = {**served.stable.features, "kraft.version": served.node.kraft_version}
    response.finalized_features_epoch = served.applied.offset - 1
    response.finalized_features = [
        finalized(name=name, max_version_level=level, min_version_level=level)
        for name, level in sorted(levels.items())
        if level > 0
    ]
