"""Encodes and decodes `/admin/reassign_partitions`, as leniently and as strictly as Kafka.

Kafka binds this one node to a class with Jackson, where it picks other nodes apart by hand. So a
number may be a string or a fraction, and an absent or null value is zero or empty; but a key that
the class does not have (`log_dirs`, which its tools write to files) makes the whole plan
unreadable.

    version      any number, or absent: it is decoded and ignored
    topic        a string; a number or a boolean as a string; absent is an empty topic name
    partition    a 32-bit number, a string of one, a fraction (truncated); absent, null or "" is 0
    replicas     a list of 32-bit numbers only
    after it     anything: the decoder stops where the plan ends

Replicas of another type, and entries that are null, pass Kafka's decoder and make its event fail
later. Here they are unreadable too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NoReturn, cast

from kedge.errors import MalformedJson
from kedge.model import BrokerId, TopicPartition
from kedge.model.java_text import INT32_MAX, INT32_MIN, trim, whole_number
from kedge.store.znodes.json_fields import dump
from kedge.store.znodes.paths import REASSIGN_PARTITIONS

Reassignments = dict[TopicPartition, tuple[BrokerId, ...]]

_PLAN = frozenset({"version", "partitions"})
_ENTRY = frozenset({"topic", "partition", "replicas"})
_ZERO_TEXTS = ("", "null")


def encode_reassignments(wanted: Mapping[TopicPartition, Iterable[BrokerId]]) -> bytes:
    """Encode `/admin/reassign_partitions`."""
    return dump(
        {
            "version": 1,
            "partitions": [
                {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas)}
                for tp, replicas in wanted.items()
            ],
        }
    )


def decode_reassignments(data: bytes | None) -> Reassignments:
    """Decode `/admin/reassign_partitions`; of two entries for one partition, the later counts."""
    plan = _object(_parse(data or b""), _PLAN, "the plan")
    _whole(plan.get("version"), "version")
    entries = _list(plan.get("partitions"), "partitions")
    return dict(_entry(each, f"partitions[{at}]") for at, each in enumerate(entries))


def _entry(value: Any, where: str) -> tuple[TopicPartition, tuple[BrokerId, ...]]:
    entry = _object(value, _ENTRY, where)
    topic = _text(entry.get("topic"), f"{where}, topic")
    partition = _whole(entry.get("partition"), f"{where}, partition")
    replicas = _list(entry.get("replicas"), f"{where}, replicas")
    if not all(type(b) is int and INT32_MIN <= b <= INT32_MAX for b in replicas):
        raise _wrong(f"{where}, replicas", "a list of broker ids")
    return TopicPartition(topic, partition), tuple(map(BrokerId, replicas))


# ---- values as Jackson takes them --------------------------------------------------------------


def _parse(data: bytes) -> Any:
    try:
        text = data.decode()
        # fractions keep their spelling: one may be the value of `topic`
        decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse_constant)
        return decoder.raw_decode(text.lstrip(" \t\r\n"))[0]
    except (ValueError, RecursionError) as error:
        raise MalformedJson(f"not JSON: {error}", place=REASSIGN_PARTITIONS) from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _object(value: Any, known: frozenset[str], where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, "an object")
    found = cast("dict[str, Any]", value)
    unknown = sorted(found.keys() - known)
    if unknown:
        what = f"{where} has unknown keys: {', '.join(map(repr, unknown))}"
        raise MalformedJson(what, place=REASSIGN_PARTITIONS)
    return found


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, "a list")
    return cast("list[Any]", value)


def _whole(value: Any, where: str) -> int:
    if value is None or (isinstance(value, str) and trim(value) in _ZERO_TEXTS):
        return 0
    found: int | Decimal | None = None
    if isinstance(value, str):
        found = whole_number(trim(value))
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        found = value if INT32_MIN <= value <= INT32_MAX else None
    if found is None:
        raise _wrong(where, "a 32-bit number")
    return int(found)


def _text(value: Any, where: str) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int() | Decimal():
            return str(value)
        case str() if value.isascii() or _is_unicode(value):
            return value
        case _:
            raise _wrong(where, "a text")


def _is_unicode(text: str) -> bool:
    """Return whether a string has no unpaired surrogate; such a string cannot be a path."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _wrong(where: str, wanted: str) -> MalformedJson:
    return MalformedJson(f"{where} is not {wanted}", place=REASSIGN_PARTITIONS)
