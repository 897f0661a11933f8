"""Parses answers of Prometheus' `/api/v1/query_range`, one series at a time.

    {"status": "success", "data": {"resultType": "matrix", "result": [
      {"metric": {"__name__": "up", "instance": "b1:7071"}, "values": [[1794850920, "1"], …]}, …]}}

An answer may be large, so it is split where a series begins and never held as a whole. Within a
JSON string the quotes of `{"metric":` would be escaped: the split cannot hit a label's value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

import numpy as np
import orjson

from kedge.errors import MalformedInput
from kedge.metrics.measurement import NONE
from kedge.metrics.parsing.collector import Collector, SeriesKey
from kedge.metrics.parsing.name_resolution import ID_LABELS, Instances, TopicNames, replica_of
from kedge.metrics.parsing.series_names import APP_INFO, SeriesNames, label_int

_SERIES_START: Final = re.compile(rb'\{\s*"metric"\s*:')
_STATUS: Final = re.compile(rb'"status"\s*:\s*"success"')
_MATRIX: Final = re.compile(rb'"resultType"\s*:\s*"matrix"')
_FAILED: Final = re.compile(rb'"error"\s*:\s*"((?:[^"\\]|\\.)*)"')
_COMPLETE: Final = re.compile(rb"\}\s*\}\s*\Z")  # of `data`, and of the answer
SERIES_BYTES_MAX: Final = 64 << 20  # years of one series; more is no answer of Prometheus
NAME: Final = "__name__"


@dataclass(frozen=True, slots=True)
class RangeSeries:
    """The labels of one series, and its values over time."""

    labels: Mapping[str, str]
    ts_ms: Any
    values: Any


def is_range_answer(head: bytes) -> bool:
    """False for an answer of another request of Prometheus, such as its targets."""
    return _STATUS.search(head) is None or _MATRIX.search(head) is not None


def is_complete(tail: bytes) -> bool:
    """Whether an answer that ends like this is complete; half a download is not."""
    return _COMPLETE.search(tail) is not None


def iter_series(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The text of each series of an answer; MalformedInput if it is not an answer with series.

    The text of the last one goes on to the end of the answer.
    """
    buffer, head_seen = b"", False
    for chunk in chunks:
        buffer += chunk
        starts = [found.start() for found in _SERIES_START.finditer(buffer)]
        if not head_seen and starts:
            _check_head(buffer[: starts[0]])
            head_seen = True
        for start, end in pairwise(starts):
            yield buffer[start:end]
        if starts:
            buffer = buffer[starts[-1] :]
        elif head_seen is False and len(buffer) > SERIES_BYTES_MAX:
            break
        if len(buffer) > SERIES_BYTES_MAX:
            raise MalformedInput("a series of more than 64 MB")
    if head_seen:
        yield buffer
    else:
        _check_head(buffer)


def _check_head(head: bytes) -> None:
    failed = _FAILED.search(head)
    if failed is not None:
        message = failed[1].decode("utf-8", "replace")[:200]
        raise MalformedInput(f"Prometheus answered with an error: {message}")
    if _STATUS.search(head) is None:
        raise MalformedInput("not an answer of query_range")
    if _MATRIX.search(head) is None:
        raise MalformedInput("not a range of values", hint="use /api/v1/query_range")


def parse_series(text: bytes) -> RangeSeries:
    """Parse the text of one series."""
    try:
        found: Any = orjson.loads(text.rstrip().removesuffix(b","))
    except orjson.JSONDecodeError:
        try:  # the last one, with the end of the answer
            found, _ = JSONDecoder().raw_decode(text.decode())
        except (JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedInput("the JSON of a series is truncated or damaged") from error
    try:
        labels = {str(name): str(value) for name, value in found["metric"].items()}
        points = found["values"]
        ts = np.array([point[0] for point in points], np.float64)
        values = np.array([point[1] for point in points], np.float64)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise MalformedInput("not a series with labels and values") from error
    if not np.isfinite(ts).all():
        raise MalformedInput("a time is not a number")
    return RangeSeries(labels, np.round(ts * 1000).astype(np.int64), values)


@dataclass(frozen=True, slots=True)
class SeriesReader:
    """Turns series of one cluster into measurements."""

    names: SeriesNames
    instances: Instances
    topics: TopicNames

    def collect(self, text: bytes, into: Collector) -> None:
        """Collect the measurements of one series."""
        try:
            series = parse_series(text)
        except MalformedInput as error:
            into.reject(text, error.what)
            return
        name = series.labels.get(NAME, "")
        found = self.names.find(name, series.labels)
        if found is None:
            into.ignore(name or "(an expression)")
            return
        # offsets and groups may come from an exporter beside the brokers
        broker = self.instances.broker_of(series.labels)
        if broker == NONE and found.of_broker:
            into.ignore(f"{name} of other instances")
            return
        topic = self.topics.restore(found.topic) if found.topic else ""
        replica = replica_of(series.labels)
        key = SeriesKey(found.series, broker, topic, found.partition, found.group, replica)
        into.add_points(key, series.ts_ms, series.values * found.scale)


def learn_instances(texts: Iterable[bytes]) -> dict[str, int]:
    """Instance to broker id, from series that have both (`kafka_server_app_info_…`)."""
    learned: dict[str, int] = {}
    for text in texts:
        try:
            labels = parse_series(text).labels
        except MalformedInput:
            continue
        broker = label_int(labels, *ID_LABELS, "id")
        if APP_INFO.fullmatch(labels.get(NAME, "")) and broker != NONE and labels.get("instance"):
            learned[labels["instance"]] = broker
    return learned
