"""Reading a Prometheus server: pages, faults of the server, and secrets that stay secret."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest

from kedge.cluster.access import Secret
from kedge.errors import (
    AuthenticationFailed,
    InvalidRequest,
    KedgeError,
    PrometheusUnavailable,
    QueryTooLarge,
)
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import BrokerMetadata, ClusterMetadata
from kedge.pipeline.sources.metric_files import (
    ParseSettings,
    distinct_files,
    instances_in,
    parse_metric_file,
)
from kedge.pipeline.sources.prometheus_api import ATTEMPTS, PrometheusAccess, PrometheusApi
from kedge.pipeline.sources.prometheus_range import RangeRequest, download, spans
from tests.pipeline.fake_prometheus import FakePrometheus, Fault, broker_series, serving

START, END = 1_800_000_000, 1_800_000_600
TOPICS = {"a.b": [(0, 100.0), (1, 200.0)], "c": [(0, 50.0)]}
SECRET = "hunter2"


class Pauses(list[float]):
    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def fake() -> FakePrometheus:
    return FakePrometheus(broker_series(TOPICS, start=START, end=END))


def api(server: FakePrometheus, pauses: Pauses | None = None, timeout: float = 10) -> PrometheusApi:
    access = PrometheusAccess(server.url, "kedge", Secret(SECRET), timeout_s=timeout)
    return PrometheusApi(access, pauses if pauses is not None else Pauses())


def fetched(server: FakePrometheus, directory: Path, pauses: Pauses | None = None) -> list[Path]:
    return download(api(server, pauses), RangeRequest(START, END, 15), directory)


def values(files: list[Path], name: str) -> dict[tuple[str, str], list[float]]:
    """The times of each series of a metric, over all pages."""
    found: dict[tuple[str, str], list[float]] = {}
    for file in files:
        for one in json.loads(file.read_bytes())["data"]["result"]:
            labels = one["metric"]
            if labels["__name__"] == name:
                key = (labels.get("topic", ""), labels.get("partition", ""))
                found.setdefault(key, []).extend(point[0] for point in one["values"])
    return found


def test_all_values_of_all_metrics_are_downloaded(tmp_path: Path) -> None:
    with serving(fake()) as server:
        files = fetched(server, tmp_path)
    sizes = values(files, "kafka_log_log_size")
    assert set(sizes) == {("a.b", "0"), ("a.b", "1"), ("c", "0")}
    assert all(times == [START + 15.0 * i for i in range(41)] for times in sizes.values())
    sent = [headers["Authorization"] for _, _, headers in server.requests]
    assert set(sent) == {"Basic a2VkZ2U6aHVudGVyMg=="}


def test_pages_are_cut_by_time_and_by_topics_without_loss(tmp_path: Path) -> None:
    request = RangeRequest(START, END, 15, points_per_page=20, steps_min=10)
    with serving(fake()) as server:
        files = download(api(server), request, tmp_path)
    queries = {f["query"] for path, f, _ in server.requests if path.endswith("query_range")}
    assert any("topic=~" in query for query in queries)
    sizes = values(files, "kafka_log_log_size")
    assert set(sizes) == {("a.b", "0"), ("a.b", "1"), ("c", "0")}
    assert all(sorted(t) == [START + 15.0 * i for i in range(41)] for t in sizes.values())


TIMES = [
    ("kafka_network_requestmetrics_totaltimems", {"request": "Produce", "quantile": "0.50"}),
    ("kafka_network_requestmetrics_totaltimems", {"request": "Produce", "quantile": "0.99"}),
    ("kafka_network_requestmetrics_totaltimems", {"request": "Metadata", "quantile": "0.50"}),
    ("kafka_network_requestmetrics_localtimems", {"request": "FetchConsumer", "quantile": "0.5"}),
    ("kafka_log_logflushstats_logflushrateandtimems", {"quantile": "0.5"}),
    ("kafka_network_RequestMetrics_Mean", {"request": "Produce", "name": "TotalTimeMs"}),
    ("kafka_network_RequestMetrics_Mean", {"request": "Produce", "name": "ResponseSendTimeMs"}),
    ("kafka_network_RequestMetrics_Mean", {"request": "FetchConsumer", "name": "LocalTimeMs"}),
    ("kafka_log_LogFlushStats_Mean", {"name": "LogFlushRateAndTimeMs"}),
]
NOT_NEEDED = (1, 2, 6)


def test_times_of_brokers_are_downloaded_and_only_those_that_are_read(tmp_path: Path) -> None:
    server = fake()
    base = {"instance": "127.0.0.1:7071", "job": "kafka"}
    for name, labels in TIMES:
        server.series.append(({"__name__": name, **base, **labels}, {float(START): 7.0}))
    with serving(server):
        files = fetched(server, tmp_path)
    metadata = ClusterMetadata("c", (BrokerMetadata(1, None, ("127.0.0.1",)),))
    settings = ParseSettings(Origin.PROMETHEUS, metadata)
    found: Counter[str] = Counter()
    for file in files:
        downloaded = [one["metric"] for one in json.loads(file.read_bytes())["data"]["result"]]
        for index in NOT_NEEDED:
            assert {"__name__": TIMES[index][0], **base, **TIMES[index][1]} not in downloaded
        for collected in parse_metric_file(file, settings):
            rows = collected.take().to_pylist()
            found.update({row["series"] for row in rows if row["series"].endswith("_ms")})
    assert found == {"produce_latency_ms": 2, "fetch_latency_ms": 2, "flush_time_ms": 2}


def test_another_exporter_on_the_host_of_a_broker_is_left_out(tmp_path: Path) -> None:
    server = with_other_exporters(fake())
    with serving(server):
        files = fetched(server, tmp_path)
    assert processes(files) == {"127.0.0.1:7071"}


def test_no_process_is_downloaded_where_no_target_is_a_broker(tmp_path: Path) -> None:
    with serving(with_other_exporters(FakePrometheus())) as server:
        files = fetched(server, tmp_path)
    assert len(files) == 2
    assert not processes(files)


def with_other_exporters(server: FakePrometheus) -> FakePrometheus:
    """A node_exporter, a kafka_exporter and kminion on the host of the broker."""
    at = {float(START): 1.0}
    for port in (9100, 9308, 8080):
        other = {"instance": f"127.0.0.1:{port}"}
        server.series += [
            ({"__name__": name, **other}, at) for name in ("up", "process_cpu_seconds_total")
        ]
    of = {"topic": "c", "partition": "0"}
    offset = {"__name__": "kafka_topic_partition_current_offset", "instance": "127.0.0.1:9308"}
    mark = {"__name__": "kminion_kafka_topic_partition_high_water_mark", **of}
    server.series += [({**offset, **of}, at), ({**mark, "instance": "127.0.0.1:8080"}, at)]
    return server


def processes(files: list[Path]) -> set[str]:
    """The instances that `up` and the cpu of processes were downloaded of."""
    found = [one for file in files for one in json.loads(file.read_bytes())["data"]["result"]]
    names = ("up", "process_cpu_seconds_total")
    return {one["metric"]["instance"] for one in found if one["metric"]["__name__"] in names}


def test_ids_of_brokers_are_learned_from_answers_of_any_name(tmp_path: Path) -> None:
    server = fake()
    labels = {"__name__": "kafka_server_app_info_StartTimeMs", "instance": "i:1", "id": "4"}
    server.series.append((labels, {float(START): 1.0}))
    with serving(server):
        files = fetched(server, tmp_path / "pages")
    kept = [file.rename(tmp_path / f"{i}.json") for i, file in enumerate(files)]
    assert instances_in(distinct_files(kept, (), Origin.PROMETHEUS)) == {"i:1": 4}


def test_a_page_that_the_server_refuses_as_too_large_is_halved(tmp_path: Path) -> None:
    server = fake()
    server.values_max = 40
    with serving(server):
        files = fetched(server, tmp_path)
    assert len(values(files, "kafka_log_log_size")["c", "0"]) == 41
    server.values_max = 0
    with serving(server), pytest.raises(QueryTooLarge):
        fetched(server, tmp_path)


def test_failures_and_truncated_answers_are_requested_again(tmp_path: Path) -> None:
    server, pauses = fake(), Pauses()
    server.faults = [Fault(503, b"overloaded"), Fault(429), Fault(truncate=True), Fault(500)]
    with serving(server):
        files = fetched(server, tmp_path, pauses)
    assert pauses == [0.5, 1.0, 2.0, 4.0]
    assert len(values(files, "kafka_log_log_size")) == 3


def test_a_page_that_is_no_answer_is_refused_at_once(tmp_path: Path) -> None:
    server, pauses = fake(), Pauses()
    server.faults = [Fault(200, b"<html>log in</html>")]
    with serving(server), pytest.raises(KedgeError, match="not an answer of Prometheus"):
        fetched(server, tmp_path, pauses)
    assert pauses == []


def test_a_server_that_keeps_failing_is_told_in_one_sentence(tmp_path: Path) -> None:
    server = fake()
    server.faults = [Fault(500, b"<h1>broken</h1>") for _ in range(ATTEMPTS)]
    with serving(server), pytest.raises(PrometheusUnavailable, match="HTTP status 500") as failure:
        fetched(server, tmp_path)
    assert "\n" not in str(failure.value)
    assert "<h1>" not in str(failure.value)


def test_a_server_that_does_not_answer_in_time_is_told(tmp_path: Path) -> None:
    server = fake()
    never = threading.Event()
    server.faults = [Fault(wait=never) for _ in range(ATTEMPTS)]
    with serving(server):
        slow = api(server, timeout=0.1)
        with pytest.raises(PrometheusUnavailable, match=r"no answer within 0\.1 s"):
            download(slow, RangeRequest(START, END, 15), tmp_path)
        never.set()


def test_an_unreachable_server_is_told() -> None:
    with serving(fake()) as server:
        address = server.url
    gone = PrometheusApi(PrometheusAccess(address), Pauses())
    with pytest.raises(PrometheusUnavailable, match="cannot be reached"):
        gone.count("up", 0)


@pytest.mark.parametrize(
    ("fault", "error", "text"),
    [
        (Fault(401, b'{"error": "who?"}'), AuthenticationFailed, "401"),
        (Fault(403), AuthenticationFailed, "403"),
        (Fault(404, b"not here"), InvalidRequest, "not here"),
        (Fault(400, b'{"error": "parse error"}'), InvalidRequest, "parse error"),
        (Fault(302, headers={"Location": "http://u:p@evil/"}), InvalidRequest, "http://evil/"),
        (Fault(200, b'{"status":"success"}}'), KedgeError, "not an answer of Prometheus"),
    ],
)
def test_a_refusal_is_one_sentence_without_the_password(
    fault: Fault, error: type[KedgeError], text: str, tmp_path: Path
) -> None:
    server = fake()
    server.faults = [fault]
    with serving(server), pytest.raises(error) as failure:
        fetched(server, tmp_path)
    assert text in str(failure.value)
    assert SECRET not in str(failure.value)
    assert SECRET not in repr(api(server).access)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key, and its certificate for 127.0.0.1."""
    directory = tmp_path_factory.mktemp("tls")
    key, made = directory / "key.pem", directory / "cert.pem"
    words = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=prometheus",
    ]
    named = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)]
    subprocess.run(["openssl", *words, *named], check=True, capture_output=True)
    return key, made


