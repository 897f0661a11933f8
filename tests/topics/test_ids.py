from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import MalformedInput
from kedge.topics import decode_id, encode_id, is_reserved, new_topic_id, topic_id

SIXTEEN = st.binary(min_size=16, max_size=16)


@given(SIXTEEN)
def test_an_id_is_a_random_uuid_in_twenty_two_letters(drawn: bytes) -> None:
    made = topic_id(drawn)
    if made is None:
        assert drawn[0] >> 2 == 62  # the sixth of base64's signs that is '-'
        return
    assert len(made) == 22
    assert not made.startswith("-")
    assert not is_reserved(made)
    assert uuid.UUID(bytes=decode_id(made)).version == 4


@given(SIXTEEN)
def test_bytes_survive_the_text(raw: bytes) -> None:
    assert decode_id(encode_id(raw)) == raw


def test_bytes_that_would_begin_with_a_dash_are_drawn_again() -> None:
    dash, good = b"\xf8" + bytes(15), bytes(16)
    drawn = [good, dash, dash]
    assert topic_id(dash) is None
    assert new_topic_id(lambda size: drawn.pop()[:size]) == "AAAAAAAAQACAAAAAAAAAAA"
    assert drawn == []


def test_small_ids_are_reserved() -> None:
    assert is_reserved("AAAAAAAAAAAAAAAAAAAAAA")
    assert is_reserved(encode_id((99).to_bytes(16, "big")))
    assert not is_reserved(encode_id((100).to_bytes(16, "big")))


@pytest.mark.parametrize("text", ["", "A" * 21, "A" * 23, "A" * 21 + "+", "A" * 20 + "=="])
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(MalformedInput):
        decode_id(text)


def test_the_number_of_bytes_is_fixed() -> None:
    with pytest.raises(MalformedInput, match="not 15"):
        topic_id(bytes(15))
