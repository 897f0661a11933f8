"""Reads from Prometheus how long brokers take, while a run is at work.

Which series, by exporter (names in any case):

    JMX exporter with rules, Strimzi's   kafka_network_requestmetrics_totaltimems{request, quantile}
    reporter                             kafka_network_requestmetrics_requestqueuetimems{…}
                                         kafka_log_logflushstats_logflushrateandtimems{quantile}
    JMX exporter without rules           kafka_network_RequestMetrics_99thPercentile{name, request}
                                         kafka_log_LogFlushStats_99thPercentile{name}

A thread reads every few seconds, so that a slow server holds nothing up. What was not scraped
lately counts as not known: a throttle does not rise without it.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from kedge.errors import InvalidRequest, KedgeError
from kedge.execution.adaptive_throttle import Signals
from kedge.execution.broker_times import Place, TimeKind, Times, out_of_bounds
from kedge.pipeline.sources.prometheus_api import LatestValue, PrometheusApi

INTERVAL_S: Final = 5.0
WINDOW_S: Final = 120
STALE_S: Final = 60.0
QUANTILE: Final = 0.99
_KINDS: Final = {
    "totaltimems": TimeKind.PRODUCE,
    "requestqueuetimems": TimeKind.QUEUE,
    "logflushrateandtimems": TimeKind.FLUSH,
}
_SELECTORS: Final = (
    '__name__=~"(?i)kafka_network_requestmetrics_(totaltimems|requestqueuetimems|99thpercentile)",'
    'request="Produce"',
    '__name__=~"(?i)kafka_log_logflushstats_(logflushrateandtimems|99thpercentile)"',
)
_WHERE: Final = ("pod", "instance", "broker", "host")


@dataclass(frozen=True, slots=True)
class Reading:
    """Times of brokers, and the moment of the oldest of them, in seconds since 1970."""

    times: Times
    at: float


def times_in(values: list[LatestValue]) -> Reading:
    """The times among the latest values of series; of several with one place the longest."""
    times: dict[Place, float] = {}
    at = float("inf")
    for each in values:
        kind = _kind(each.labels)
        if kind is None or not each.value >= 0:  # NaN: nothing was measured yet
            continue
        where = next((each.labels[name] for name in _WHERE if each.labels.get(name)), "a broker")
        place = Place(kind, where)
        times[place] = max(times.get(place, 0.0), each.value / 1000)
        at = min(at, each.at)
    return Reading(times, at)


def _kind(labels: Mapping[str, str]) -> TimeKind | None:
    what = labels.get("__name__", "").lower().rpartition("_")[2]
    if what == "99thpercentile":
        return _KINDS.get(labels.get("name", "").lower())
    is_wanted = re.fullmatch(r"0?\.990*", labels.get("quantile", "")) is not None
    return _KINDS.get(what) if is_wanted else None


class PrometheusTimes:
    """The times of brokers before a run, and now."""

    def __init__(
        self,
        api: PrometheusApi,
        matchers: str = "",
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._matchers, self._now, self._clock = api, matchers, now, clock
        self._ended = threading.Event()
        self._fault = ""
        self._latest = self.read()
        self._before = self._latest.times
        if not self._before:
            raise InvalidRequest(
                f"{api.access.url}: no request times of brokers in the last {WINDOW_S} s",
                hint="export kafka.network:type=RequestMetrics and kafka.log:type=LogFlushStats "
                "with their 99th percentile, or see --prometheus-match",
            )

    def read(self) -> Reading:
        """What the server has now."""
        found: list[LatestValue] = []
        for selector in _SELECTORS:
            inner = ",".join(filter(None, (selector, self._matchers)))
            found += self._api.latest(f"{{{inner}}}", WINDOW_S)
        return times_in(found)

    def added_to(self, signals: Signals) -> Signals:
        """The signals of a poll, with the times of brokers."""
        age = self._now() - self._latest.at
        if self._fault or age > STALE_S:
            return replace(signals, at=None, unread=self._fault or f"{age:.0f} s old")
        at = self._clock() - max(0.0, age)
        return replace(
            signals,
            at=None if signals.at is None else min(signals.at, at),
            slow=out_of_bounds(self._latest.times, self._before),
        )

    def _refresh(self) -> None:
        try:
            self._latest, self._fault = self.read(), ""
        except KedgeError as fault:
            self._fault = fault.what

    @contextmanager
    def refreshed(self) -> Generator[PrometheusTimes]:
        """Read again and again within the block, on a thread of its own."""

        def go_on() -> None:
            while not self._ended.wait(INTERVAL_S):
                self._refresh()

        threading.Thread(target=go_on, name="prometheus-times", daemon=True).start()
        try:
            yield self
        finally:
            self._ended.set()
