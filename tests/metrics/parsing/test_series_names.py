"""Times of brokers under the names of different exporters."""

from __future__ import annotations

import pytest

from kedge.metrics.measurement import Series
from kedge.metrics.parsing.series_names import ExporterNames

REQUESTS, FLUSHES = "kafka_network_requestmetrics", "kafka_log_logflushstats"


@pytest.mark.parametrize(
    ("name", "labels", "series"),
    [
        (
            f"{REQUESTS}_totaltimems",
            {"request": "Produce", "quantile": "0.50"},
            Series.PRODUCE_LATENCY_MS,
        ),
        (
            f"{REQUESTS}_localtimems",
            {"request": "FetchConsumer", "quantile": "0.5"},
            Series.FETCH_LATENCY_MS,
        ),
        (f"{FLUSHES}_logflushrateandtimems", {"quantile": "0.50"}, Series.FLUSH_TIME_MS),
        (
            "kafka_network_RequestMetrics_Mean",
            {"name": "TotalTimeMs", "request": "Produce"},
            Series.PRODUCE_LATENCY_MS,
        ),
        ("kafka_log_LogFlushStats_Mean", {"name": "LogFlushRateAndTimeMs"}, Series.FLUSH_TIME_MS),
        # other quantiles, the wait for records, and requests of followers tell something else
        (f"{REQUESTS}_totaltimems", {"request": "Produce", "quantile": "0.99"}, None),
        (f"{REQUESTS}_totaltimems", {"request": "Produce"}, None),
        (f"{REQUESTS}_totaltimems", {"request": "FetchConsumer", "quantile": "0.50"}, None),
        (f"{REQUESTS}_localtimems", {"request": "FetchFollower", "quantile": "0.50"}, None),
        (f"{FLUSHES}_logflushrateandtimems_count", {}, None),
    ],
)
def test_times_of_brokers(name: str, labels: dict[str, str], series: Series | None) -> None:
    names = ExporterNames()
    assert names.may_need(name)
    found = names.find(name, labels)
    assert (None if found is None else found.series) is series
