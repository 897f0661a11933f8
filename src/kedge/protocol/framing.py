"""Frames of Kafka's protocol: four bytes of length, then the payload."""

from __future__ import annotations

import struct

from kedge.errors import MalformedMessage

PREFIX_BYTES = 4
FRAME_BYTES_MAX = 16 << 20

_PREFIX = struct.Struct(">i")


def frame_length(prefix: bytes, *, bytes_max: int = FRAME_BYTES_MAX) -> int:
    """Return the length of a frame; raise MalformedMessage if it is empty or too long."""
    (length,) = _PREFIX.unpack(prefix)
    if not 0 < length <= bytes_max:
        raise MalformedMessage(f"a frame of {length} bytes", hint=f"1 to {bytes_max} are taken")
    return length


def framed(payload: bytes | bytearray) -> bytes:
    """Return a payload with its length before it."""
    return _PREFIX.pack(len(payload)) + payload
