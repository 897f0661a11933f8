"""Parses a mapping file: which series the metrics of other exporter rules are.

    [[series]]
    metric = "acme_kafka_bytes_in_total"   # a regular expression, matched as a whole
    series = "bytes_in"
    topic = "kafka_topic"                  # the label with the topic's name; also partition, group
    labels = {env = "prod"}                # only series with these labels
    scale = 1024.0                         # the value is multiplied by this

Metrics that no entry matches keep the meaning that known exporters give them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from kedge.errors import MalformedInput
from kedge.metrics.measurement import NONE, Series
from kedge.metrics.parsing.series_names import ExporterNames, NamedSeries, SeriesNames, label_int

KEYS: Final = {
    "metric": str,
    "series": str,
    "topic": str,
    "partition": str,
    "group": str,
    "labels": dict,
    "scale": float,
}


@dataclass(frozen=True, slots=True)
class MappedMetric:
    """One entry: the metrics that it matches, and the labels to read."""

    metric: re.Pattern[str]
    series: Series
    topic: str = "topic"
    partition: str = "partition"
    group: str = "group"
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    scale: float = 1.0

    def find(self, name: str, labels: Mapping[str, str]) -> NamedSeries | None:
        """The series if this entry matches."""
        if not self.metric.fullmatch(name):
            return None
        if any(labels.get(label) != value for label, value in self.labels.items()):
            return None
        partition = label_int(labels, self.partition)
        topic, group = labels.get(self.topic, ""), labels.get(self.group, "")
        if self.series in _OF_PARTITIONS and (partition == NONE or not topic):
            return None
        of_broker = self.series not in _OF_GROUPS
        return NamedSeries(self.series, topic, partition, group, self.scale, of_broker)


_OF_GROUPS: Final = frozenset(
    {Series.COMMITTED_OFFSET, Series.GROUP_LAG, Series.TOPIC_SIZE, Series.REPLICATION_FACTOR}
)
_OF_PARTITIONS: Final = frozenset(
    {
        *(Series.LOG_SIZE, Series.LOG_START_OFFSET, Series.LOG_END_OFFSET, Series.REPLICAS),
        *(Series.IN_SYNC_REPLICAS, Series.COMMITTED_OFFSET, Series.GROUP_LAG),
    }
)


@dataclass(frozen=True, slots=True)
class MappedNames:
    """The entries of a mapping file, before the names of known exporters."""

    entries: tuple[MappedMetric, ...]
    others: SeriesNames = field(default_factory=ExporterNames)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The names of metrics in the file, as regular expressions."""
        return tuple(dict.fromkeys(entry.metric.pattern for entry in self.entries))

    def may_need(self, name: str) -> bool:
        """False if metrics of this name are not needed, whatever their labels."""
        return any(e.metric.fullmatch(name) for e in self.entries) or self.others.may_need(name)

    def find(self, name: str, labels: Mapping[str, str]) -> NamedSeries | None:
        """The series; None for a metric that is not needed."""
        for entry in self.entries:
            found = entry.find(name, labels)
            if found is not None:
                return found
        return self.others.find(name, labels)


def parse_mapping(text: str) -> MappedNames:
    """Parse a mapping file."""
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, too
        raise MalformedInput(f"cannot be parsed as TOML ({str(error)[:100]})") from error
    listed = found.get("series")
    if not isinstance(listed, list) or not listed:
        raise MalformedInput("no [[series]]", hint="an entry has metric and series")
    entries = cast("list[dict[str, Any]]", listed)
    return MappedNames(tuple(_entry(each, f"series[{i}]") for i, each in enumerate(entries)))


def _entry(found: dict[str, Any], place: str) -> MappedMetric:
    for key, value in found.items():
        if key not in KEYS:
            raise MalformedInput(f"unknown key {key}", place=place, hint=f"keys: {', '.join(KEYS)}")
        if not isinstance(value, (KEYS[key], int) if key == "scale" else KEYS[key]):
            raise MalformedInput(f"{key} is not a {KEYS[key].__name__}", place=place)
    if "metric" not in found or found.get("series") not in list(Series):
        what = "metric is missing" if "metric" not in found else "series is missing or unknown"
        raise MalformedInput(what, place=place, hint=f"series: {', '.join(Series)}")
    try:
        pattern = re.compile(found["metric"])
    except re.error as error:
        raise MalformedInput(f"metric is not a regular expression: {error}", place=place) from error
    labels = {str(name): str(value) for name, value in found.get("labels", {}).items()}
    others = {key: found[key] for key in ("topic", "partition", "group") if key in found}
    scale = float(found.get("scale", 1.0))
    return MappedMetric(pattern, Series(found["series"]), labels=labels, scale=scale, **others)