def test_tls_is_verified_and_secrets_go_through_it(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    key, made = certificate
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made, key)
    with serving(fake(), tls) as server:
        trusting = PrometheusAccess(server.url, token=Secret(SECRET), tenant="t1", ca=made)
        files = download(
            PrometheusApi(trusting, Pauses()), RangeRequest(START, END, 15), tmp_path / "pages"
        )
        assert len(values(files, "kafka_log_log_size")) == 3
        sent = [headers for _, _, headers in server.requests]
        assert {headers["Authorization"] for headers in sent} == {f"Bearer {SECRET}"}
        assert {headers["X-Scope-Orgid"] for headers in sent} == {"t1"}
        before = len(server.requests)
        stranger = PrometheusAccess(server.url, token=Secret(SECRET))
        with pytest.raises(InvalidRequest, match="certificate") as refused:
            PrometheusApi(stranger, Pauses()).count("up", END)
        assert "--prometheus-ca" in str(refused.value.hint)
        assert SECRET not in str(refused.value)
        assert len(server.requests) == before  # nothing was sent to a server that is not trusted
    with pytest.raises(InvalidRequest, match="not a file of certificates"):
        PrometheusApi(PrometheusAccess(server.url, ca=tmp_path / "none.pem"), Pauses())


def test_a_range_without_series_of_kafka_is_refused(tmp_path: Path) -> None:
    server = FakePrometheus([({"__name__": "up", "instance": "x"}, {float(START): 1.0})])
    with serving(server), pytest.raises(InvalidRequest, match="no series of Kafka brokers"):
        fetched(server, tmp_path)


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://x", "http://", "http://u:pw@x:9090"])
def test_a_url_that_is_none_or_has_a_password_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        PrometheusAccess(url)
    assert "pw" not in str(refusal.value)


def test_pieces_of_time_share_no_moment_and_leave_none_out() -> None:
    pieces = spans(0, 100, 10, 4)
    moments = [at for low, high in pieces for at in range(int(low), int(high) + 1, 10)]
    assert moments == list(range(0, 101, 10))
