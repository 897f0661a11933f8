"""A real Prometheus that scrapes real brokers with the JMX agent: from nothing to a plan.

Needs `prometheus` on the PATH (Debian has it) and the agent's jar, which `make install` resolves.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from jvm import KAFKA_4_1, free_port, java
from jvm.clusters import FLAGS, HERE, PROGRAMS, nothing_extra
from jvm.clusters import _kraft as kraft_settings  # pyright: ignore[reportPrivateUsage]
from jvm.clusters import _write as write_settings  # pyright: ignore[reportPrivateUsage]
from kedge.cli.app import run
from kedge.errors import InvalidRequest
from kedge.execution.adaptive_throttle import Signals
from kedge.execution.broker_times import TimeKind
from kedge.files import read_snapshot
from kedge.pipeline.sources.broker_times import PrometheusTimes
from kedge.pipeline.sources.prometheus_api import PrometheusAccess, PrometheusApi

INSTALLED = HERE.parent / ".cache/jars/jmx-1.0.1/jmx_prometheus_javaagent-1.0.1.jar"
AGENT = Path(os.environ.get("KEDGE_JMX_AGENT", INSTALLED))
RULES = r"""
lowercaseOutputName: true
includeObjectNames:
  - "kafka.server:type=BrokerTopicMetrics,*"
  - "kafka.server:type=app-info,*"
  - "kafka.log:type=Log,*"
  - "kafka.cluster:type=Partition,*"
  - "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"
  - "kafka.network:type=RequestMetrics,name=RequestQueueTimeMs,request=Produce"
  - "kafka.log:type=LogFlushStats,*"
rules:
  - pattern: 'kafka.network<type=RequestMetrics, name=(\w+), request=(\w+)><>(\d+)thPercentile'
    name: kafka_network_requestmetrics_$1
    labels: {request: "$2", quantile: "0.$3"}
  - pattern: 'kafka.log<type=LogFlushStats, name=(\w+)><>(\d+)thPercentile'
    name: kafka_log_logflushstats_$1
    labels: {quantile: "0.$2"}
  - pattern: 'kafka.server<type=BrokerTopicMetrics, name=(\w+)PerSec, topic=(.+)><>Count'
    name: kafka_server_brokertopicmetrics_$1_total
    type: COUNTER
    labels: {topic: "$2"}
  - pattern: 'kafka.log<type=Log, name=(Size|LogEndOffset|LogStartOffset), topic=(.+), partition=(\d+)><>Value'
    name: kafka_log_log_$1
    labels: {topic: "$2", partition: "$3"}
  - pattern: 'kafka.cluster<type=Partition, name=(\w+), topic=(.+), partition=(\d+)><>Value'
    name: kafka_cluster_partition_$1
    labels: {topic: "$2", partition: "$3"}
  - pattern: 'kafka.server<type=app-info, id=(\d+)><>StartTimeMs'
    name: kafka_server_app_info_start_time_ms
    labels: {broker_id: "$1"}
