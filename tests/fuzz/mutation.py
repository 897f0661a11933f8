"""Valid inputs made invalid, by a random number generator."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, cast

TOKENS = (
    *(b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\\", b'"', b","),
    *(b"{", b"}", b"[", b"]", b":", b"null", b"true", b"-", b"-1", b"0", b"1e999", b"1.5"),
    *(b"NaN", b"Infinity", b"9" * 30, b"9" * 5_000, b"2147483648", b"9223372036854775808"),
    *(b"[" * 3_000, b'{"a":' * 3_000, b"\\u0000", b"\\ud800", b"\\uZZZZ", b"../../x", b"%s%n"),
)
TEXTS = (
    *("", " ", "x" * 10_000, "\x00", "\x1b]0;x\x07", "[/]", "é漢\U0001f600", "../../x", "a\nb"),
    *("-1", "NaN", "\ud800", "\u202e", "%s", "null", "__consumer_offsets", "a" * 249, "."),
)
NUMBERS = (
    *(0, -1, 1, 2, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, 2**63, -(2**63) - 1),
    *(2**64, 10**400, 0.0, -0.0, 0.1, 1.5, 1e-320, 1e308, -1e308, float("nan"), float("inf")),
)


class Raw(str):
    """JSON text that is written as it stands."""

    __slots__ = ()


DEEP = (
    Raw("[" * 1_500 + "]" * 1_500),
    Raw('{"a":' * 900 + "1" + "}" * 900),
    Raw("[" * 100_000),
    Raw("1e99999"),
    Raw("-"),
)


# ---- bytes --------------------------------------------------------------------------------------


def mutated_bytes(data: bytes, random: Random, most: int = 6) -> bytes:
    """Bytes with some of them changed, lost, doubled or new."""
    for _ in range(random.randint(1, most)):
        data = random.choice(_BYTE_MUTATIONS)(data, random)
    return data


def _flip(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randint(0, len(data))]


def _drop(data: bytes, random: Random) -> bytes:
    begin, end = _slice(data, random)
    return data[:begin] + data[end:]


def _double(data: bytes, random: Random) -> bytes:
    begin, end = _slice(data, random)
    return data[:end] + data[begin:end] * random.choice((1, 1, 2, 50)) + data[end:]


def _insert(data: bytes, random: Random) -> bytes:
    place = random.randint(0, len(data))
    new = random.choice((random.choice(TOKENS), random.randbytes(random.randint(1, 8))))
    return data[:place] + new + data[place + random.choice((0, len(new))) :]


def _swap(data: bytes, random: Random) -> bytes:
    (a, b), (c, d) = sorted((_slice(data, random), _slice(data, random)))
    return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _slice(data: bytes, random: Random) -> tuple[int, int]:
    begin = random.randint(0, len(data))
    return begin, min(len(data), begin + random.choice((1, 2, 4, 16, 200)))


_BYTE_MUTATIONS: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip, _flip, _flip, _cut, _drop, _double, _insert, _insert, _swap),
)


# ---- JSON ---------------------------------------------------------------------------------------


def mutated_json(document: Any, random: Random, most: int = 4) -> bytes:
    """A document with some values changed, as text; now and then the text is changed too."""
    changed = deepcopy(document)
    for _ in range(random.randint(1, most)):
        changed = _changed(changed, random)
    data = json_text(changed, random).encode("utf-8", "surrogatepass")
    return mutated_bytes(data, random, most=2) if random.random() < 0.2 else data


def json_text(value: Any, random: Random) -> str:
    """JSON, in which an object may have a key twice."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        pairs = list(cast("dict[str, Any]", value).items())
        if pairs and random.random() < 0.02:
            pairs.append((random.choice(pairs)[0], random.choice(pairs)[1]))
        inner = (f"{json.dumps(key)}:{json_text(each, random)}" for key, each in pairs)
        return f"{{{','.join(inner)}}}"
    if isinstance(value, list):
        return f"[{','.join(json_text(each, random) for each in cast('list[Any]', value))}]"
    return json.dumps(value, ensure_ascii=random.random() < 0.5)


def odd_value(random: Random) -> Any:
    """A value that is seldom wanted."""
    kinds = (TEXTS, NUMBERS, NUMBERS, (None, True, False, [], {}, [[]], [None], {"": 0}), DEEP)
    return deepcopy(random.choice(random.choice(kinds)))


def _changed(document: Any, random: Random) -> Any:
    places = list(_places(document))
    if not places:
        return odd_value(random)
    holder, key = random.choice(places)
    what = random.randrange(8)
    if what == 0:
        del holder[key]
    elif what == 1:
        other, place = random.choice(places)
        holder[key], other[place] = deepcopy(other[place]), deepcopy(holder[key])
    elif what == 2 and isinstance(holder, dict):
        holder[random.choice(TEXTS)] = holder.pop(key)
    elif what == 2:
        holder.extend([deepcopy(holder[key])] * random.choice((1, 2, 30)))
    elif what == 3:
        holder[key] = [deepcopy(holder[key])] * random.choice((1, 2, 30))
    elif what == 4:
        holder[key] = str(holder[key])
    else:
        holder[key] = odd_value(random)
    return document


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every value of a document, as the object or list that holds it and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = range(len(holder)) if isinstance(holder, list) else holder
        if isinstance(holder, dict | list):
            found += [(holder, key) for key in keys]
            waiting += [holder[key] for key in keys]
    return found


def maybe_packed(data: bytes, random: Random) -> bytes:
    """The same bytes, now and then as gzip, whole or damaged."""
    chance = random.random()
    if chance < 0.7:
        return data
    packed = gzip.compress(data, 1)
    return packed if chance < 0.85 else mutated_bytes(packed, random, most=2)
