"""Random values of any struct, from its own fields."""

from __future__ import annotations

import random
from typing import Any

from kedge.protocol.schema import (
    ArrayOf,
    Field,
    Fixed,
    NullableBytes,
    Struct,
    Text,
    TopicIdText,
)
from kedge.topics import encode_id

_RANGES = {
    "b": (-128, 127),
    "h": (-(2**15), 2**15 - 1),
    "H": (0, 2**16 - 1),
    "i": (-(2**31), 2**31 - 1),
    "q": (-(2**63), 2**63 - 1),
}


def drawn(kind: Any, version: int, rng: random.Random) -> Any:
    """A value of a kind that a version can carry."""
    match kind:
        case Fixed(code="?"):
            return rng.random() < 0.5
        case Fixed():
            return rng.choice([0, 1, *_RANGES[kind.code], rng.randint(*_RANGES[kind.code])])
        case Text():
            if kind.nullable and rng.random() < 0.3:
                return None
            return "".join(rng.choice("aé∑.-_7") for _ in range(rng.choice([0, 1, 5, 130])))
        case TopicIdText():
            return None if rng.random() < 0.2 else encode_id(rng.randbytes(16))
        case NullableBytes():
            return rng.randbytes(rng.choice([0, 1, 200]))
        case ArrayOf():
            if kind.nullable and rng.random() < 0.3:
                return None
            return tuple(drawn(kind.kind, version, rng) for _ in range(rng.choice([0, 1, 3])))
        case Struct():
            fields: tuple[Field, ...] = (*kind._fields, *kind._tagged)
            present = [f for f in fields if f.since <= version <= f.until]
            return kind._form(
                **{
                    f.name: f.default
                    if f.tag is not None and rng.random() < 0.4
                    else drawn(f.kind, version, rng)
                    for f in present
                }
            )
        case _:
            raise AssertionError(kind)
