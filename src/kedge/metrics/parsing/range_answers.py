"""Splits answers of Prometheus' `/api/v1/query_range` into series and the envelope around them.

    {"status": "success", "data": {"resultType": "matrix", "result": [
      {"metric": {"__name__": "up", "instance": "b1:7071"}, "values": [[1794850920, "1"], …]}, …]}}

An answer may be large, so it is split where a series begins and never held as a whole. Within a
JSON string the quotes of `{"metric":` would be escaped: the split cannot hit a label's value.

What is left without the series, the envelope, is JSON with an empty `result`. Parsed as such it
tells whether the answer is complete. Servers write it in different forms:

| server            | beside `status` and `data`                                                  |
|-------------------|-----------------------------------------------------------------------------|
| Prometheus 2, 3   | `warnings`; `infos` (3); `stats` within `data`                              |
| Thanos            | the same; a warning for each store that did not answer (partial response)   |
| Mimir             | `warnings`, `infos`; `errorType` and `error` of failures                    |
| VictoriaMetrics   | `isPartial`, `stats`, `trace`                                               |
| proxies           | the keys in another sequence                                                |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final, cast

import orjson

from kedge.errors import MalformedInput, TruncatedInput

_SERIES_START: Final = re.compile(rb'\{\s*"metric"\s*:')
_ENDS_EARLY: Final = "unexpected end of data"  # orjson's words
SERIES_BYTES_MAX: Final = 64 << 20  # years of one series; more is no answer of Prometheus
TEXT_LENGTH_MAX: Final = 200  # of a message of the server
NO_ANSWER: Final = "not an answer of query_range"
PARTIAL: Final = "the response is partial"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a complete answer says beside its series."""

    result_type: str
    warnings: tuple[str, ...] = ()

    @property
    def is_range(self) -> bool:
        """False for an answer of another request of Prometheus, such as its targets."""
        return self.result_type == "matrix"


def iter_series(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The text of each series of an answer; that of the last one goes on to the answer's end."""
    parts = _split(chunks)
    next(parts)
    yield from parts


def read_envelope(chunks: Iterable[bytes]) -> Envelope:
    """Read an answer to its end: TruncatedInput if it ends early, MalformedInput if it is none."""
    parts = _split(chunks)
    head, last = next(parts), b""
    for part in parts:
        last = part
    return _parse_envelope(head + _after_series(last) if last else head)


def _split(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The text before the first series, then that of each series."""
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        # a part begins at 0: the series that starts there was found already
        starts = [0, *(found.start() for found in _SERIES_START.finditer(buffer, 1))]
        for start, end in pairwise(starts):
            yield buffer[start:end]
        buffer = buffer[starts[-1] :]
        if len(buffer) > SERIES_BYTES_MAX:
            raise MalformedInput("a series of more than 64 MB")
    yield buffer


def _after_series(text: bytes) -> bytes:
    """What follows the series at the start of a text."""
    decoded = text.decode("utf-8", "replace")
    try:
        _, end = JSONDecoder().raw_decode(decoded)
    except (JSONDecodeError, RecursionError) as error:
        # of the last series nothing tells damage from an early end
        raise TruncatedInput("the JSON is truncated") from error
    return decoded[end:].encode()


def _parse_envelope(text: bytes) -> Envelope:
    if not text.strip():
        raise TruncatedInput(f"{NO_ANSWER}: it is empty")
    try:
        found: Any = orjson.loads(text.decode("utf-8", "replace"))
    except orjson.JSONDecodeError as error:
        if error.msg.startswith(_ENDS_EARLY):
            raise TruncatedInput("the JSON is truncated") from error
        raise MalformedInput(NO_ANSWER) from error
    if not isinstance(found, dict):
        raise MalformedInput(NO_ANSWER)
    return _envelope(cast("dict[str, Any]", found))


def _envelope(found: dict[str, Any]) -> Envelope:
    if found.get("error"):
        message = str(found["error"])[:TEXT_LENGTH_MAX]
        raise MalformedInput(f"Prometheus answered with an error: {message}")
    if found.get("status") != "success":
        raise MalformedInput(NO_ANSWER)
    data: Any = found.get("data")
    result_type = cast("dict[str, Any]", data).get("resultType") if isinstance(data, dict) else ""
    return Envelope(str(result_type or ""), tuple(_warnings(found)))


def _warnings(found: dict[str, Any]) -> Iterator[str]:
    listed: Any = found.get("warnings")
    if isinstance(listed, list):
        yield from (str(each)[:TEXT_LENGTH_MAX] for each in cast("list[Any]", listed))
    if found.get("isPartial") is True:
        yield PARTIAL
