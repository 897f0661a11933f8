"""Parses the text of a `/metrics` endpoint: Prometheus' text format and OpenMetrics.

    kafka_log_log_size{topic="orders",partition="0",} 1.4516726E7

Lines that begin with `#` are comments. JMX exporter 0.20 writes a comma before the closing brace.
A time at the end of a line is in milliseconds, or in seconds in OpenMetrics (which ends with
`# EOF`); without one, the value has the time of the scrape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kedge.errors import MalformedInput
from kedge.metrics.measurement import NONE, Series
from kedge.metrics.parsing.collector import Collector, SeriesKey
from kedge.metrics.parsing.name_resolution import TopicNames
from kedge.metrics.parsing.series_names import SeriesNames

_LINE: Final = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r'(?:\{(?P<labels>[^"}]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"}]*)*)\})?'
    r"[ \t]+(?P<value>[^ \t#]+)(?:[ \t]+(?P<ts>-?[0-9.eE+]+))?[ \t]*(?:#.*)?"
)
_LABEL: Final = re.compile(
    r'[ \t,]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"([^"\\]*(?:\\.[^"\\]*)*)"'
)
_ESCAPE: Final = re.compile(r"\\(.)")
_VALUES: Final = {"+inf": "inf", "-inf": "-inf", "nan": "nan", "inf": "inf"}
_UNESCAPED: Final = {"n": "\n", "\\": "\\", '"': '"'}
LINE_LENGTH_MAX: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Line:
    """One value of an exposition; `ts` is None, or as written."""

    name: str
    labels: Mapping[str, str]
    value: float
    ts: float | None


def metric_name(line: str) -> str:
    """The name at the start of a line."""
    return line.lstrip().partition("{")[0].partition(" ")[0].partition("\t")[0]


def parse_line(line: str) -> Line:
    """Parse a line with a value."""
    found = _LINE.fullmatch(line.strip()) if len(line) <= LINE_LENGTH_MAX else None
    if found is None:
        raise MalformedInput("not a line of metrics")
    text = found["value"]
    try:
        value = float(_VALUES.get(text.lower(), text))
        ts = float(found["ts"]) if found["ts"] else None
    except ValueError:
        raise MalformedInput(f"{text[:50]!r} is not a number") from None
    return Line(found["name"], _labels(found["labels"] or ""), value, ts)


def _labels(text: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    at = 0
    while found := _LABEL.match(text, at):
        value = found[2]
        labels[found[1]] = (
            _ESCAPE.sub(lambda e: _UNESCAPED.get(e[1], e[0]), value) if "\\" in value else value
        )
        at = found.end()
    if text[at:].strip(" \t,"):
        raise MalformedInput("not a list of labels")
    return labels


@dataclass(frozen=True, slots=True)
class ScrapeTarget:
    """Where and when a text was scraped; `broker` is NONE for an exporter beside the brokers."""

    broker: int
    ts_ms: int


def collect_exposition(
    text: str, target: ScrapeTarget, names: SeriesNames, topics: TopicNames, into: Collector
) -> None:
    """Collect the measurements of one scrape."""
    per_ms = 1000.0 if text.rstrip().endswith("# EOF") else 1.0
    if target.broker != NONE:
        into.add(SeriesKey(Series.UP, target.broker), target.ts_ms, 1.0)
    for line in _value_lines(text):
        name = metric_name(line)
        if not names.may_need(name) and _LINE.fullmatch(line.strip()):
            into.ignore(name)
            continue
        try:
            parsed = parse_line(line)
        except MalformedInput as error:
            into.reject(line, error.what)
            continue
        found = names.find(parsed.name, parsed.labels)
        if found is None or found.series is Series.UP:
            into.ignore(parsed.name)
            continue
        ts_ms = target.ts_ms if parsed.ts is None else round(parsed.ts * per_ms)
        key = SeriesKey(
            found.series,
            target.broker if found.of_broker else NONE,
            topics.restore(found.topic) if found.topic else "",
            found.partition,
            found.group,
        )
        into.add(key, ts_ms, parsed.value * found.scale)


def _value_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line and not line.startswith("#") and not line.isspace():
            yield line
