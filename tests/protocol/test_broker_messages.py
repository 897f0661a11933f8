"""What controllers and brokers say to each other: read back as it was written, and never more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.errors import MalformedMessage
from kedge.protocol.broker_apis import (
    SENT_BY_CONTROLLERS,
    STOP_REPLICA,
    BrokerApi,
    encode_part,
)
from kedge.protocol.broker_messages import (
    METADATA_CONTENT,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tests.protocol.broker_strategies import MESSAGES, VERSIONS, decode_body, encode_body


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda x: getattr(x, "name", str(x)))
@settings(max_examples=15)
@given(data=st.data())
def test_every_message_reads_back_as_it_was_written(
    api: BrokerApi, version: int, data: st.DataObject
) -> None:
    requests, responses = MESSAGES[api.key]
    request, response = data.draw(requests(version)), data.draw(responses(version))
    frame = api.encode_request(version, request, correlation=7, client="1000")
    header, found = api.decode_request(frame[4:])
    assert (header.version, header.correlation, header.client) == (version, 7, "1000")
    assert found == request
    assert api.decode_response(version, api.encode_response(header, response)[4:]) == (7, response)


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda x: getattr(x, "name", str(x)))
@settings(max_examples=15)
@given(data=st.data())
def test_what_is_cut_short_is_refused_and_nothing_else_is_raised(
    api: BrokerApi, version: int, data: st.DataObject
) -> None:
    request = data.draw(MESSAGES[api.key][0](version))
    payload = api.encode_request(version, request, correlation=7, client="1000")[4:]
    cut = data.draw(st.integers(0, len(payload) - 1))
    with pytest.raises(MalformedMessage):
        api.decode_request(payload[:cut])


@given(st.sampled_from(VERSIONS), st.binary(max_size=200))
def test_any_bytes_are_a_message_or_malformed(case: tuple[BrokerApi, int], noise: bytes) -> None:
    api, version = case
    for message in (api.request, api.response):
        try:
            found = decode_body(message, version, noise, flexible=version >= api.flexible)
        except MalformedMessage:
            continue
        again = encode_body(message, version, found, flexible=version >= api.flexible)
        flexible = version >= api.flexible
        assert decode_body(message, version, again, flexible=flexible) == found


@given(st.data())
def test_content_that_was_written_before_is_the_same_on_the_wire(data: st.DataObject) -> None:
    request: UpdateMetadataRequest = data.draw(MESSAGES[6][0](8))
    api = SENT_BY_CONTROLLERS[6]
    shared = request._replace(content=encode_part(METADATA_CONTENT, 8, request.content))
    assert api.encode_request(8, shared, correlation=1, client="c") == api.encode_request(
        8, request, correlation=1, client="c"
    )


def test_a_message_is_written_only_in_a_version_that_is_spoken() -> None:
    request = StopReplicaRequest(1000, 1, 1, ())
    assert STOP_REPLICA.encode_request(3, request, correlation=1, client="c")
    with pytest.raises(AssertionError, match="StopReplica does not support version 2"):
        STOP_REPLICA.encode_request(2, request, correlation=1, client="c")
