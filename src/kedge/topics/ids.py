"""Topic ids (KIP-516): 128 random bits, shown in 22 letters of URL-safe base64."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import NewType

from kedge.errors import MalformedInput

TopicId = NewType("TopicId", str)

ID_BYTES = 16
LETTERS = 22

_LETTERS = re.compile(r"[A-Za-z0-9_-]{22}")
_VERSION_AT, _VARIANT_AT = 6, 8
_RESERVED_BELOW = 100


def topic_id(drawn: bytes) -> TopicId | None:
    """The id made of sixteen random bytes, or None for bytes that cannot be one: draw again.

    As in Kafka the bytes become a random UUID first (six of the bits say so), and that keeps them
    clear of the reserved ids. An id never begins with '-', which a command line would take for
    an option.
    """
    if len(drawn) != ID_BYTES:
        raise MalformedInput(f"a topic id is made of {ID_BYTES} bytes, not {len(drawn)}")
    made = bytearray(drawn)
    made[_VERSION_AT] = made[_VERSION_AT] & 0x0F | 0x40
    made[_VARIANT_AT] = made[_VARIANT_AT] & 0x3F | 0x80
    text = encode_id(bytes(made))
    return None if text.startswith("-") else text


def is_reserved(text: str) -> bool:
    """Whether no topic may have this id: zero means 'none', and 1 to 99 are Kafka's own."""
    return int.from_bytes(decode_id(text), "big") < _RESERVED_BELOW


def new_topic_id(draw_bytes: Callable[[int], bytes]) -> TopicId:
    """Draw until the bytes make an id."""
    while (made := topic_id(draw_bytes(ID_BYTES))) is None:
        pass
    return made


def encode_id(raw: bytes) -> TopicId:
    """Sixteen bytes as the text that files and tools show."""
    return TopicId(base64.urlsafe_b64encode(raw).decode("ascii").rstrip("="))


def decode_id(text: str) -> bytes:
    """The sixteen bytes of an id, or MalformedInput."""
    if not _LETTERS.fullmatch(text):
        raise MalformedInput(f"{text!r} is not a topic id", hint=f"{LETTERS} letters of base64")
    return base64.urlsafe_b64decode(f"{text}==")
