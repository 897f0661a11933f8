"""Frames: four bytes of length, then so many bytes. Nothing here reads from anywhere."""

from __future__ import annotations

import struct

from kedge.errors import MalformedMessage

PREFIX_BYTES = 4
FRAME_BYTES_MAX = 16 << 20

_PREFIX = struct.Struct(">i")


def frame_length(prefix: bytes, *, bytes_max: int = FRAME_BYTES_MAX) -> int:
    """How long a frame says that it is, or MalformedMessage: no request is empty or endless."""
    (length,) = _PREFIX.unpack(prefix)
    if not 0 < length <= bytes_max:
        raise MalformedMessage(f"a frame of {length} bytes", hint=f"1 to {bytes_max} are taken")
    return length


def framed(payload: bytes | bytearray) -> bytes:
    """A payload with its length before it."""
    return _PREFIX.pack(len(payload)) + payload
