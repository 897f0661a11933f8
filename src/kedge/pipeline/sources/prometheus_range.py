"""Downloads the series of brokers from Prometheus, in pages of bounded size.

A page has at most `POINTS_PER_SERIES` values of a series (Prometheus refuses more than 11,000) and
about `points_per_page` values in all: first the time is cut, and where a metric has too many series
even for a short time, its topics are taken in groups. A page that the server refuses as too large
is halved. Each page is a file, named after the metric and its time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kedge.errors import InvalidRequest, QueryTooLarge
from kedge.metrics.parsing.series_names import BESIDE_BROKERS, EXPORTER_QUERIES, OF_PROCESSES
from kedge.pipeline.sources.prometheus_api import PrometheusApi

POINTS_PER_SERIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class RangeRequest:
    """The time to download, in seconds, and which series: label matchers, as `job="kafka"`."""

    start: float
    end: float
    step: float
    matchers: str = ""
    metrics: tuple[str, ...] = ()  # of a mapping file: regular expressions
    points_per_page: int = 2_000_000
    steps_min: int = 60  # a shorter page costs more in requests than it saves

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise InvalidRequest("the range of time ends before it starts")
        if self.step <= 0:
            raise InvalidRequest("the step must be above 0")
        if self.matchers and not re.fullmatch(
            r'(\s*\w+\s*(=|!=|=~|!~)\s*"[^"]*"\s*,?)+', self.matchers
        ):
            hint = 'write label matchers like job="kafka",env="prod"'
            raise InvalidRequest(f"{self.matchers!r} selects no series", hint=hint)


@dataclass(frozen=True, slots=True)
class Page:
    """One request: a selector of series, and a time."""

    name: str
    selector: str
    start: float
    end: float


def default_step(seconds: float) -> float:
    """15 s for some hours, 60 s for days: what scrapes resolve, at an amount that can be read."""
    hours = seconds / 3600
    return 15.0 if hours <= 6 else 30.0 if hours <= 24 else 60.0


def download(api: PrometheusApi, request: RangeRequest, directory: Path) -> list[Path]:
    """Write the pages of all metrics that are needed to files; the series that exist, that is."""
    directory.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    names = _metrics(api, request)
    own = [name for name in names if name not in (*OF_PROCESSES, *BESIDE_BROKERS)]
    if not own:  # no target is a broker
        names = [name for name in names if name not in OF_PROCESSES]
    of_brokers = _of_brokers(api, request, own) if own else ""
    for name in names:
        inner = _joined(request.matchers, _narrowed(request, name))
        inner = _joined(inner, of_brokers if name in OF_PROCESSES else "")
        for page in _pages(api, request, name, inner):
            files += _fetch(api, request, page, directory)
    return files


def _metrics(api: PrometheusApi, request: RangeRequest) -> list[str]:
    """The metrics that exist in this time."""
    wanted = [*dict.fromkeys((*EXPORTER_QUERIES, *request.metrics))]
    pattern = "|".join(wanted)
    matching = _selector("", _joined(f'__name__=~"{pattern}"', request.matchers))
    found = api.label_values("__name__", matching, request.start, request.end)
    needed = sorted(name for name in found if re.fullmatch(pattern, name))
    if not set(needed).difference(OF_PROCESSES):
        hint = "see --prometheus-match, or --mapping for other exporter rules"
        what = f"{api.access.url}: no series of Kafka brokers in this range of time"
        raise InvalidRequest(what, hint=hint)
    return needed


def _narrowed(request: RangeRequest, name: str) -> str:
    """Matchers of the series that are needed; all are where a mapping file gives a meaning."""
    mapped = any(re.fullmatch(pattern, name) for pattern in request.metrics)
    return "" if mapped else EXPORTER_QUERIES.get(name, "")


def _of_brokers(api: PrometheusApi, request: RangeRequest, names: Sequence[str]) -> str:
    """A matcher of the targets that export these series, which only brokers have.

    Another exporter on a broker's host, such as node_exporter or kafka_exporter, is up and uses
    cpu too.
    """
    pattern = "|".join(names)
    matching = _selector("", _joined(f'__name__=~"{pattern}"', request.matchers))
    targets = api.label_values("instance", matching, request.start, request.end)
    values = "|".join(_quoted(target) for target in sorted(targets))
    return f'instance=~"{values}"' if values else ""


def _pages(api: PrometheusApi, request: RangeRequest, name: str, matchers: str) -> Iterator[Page]:
    selector = _selector(name, matchers)
    series = max(api.count(selector, request.end), 1)
    groups = [selector]
    if series * request.steps_min > request.points_per_page:
        parts = -(-series * request.steps_min // request.points_per_page)
        groups = _by_topics(api, request, name, matchers, parts)
    per_group = -(-series // len(groups))
    steps = min(POINTS_PER_SERIES, max(request.steps_min, request.points_per_page // per_group))
    for group in groups:
        for start, end in spans(request.start, request.end, request.step, steps):
            yield Page(name, group, start, end)


def _by_topics(
    api: PrometheusApi, request: RangeRequest, name: str, matchers: str, parts: int
) -> list[str]:
    """Selectors of groups of topics, and of the series without a topic."""
    selector = _selector(name, matchers)
    topics = sorted(api.label_values("topic", selector, request.start, request.end))
    if not topics:
        return [selector]
    size = -(-len(topics) // parts)
    chosen = [topics[i : i + size] for i in range(0, len(topics), size)]
    patterns = ["|".join(_quoted(topic) for topic in group) for group in chosen]
    both = [f'topic=~"{pattern}"' for pattern in patterns] + ['topic=""']
    return [_selector(name, _joined(matchers, one)) for one in both]


def _quoted(value: str) -> str:
    """The value of a label in a regular expression, in a string."""
    return re.escape(value).replace("\\", "\\\\").replace('"', '\\"')


def _selector(name: str, matchers: str) -> str:
    return f"{name}{{{matchers}}}" if matchers else name


def _joined(*matchers: str) -> str:
    return ",".join(filter(None, (each.strip().removesuffix(",") for each in matchers)))


def spans(start: float, end: float, step: float, steps: int) -> list[tuple[float, float]]:
    """Cut a time into pieces of so many steps; the pieces share no moment."""
    pieces: list[tuple[float, float]] = []
    count = int((end - start) // step)
    for first in range(0, count + 1, steps):
        last = min(first + steps - 1, count)
        pieces.append((start + first * step, start + last * step))
    return pieces


def _fetch(
    api: PrometheusApi, request: RangeRequest, page: Page, directory: Path
) -> Sequence[Path]:
    number, path = 0, directory / f"{page.name}.{page.start:.0f}.json"
    while path.exists():  # the same time of other topics
        number += 1
        path = directory / f"{page.name}.{page.start:.0f}.{number}.json"
    try:
        with path.open("w+b") as file:
            api.query_range(page.selector, page.start, page.end, request.step, file)
    except QueryTooLarge:
        path.unlink()
        steps = int((page.end - page.start) // request.step) + 1
        if steps <= 1:
            raise
        halves = spans(page.start, page.end, request.step, -(-steps // 2))
        parts = [Page(page.name, page.selector, *half) for half in halves]
        return [file for part in parts for file in _fetch(api, request, part, directory)]
    return [path]
