"""Times of brokers from Prometheus, for a throttle that adapts."""

from __future__ import annotations

import time

import pytest

from kedge.errors import InvalidRequest
from kedge.execution.adaptive_throttle import Signals
from kedge.execution.broker_times import Place, TimeKind
from kedge.pipeline.sources.broker_times import STALE_S, PrometheusTimes, times_in
from kedge.pipeline.sources.prometheus_api import LatestValue, PrometheusAccess, PrometheusApi
from tests.pipeline.fake_prometheus import FakePrometheus, Fault, Labels, serving

TOTAL = "kafka_network_requestmetrics_totaltimems"
REQUESTS = "kafka_network_RequestMetrics_99thPercentile"
FLUSHES = "kafka_log_LogFlushStats_99thPercentile"
B1 = Place(TimeKind.PRODUCE, "b1:7071")


def of(metric: str, **labels: str) -> Labels:
    return {"__name__": metric, "instance": "b1:7071", **labels}


def served(ms: float, at: float) -> FakePrometheus:
    labels = of(TOTAL, request="Produce", quantile="0.99")
    return FakePrometheus([(labels, {at: ms})])


def times_of(fake: FakePrometheus, now: float) -> PrometheusTimes:
    api = PrometheusApi(PrometheusAccess(fake.url, timeout_s=5), lambda _: None)
    return PrometheusTimes(api, now=lambda: now, clock=lambda: 1000.0)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (of(TOTAL, request="Produce", quantile="0.99"), TimeKind.PRODUCE),
        (of(TOTAL, request="Produce", quantile=".99"), TimeKind.PRODUCE),
        (of(TOTAL, request="Produce", quantile="0.5"), None),
        (of(TOTAL, request="Produce", quantile="0.999"), None),
        (of("kafka_network_requestmetrics_requestqueuetimems", quantile="0.990"), TimeKind.QUEUE),
        (of("kafka_log_logflushstats_logflushrateandtimems", quantile="0.99"), TimeKind.FLUSH),
        (of(REQUESTS, name="TotalTimeMs"), TimeKind.PRODUCE),
        (of(REQUESTS, name="LocalTimeMs"), None),
        (
            of(FLUSHES, name="LogFlushRateAndTimeMs"),
            TimeKind.FLUSH,
        ),
    ],
)
def test_series_are_known_by_the_names_of_exporters(labels: Labels, kind: TimeKind | None) -> None:
    found = times_in([LatestValue(labels, 5.0, 40.0)]).times
    assert found == ({} if kind is None else {Place(kind, "b1:7071"): 0.04})


def test_of_several_versions_of_a_request_the_longest_counts_and_the_oldest_is_the_moment() -> None:
    labels = of(TOTAL, request="Produce", quantile="0.99")
    values = [(5.0, 40.0), (4.0, 90.0), (6.0, float("nan"))]
    found = times_in([LatestValue(labels | {"version": str(at)}, at, ms) for at, ms in values])
    assert (found.times, found.at) == ({B1: 0.09}, 4.0)


def test_times_are_added_to_the_signals_with_the_age_of_their_scrape() -> None:
    with serving(served(20, at=5000.0)) as fake:
        times = times_of(fake, now=5010.0)
        assert times.added_to(Signals(at=999.0)) == Signals(at=990.0)
        fake.series[0][1][5008.0] = 900.0
        times._refresh()  # pyright: ignore[reportPrivateUsage]
        slow = "produce requests take 900 ms on b1:7071, 20 ms before the run"
        assert times.added_to(Signals(at=999.0)) == Signals(at=998.0, slow=slow)
        assert times.added_to(Signals(at=None)).at is None


def test_times_that_are_old_or_cannot_be_read_are_no_evidence() -> None:
    with serving(served(20, at=5000.0)) as fake:
        late = times_of(fake, now=5000.0 + STALE_S + 1)
        assert late.added_to(Signals(at=999.0)) == Signals(at=None, unread="61 s old")
        times = times_of(fake, now=5010.0)
        fake.faults = [Fault(503)] * 5
        times._refresh()  # pyright: ignore[reportPrivateUsage]
        signals = times.added_to(Signals(at=999.0))
        assert (signals.at, "HTTP status 503" in signals.unread) == (None, True)
        times._refresh()  # pyright: ignore[reportPrivateUsage]
        assert times.added_to(Signals(at=999.0)) == Signals(at=990.0)


def test_a_server_without_times_of_brokers_is_refused() -> None:
    refused = pytest.raises(InvalidRequest, match="no request times of brokers")
    with serving(FakePrometheus()) as fake, refused:
        times_of(fake, now=time.time())
