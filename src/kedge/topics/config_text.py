"""Parses the config options of kafka-topics and kafka-configs.

    kafka-topics  --config retention.ms=1000 --config cleanup.policy=compact
    kafka-configs --add-config 'retention.ms=1000,cleanup.policy=[compact,delete]'
    kafka-configs --delete-config retention.ms,cleanup.policy

The two split differently. kafka-topics drops empty pieces at the end, so `k=` lacks a value and
`k=v=` is taken for `k=v`. kafka-configs keeps them, so `k=` sets the empty value; between
brackets neither comma nor equals sign counts, and brackets are cut out of the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kedge.errors import MalformedInput
from kedge.model.java_text import trim

_BLANKS = r"[ \t\n\v\f\r]*"
_EQUALS = re.compile(f"{_BLANKS}={_BLANKS}")

# A sign is outside brackets if the next bracket after it opens, or there is none.
_OUTSIDE = r"(?=[^\]]*(?:\[|\Z))"
_COMMA_OUTSIDE = re.compile(f",{_OUTSIDE}")
_EQUALS_OUTSIDE = re.compile(f"{_BLANKS}={_BLANKS}{_OUTSIDE}")

_KEY = re.compile(r"[a-zA-Z0-9._-]*")
_NO_BRACKETS = str.maketrans("", "", "[]")


def parse_topic_configs(texts: Iterable[str]) -> dict[str, str]:
    """The configs of repeated `--config` options; a later one replaces an earlier."""
    return dict(_topic_config(text) for text in texts)


def parse_add_config(text: str) -> dict[str, str]:
    """The configs of one `--add-config` option."""
    pieces = _without_empty_end(_COMMA_OUTSIDE.split(text), text)
    configs = dict(_added(piece) for piece in pieces)
    for key in configs:
        _refuse_odd_key(key)
    return configs


def parse_delete_config(texts: Iterable[str]) -> list[str]:
    """The keys of `--delete-config` options, in order."""
    keys = [trim(key) for text in texts for key in text.split(",")]
    for key in keys:
        _refuse_odd_key(key)
    return keys


def _topic_config(text: str) -> tuple[str, str]:
    return _pair(_without_empty_end(_EQUALS.split(text), text), text)


def _added(text: str) -> tuple[str, str]:
    key, value = _pair(_EQUALS_OUTSIDE.split(text), text)
    return key, trim(value.translate(_NO_BRACKETS))


def _pair(pieces: list[str], text: str) -> tuple[str, str]:
    if len(pieces) != 2:
        raise MalformedInput(f"config {text!r} is not of the form key=value")
    return trim(pieces[0]), trim(pieces[1])


def _without_empty_end(pieces: list[str], text: str) -> list[str]:
    while text and pieces and not pieces[-1]:
        pieces.pop()
    return pieces


def _refuse_odd_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise MalformedInput(
            f"config key {key!r} is not valid",
            hint="keys are made of ASCII letters, digits, '.', '_' and '-'",
        )