"""  # noqa: E501
SECONDS = 60
SHARES = {0: 1, 1: 2, 2: 3, 3: 6}  # records of each partition in a round

pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed"),
    pytest.mark.skipif(not AGENT.exists(), reason="the JMX agent is not installed"),
]


@contextlib.contextmanager
def scraped_brokers(directory: Path) -> Generator[tuple[str, list[str]]]:
    """Two brokers, each in a JVM with the agent; their addresses and their endpoints."""
    (directory / "rules.yml").write_text(RULES)
    controller = free_port()
    ports = {1: free_port(), 2: free_port()}
    endpoints: list[str] = []
    with contextlib.ExitStack() as stack:
        for broker, port in ports.items():
            settings = kraft_settings(directory, broker, port, controller, nothing_extra)
            file = write_settings(directory, broker, settings)
            endpoints.append(f"127.0.0.1:{free_port()}")
            agent = f"-javaagent:{AGENT}={endpoints[-1]}:{directory / 'rules.yml'}"
            process = stack.enter_context(
                java(KAFKA_4_1, *PROGRAMS[KAFKA_4_1], file, cwd=directory, flags=(*FLAGS, agent))
            )
            process.wait_for_line("READY")
        yield ",".join(f"127.0.0.1:{port}" for port in ports.values()), endpoints


@contextlib.contextmanager
def prometheus(directory: Path, endpoints: list[str]) -> Generator[str]:
    """A server that scrapes the endpoints every second."""
    listed = ", ".join(f"'{endpoint}'" for endpoint in endpoints)
    (directory / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: kafka\n"
        f"    static_configs: [{{targets: [{listed}]}}]\n"
    )
    address = f"127.0.0.1:{free_port()}"
    words = [
        *("prometheus", f"--config.file={directory / 'prometheus.yml'}"),
        *(f"--storage.tsdb.path={directory / 'tsdb'}", f"--web.listen-address={address}"),
    ]
    with (directory / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            _await_ready(f"http://{address}/-/ready")
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(20)


def _await_ready(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            assert time.monotonic() < deadline, "prometheus did not get ready"
            time.sleep(0.2)


def _produce(bootstrap: str) -> None:
    """Records of 1 kB to the partitions of `hot`, at a steady pace."""
    producer: Any = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for _ in range(SECONDS * 2):
        for partition, records in SHARES.items():
            for _ in range(records):
                producer.produce("hot", b"x" * 1000, partition=partition)
        producer.flush(10)
        time.sleep(0.5)


def _until_produced(bootstrap: str) -> None:
    producer: Any = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for _ in range(50):
        producer.produce("hot", b"x" * 1000)
        producer.flush(10)


def _once_scraped(api: PrometheusApi, endpoints: list[str]) -> PrometheusTimes:
    """The times of brokers, when all brokers were scraped."""
    deadline = time.monotonic() + 120
    while True:
        with contextlib.suppress(InvalidRequest):
            times = PrometheusTimes(api, 'job="kafka"')
            if {place.where for place in times.read().times} == set(endpoints):
                return times
        assert time.monotonic() < deadline, "no times of brokers were scraped"
        time.sleep(1)


def test_a_throttle_that_adapts_heeds_the_times_that_prometheus_has(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A drain under `--throttle auto --prometheus`; the times are those of both brokers."""
    with scraped_brokers(tmp_path) as (bootstrap, endpoints):
        at = ("--bootstrap-server", bootstrap)
        words = ("topics", "create", *at, "--topic", "hot", "--replica-assignment", "1,1,1,1")
        assert run([*words]) == 0
        _until_produced(bootstrap)
        with prometheus(tmp_path, endpoints) as url:
            api = PrometheusApi(PrometheusAccess(url), time.sleep)
            times = _once_scraped(api, endpoints)
            found = {place.kind for place in times.read().times}
            assert found >= {TimeKind.PRODUCE, TimeKind.QUEUE}
            signals = times.added_to(Signals(at=time.monotonic()))
            assert (signals.slow, signals.unread) == ("", "")
            assert signals.at is not None
            assert time.monotonic() - signals.at < 10
            drain = ["drain", "1", *at, "--throttle", "auto:1MB-50MB", "--prometheus", url]
            code = run([*drain, "--state", str(tmp_path / "state"), "--yes"])
    assert code == 0, capfd.readouterr().err


def test_from_nothing_to_a_plan_with_loads_in_one_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plan.json"
    with scraped_brokers(tmp_path) as (bootstrap, endpoints):
        create = ("topics", "create", "--bootstrap-server", bootstrap)
        assert run([*create, "--topic", "hot", "--replica-assignment", "1,1,1,1"]) == 0
        assert run([*create, "--topic", "cold", "--replica-assignment", "2,2,2,2"]) == 0
        with prometheus(tmp_path, endpoints) as url:
            _produce(bootstrap)
            words = ["plan", "--bootstrap-server", bootstrap, "--prometheus", url, "--at", "mean"]
            options = ["--prometheus-range", f"{SECONDS - 10}s", "--prometheus-step", "1s"]
            code = run([*words, *options, "--out", str(out)])
    shown = capfd.readouterr()
    assert code == 0, shown.err
    assert "by offsets" in shown.err
    snapshot = read_snapshot(tmp_path / "plan.snapshot.json.gz")
    rates = dict(
        zip(map(tuple, snapshot.assignment.keys()), snapshot.bytes_in.tolist(), strict=True)
    )
    for partition, records in SHARES.items():
        assert rates["hot", partition] / rates["hot", 0] == pytest.approx(records, rel=0.1)
    assert out.exists()
