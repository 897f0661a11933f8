"""`kedge plan --prometheus` and `--loads`: plans with the rates of partitions."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.files import read_snapshot
from kedge.model import Broker, BrokerId
from kedge.model.broker import Endpoint
from kedge.wiring import clusters_from
from tests.cli.conftest import Kedge
from tests.pipeline.fake_prometheus import FakePrometheus, Fault, broker_series, serving

SECRET = "hunter2"


def small_cluster() -> MemoryCluster:
    """Broker 1 leads what carries all the traffic."""
    hosts = {i: Endpoint("", f"b{i}.example", 9092) for i in (1, 2)}
    brokers = [Broker(BrokerId(i), endpoints=(host,)) for i, host in hosts.items()]
    cluster = MemoryCluster(brokers)
    hot = {p: [BrokerId(1)] for p in range(4)}
    cold = {p: [BrokerId(2)] for p in range(4)}
    cluster.create_topics(
        [TopicCreation("hot", assignment=hot), TopicCreation("cold", assignment=cold)],
        validate_only=False,
    )
    return cluster


def server() -> FakePrometheus:
    end = int(time.time()) // 15 * 15
    window = {"start": end - 900, "end": end}
    hot = broker_series(
        {"hot": [(p, 1000.0 * (p + 1)) for p in range(4)]}, instance="b1.example:7071", **window
    )
    cold = broker_series(
        {"cold": [(p, 1.0) for p in range(4)]}, instance="b2.example:7071", **window
    )
    return FakePrometheus(hot + cold)


def words(url: str, *more: str) -> tuple[str, ...]:
    cluster = ("--bootstrap-server", "here:1", "--prometheus", url, "--prometheus-range", "10m")
    return ("plan", *cluster, *more)


def test_one_command_makes_a_plan_with_loads_of_prometheus(kedge: Kedge, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    with serving(server()) as fake, clusters_from(lambda *_: small_cluster()):
        made = kedge(*words(fake.url, "--at", "mean", "--out", str(out)))
    assert made.code == 0, made.err
    assert "loads (mean) of 8 of 8 partitions" in made.err
    assert "8 by offsets" in made.err
    assert "no data" not in made.out.split("in ", 1)[0]
    taken = next(path for path in tmp_path.iterdir() if "snapshot" in path.name)
    snapshot = read_snapshot(taken)
    rates = dict(
        zip(map(tuple, snapshot.assignment.keys()), snapshot.bytes_in.tolist(), strict=True)
    )
    assert rates["hot", 3] == pytest.approx(4000, rel=0.01)
    assert rates["cold", 0] == pytest.approx(1, rel=0.05)


def test_credentials_come_from_a_file_and_are_never_shown(kedge: Kedge, tmp_path: Path) -> None:
    auth = tmp_path / "auth.toml"
    auth.write_text(f'token = "{SECRET}"\n')
    fake = server()
    fake.faults = [Fault(401)]
    with serving(fake), clusters_from(lambda *_: small_cluster()):
        refused = kedge(*words(fake.url, "--prometheus-auth", str(auth)))
    assert fake.requests[0][2]["Authorization"] == f"Bearer {SECRET}"
    assert refused.code == 2
    assert "401" in refused.err
    assert SECRET not in refused.err + refused.out


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--prometheus-range", "6"), "--prometheus-range '6'"),
        (("--at", "p99"), "unknown load 'p99'"),
        (("--prometheus-match", "kafka"), "selects no series"),
        (("--loads", "history"), "loads from two places"),
        (("--prometheus-auth", "nowhere.toml"), "nowhere.toml"),
        (("--prometheus-ca", "nowhere.pem"), "nowhere.pem"),
    ],
)
def test_a_bad_request_is_refused_in_one_sentence(
    more: tuple[str, ...], text: str, kedge: Kedge
) -> None:
    with serving(server()) as fake, clusters_from(lambda *_: small_cluster()):
        refused = kedge(*words(fake.url, *more))
    assert refused.code == 2
    assert text in refused.err
    assert len(refused.err.splitlines()) == 1


def test_metrics_of_other_brokers_are_refused(kedge: Kedge) -> None:
    end = int(time.time())
    fake = FakePrometheus(broker_series({"x": [(0, 5.0)]}, start=end - 900, end=end))
    with serving(fake), clusters_from(lambda *_: small_cluster()):
        refused = kedge(*words(fake.url))
    assert refused.code == 2
    assert "no bytes of this cluster's partitions" in refused.err
