"""Parses series of answers of Prometheus' `/api/v1/query_range` to measurements.

    {"metric": {"__name__": "up", "instance": "b1:7071"}, "values": [[1794850920, "1"], …]}

`range_answers` splits an answer into the texts of its series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

import numpy as np
import orjson

from kedge.errors import MalformedInput
from kedge.metrics.measurement import NONE, PROCESS_SERIES
from kedge.metrics.parsing.collector import Collector, SeriesKey
from kedge.metrics.parsing.name_resolution import (
    ID_LABELS,
    Instances,
    TopicNames,
    replica_of,
    unambiguous,
)
from kedge.metrics.parsing.series_names import APP_INFO, NamedSeries, SeriesNames, label_int

NAME: Final = "__name__"


@dataclass(frozen=True, slots=True)
class RangeSeries:
    """The labels of one series, and its values over time."""

    labels: Mapping[str, str]
    ts_ms: Any
    values: Any


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
        # an exporter beside the brokers tells of no broker, also on the host of one
        broker = self._broker_of(found, series.labels)
        if broker == NONE and found.of_broker:
            into.ignore(f"{name} of other instances")
            return
        topic = self.topics.restore(found.topic) if found.topic else ""
        replica = replica_of(series.labels)
        key = SeriesKey(found.series, broker, topic, found.partition, found.group, replica)
        into.add_points(key, series.ts_ms, series.values * found.scale)

    def _broker_of(self, found: NamedSeries, labels: Mapping[str, str]) -> int:
        if not found.of_broker:
            return NONE
        return self.instances.broker_of(labels, of_process=found.series in PROCESS_SERIES)


def learn_instances(texts: Iterable[bytes]) -> dict[str, int]:
    """Instance to broker id, from series that have both (`kafka_server_app_info_…`)."""
    pairs: list[tuple[str, int]] = []
    for text in texts:
        try:
            labels = parse_series(text).labels
        except MalformedInput:
            continue
        broker = label_int(labels, *ID_LABELS, "id")
        if APP_INFO.fullmatch(labels.get(NAME, "")) and broker != NONE and labels.get("instance"):
            pairs.append((labels["instance"], broker))
    return unambiguous(pairs)
