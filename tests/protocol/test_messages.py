"""What is written is read back, in every version; what is not a message is refused."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedge.errors import MalformedMessage
from kedge.protocol import APIS, Reader, decode, decode_header, decode_request, framed
from kedge.protocol.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)
from tests.protocol.strategies import message_kinds, messages

KINDS = message_kinds()


def name_of(kind: tuple[Any, int]) -> str:
    return f"{kind[0].__name__}-{kind[1]}"


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
@given(data=st.data())
@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
def test_every_message_is_read_as_it_was_written(
    kind: tuple[Any, int], data: st.DataObject
) -> None:
    message, version = kind
    sent = data.draw(messages(message, version))
    reader = Reader(bytes(sent.encode(version=version)))
    assert decode(message, version, reader).to_dict(json=False) == sent.to_dict(json=False)
    assert reader.remaining == 0


@given(kind=st.sampled_from(KINDS), data=st.data())
@settings(max_examples=100)
def test_a_message_cut_short_is_refused_or_another_message(
    kind: tuple[Any, int], data: st.DataObject
) -> None:
    message, version = kind
    whole = bytes(data.draw(messages(message, version)).encode(version=version))
    cut = data.draw(st.integers(0, max(len(whole) - 1, 0)))
    try:
        found = decode(message, version, Reader(whole[:cut]))
    except MalformedMessage:
        return
    # an empty message is a whole one
    assert bytes(found.encode(version=version)) == whole[:cut]


@given(st.sampled_from(KINDS), st.binary(max_size=200))
@settings(max_examples=600)
def test_random_bytes_are_a_message_or_malformed(kind: tuple[Any, int], data: bytes) -> None:
    message, version = kind
    with contextlib.suppress(MalformedMessage):
        assert isinstance(decode(message, version, Reader(data)), message)


@given(st.binary(max_size=60))
@settings(max_examples=300)
def test_random_bytes_are_a_header_or_malformed(data: bytes) -> None:
    try:
        header = decode_header(Reader(data))
    except MalformedMessage:
        return
    assert header.api.key in APIS


def request_bytes(key: int, version: int, body: bytes, *, flexible: bool) -> bytes:
    head = key.to_bytes(2, "big") + version.to_bytes(2, "big") + (7).to_bytes(4, "big")
    return head + b"\x00\x02me" + (b"\x00" if flexible else b"") + body


@pytest.mark.parametrize("version", [0, 3, 4])
def test_a_request_has_its_header_before_it(version: int) -> None:
    sent = ApiVersionsRequest(client_software_name="kedge", client_software_version="1")
    body = bytes(sent.encode(version=version))  # pyright: ignore[reportAttributeAccessIssue]
    reader = Reader(request_bytes(18, version, body, flexible=version >= 3))
    header = decode_header(reader)
    request = decode_request(header, reader)
    assert (header.api.name, header.version, header.correlation, header.client) == (
        "ApiVersions",
        version,
        7,
        "me",
    )
    assert isinstance(request, ApiVersionsRequest)
    assert request.client_software_name == ("kedge" if version >= 3 else "")


def test_tagged_fields_of_a_header_are_skipped() -> None:
    body = bytes(3)  # two empty compact texts are 01 01, but a null one is refused
    head = b"\x00\x12\x00\x03" + (7).to_bytes(4, "big") + b"\xff\xff" + b"\x01\x05\x02zz"
    reader = Reader(head + b"\x01\x01\x00")
    header = decode_header(reader)
    assert (header.version, header.client) == (3, None)
    assert decode_request(header, reader) is not None
    with pytest.raises(MalformedMessage, match="is null"):
        decode_request(header, Reader(body))


def test_a_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="UTF-8"):
        decode(MetadataRequest, 0, Reader(b"\x00\x00\x00\x01\x00\x02\xff\xfe"))


def test_tagged_fields_that_nobody_knows_are_skipped() -> None:
    body = b"\x04abc" + b"\x02v" + b"\x02" + b"\x05\x02zz" + b"\x09\x01y"
    request = decode(ApiVersionsRequest, 3, Reader(body))
    assert (request.client_software_name, request.client_software_version) == ("abc", "v")


def test_tagged_fields_out_of_order_are_refused() -> None:
    body = b"\x04abc" + b"\x02v" + b"\x02" + b"\x09\x01y" + b"\x05\x02zz"
    with pytest.raises(MalformedMessage, match="out of order"):
        decode(ApiVersionsRequest, 3, Reader(body))


def test_null_is_refused_where_it_may_not_stand() -> None:
    assert decode(MetadataRequest, 1, Reader(b"\xff\xff\xff\xff")).topics is None
    with pytest.raises(MalformedMessage, match="topics is null"):
        decode(MetadataRequest, 0, Reader(b"\xff\xff\xff\xff"))
    with pytest.raises(MalformedMessage, match="name is null"):
        decode(MetadataRequest, 1, Reader(b"\x00\x00\x00\x01\xff\xff"))


def test_a_struct_may_be_null_where_the_schema_says_so() -> None:
    without = b"\x01" + (2000).to_bytes(4, "big") + b"\xff" + b"\x00"
    assert decode(DescribeTopicPartitionsRequest, 0, Reader(without)).cursor is None
    cursor = b"\x01" + b"\x02t" + (5).to_bytes(4, "big") + b"\x00"
    found = decode(DescribeTopicPartitionsRequest, 0, Reader(without[:5] + cursor + b"\x00"))
    assert found.cursor is not None
    assert (found.cursor.topic_name, found.cursor.partition_index) == ("t", 5)


def test_a_length_is_believed_only_as_far_as_there_are_bytes() -> None:
    with pytest.raises(MalformedMessage, match="2147483647"):
        decode(CreateTopicsRequest, 2, Reader(b"\x7f\xff\xff\xff" + bytes(40)))
    with pytest.raises(MalformedMessage, match="-2"):
        decode(CreateTopicsRequest, 2, Reader(b"\xff\xff\xff\xfe" + bytes(40)))


def test_a_number_cannot_go_on_for_ever() -> None:
    with pytest.raises(MalformedMessage, match="more than 32 bits"):
        decode(CreateTopicsRequest, 7, Reader(b"\xff" * 1_000_000))


def test_a_message_has_only_so_many_elements() -> None:
    many = b"\x00\x00\x03\xe8" + b"\x00\x00" * 1000
    assert len(decode(MetadataRequest, 0, Reader(many)).topics or ()) == 1000
    with pytest.raises(MalformedMessage, match="too many"):
        decode(MetadataRequest, 0, Reader(many, elements_max=999))


def test_a_frame_is_its_length_and_its_payload() -> None:
    assert framed(b"abc") == b"\x00\x00\x00\x03abc"
