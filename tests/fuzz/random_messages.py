"""Requests drawn from a seed, by the schemas that they are read by; odd values are frequent."""

from __future__ import annotations

import random
import uuid
from typing import Any

from kedge.protocol import APIS
from kedge.protocol.messages import ApiMessage

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_TEXTS = (
    *("t", "u", "1", "", "..", "a/b", "retention.ms", "cleanup.policy", "delete,compact"),
    *("/data/d0", "\0", "\N{GRINNING FACE}", "__consumer_offsets", "é" * 200, "[/]", "\x1b]0;x\7"),
)
_TIMEOUT_MS_MAX = 50


def random_frame(rng: random.Random) -> bytes:
    """A whole request of any kind and version that is understood, as a frame."""
    api = rng.choice(list(APIS.values()))
    version = rng.randint(api.oldest, api.newest)
    request = _message(rng, api.request, version)
    if hasattr(request, "timeout_ms"):
        request.timeout_ms = min(request.timeout_ms, _TIMEOUT_MS_MAX)
    request.API_VERSION = version
    request.with_header(correlation_id=rng.getrandbits(31), client_id=rng.choice(_TEXTS))
    return request.encode(version=version, header=True, framed=True)


def _message(rng: random.Random, message: type[ApiMessage], version: int) -> Any:
    schema: Any = message
    return _struct(rng, schema._struct, message, version)


def _struct(rng: random.Random, field: Any, data_class: Any, version: int) -> Any:
    present = [f for f in field.fields.values() if f.for_version_q(version)]
    return data_class(version=version, **{f.name: _value(rng, f, version) for f in present})


def _value(rng: random.Random, field: Any, version: int) -> Any:
    if field.nullable_for_version_q(version) and rng.random() < 0.2:
        return None
    if field.is_struct_array():
        inner = field.array_of
        return [_struct(rng, inner, inner.data_class, version) for _ in range(_count(rng))]
    if field.is_array():
        return [_simple(rng, field.array_of) for _ in range(_count(rng))]
    if field.is_struct():
        return _struct(rng, field, field.data_class, version)
    return _simple(rng, field)


def _count(rng: random.Random) -> int:
    return rng.choice((0, 1, 1, 2, 3)) if rng.random() < 0.99 else rng.randrange(300)


def _simple(rng: random.Random, field: Any) -> Any:
    kind = field.type_str.removeprefix("[]")
    if kind in _BITS:
        half = 1 << (_BITS[kind] - 1)
        return rng.choice((-2, -1, 0, 1, 2, 3, half - 1, -half, rng.randrange(-half, half)))
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "uuid":
        return uuid.UUID(int=rng.getrandbits(128) | 1) if rng.random() < 0.8 else None
    if kind == "bytes":
        return rng.randbytes(rng.randrange(40))
    if kind == "bitfield":
        return set(rng.sample(range(31), 3))
    text = rng.choice(_TEXTS)
    return text if rng.random() < 0.98 or not text else (text * 32_767)[: 32_767 // 4]
