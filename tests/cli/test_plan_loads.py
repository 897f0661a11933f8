"""`kedge plan --prometheus` and `--loads`: plans with the rates of partitions."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from kedge.files import read_snapshot
from kedge.wiring import clusters_from
from tests.cli.conftest import Kedge
from tests.pipeline.cluster_with_rates import (
    renamed,
    server,
    server_of_broker_1,
    shared_topic,
    small_cluster,
)
from tests.pipeline.fake_prometheus import FakePrometheus, Fault, broker_series, serving

SECRET = "hunter2"


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
    assert "no metrics of" not in made.err
    assert "cpu: no data" in made.err
    assert "no data" not in made.out.split("in ", 1)[0]
    taken = next(path for path in tmp_path.iterdir() if "snapshot" in path.name)
    snapshot = read_snapshot(taken)
    rates = dict(
        zip(map(tuple, snapshot.assignment.keys()), snapshot.bytes_in.tolist(), strict=True)
    )
    assert rates["hot", 3] == pytest.approx(4000, rel=0.01)
    assert rates["cold", 0] == pytest.approx(1, rel=0.05)


def test_series_of_other_exporter_rules_are_read_by_a_mapping_file(
    kedge: Kedge, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.toml"
    with (
        serving(renamed(server(), rules)) as fake,
        clusters_from(lambda *_: small_cluster()),
    ):
        without = kedge(*words(fake.url))
        made = kedge(*words(fake.url, "--mapping", str(rules)))
    assert (without.code, made.code) == (2, 0), made.err
    assert "8 by offsets" in made.err


def test_what_a_broker_without_metrics_leads_is_estimated_and_the_broker_named(
    kedge: Kedge, tmp_path: Path
) -> None:
    """Its live leadership keeps its records out of the bytes that the other broker counted."""
    out = str(tmp_path / "plan.json")
    with serving(server_of_broker_1()) as fake, clusters_from(lambda *_: shared_topic()):
        made = kedge(*words(fake.url, "--at", "mean", "--out", out))
    assert made.code == 0, made.err
    assert "no metrics of broker 2: bytes in of what it leads are estimated" in made.err
    taken = next(path for path in tmp_path.iterdir() if "snapshot" in path.name)
    assert read_snapshot(taken).bytes_in.tolist() == pytest.approx([1000, 3000], rel=0.02)


def test_a_partial_response_is_used_and_noted(kedge: Kedge, tmp_path: Path) -> None:
    fake = server()
    fake.envelope = {"warnings": ["store b did not answer"]}
    with serving(fake), clusters_from(lambda *_: small_cluster()):
        made = kedge(*words(fake.url, "--out", str(tmp_path / "plan.json")))
    assert made.code == 0, made.err
    assert "loads (p95) of 8 of 8 partitions" in made.err
    assert "values may be missing: store b did not answer" in made.err


def with_cpu(fake: FakePrometheus, *, told_by_traffic: bool) -> FakePrometheus:
    """Traffic of brokers that changes from minute to minute, and cpu that follows it or not."""
    end = int(time.time()) // 15 * 15
    draw = np.random.default_rng(5)
    for host in ("b1", "b2"):
        minutes = draw.uniform(1e5, 1e7, 61)
        noise = draw.uniform(0.1, 2.0, 61)
        totals: dict[str, float] = dict.fromkeys(("bytesin", "bytesout", "cpu"), 0.0)
        points: dict[str, dict[float, float]] = {name: {} for name in totals}
        for at in range(241):
            rate = minutes[at // 4]
            busy = 0.05 + 6e-8 * rate + 2e-8 * 2 * rate if told_by_traffic else noise[at // 4]
            for name, grown in (("bytesin", rate), ("bytesout", 2 * rate), ("cpu", busy)):
                totals[name] += float(grown) * 15
                points[name][float(end - 3600 + 15 * at)] = totals[name]
        base = {"instance": f"{host}.example:7071", "job": "kafka"}
        for name, found in points.items():
            meter = f"kafka_server_brokertopicmetrics_{name}_total"
            metric = "process_cpu_seconds_total" if name == "cpu" else meter
            fake.series.append(({"__name__": metric, **base}, found))
    return fake


@pytest.mark.parametrize("told_by_traffic", [True, False])
def test_a_cpu_model_is_used_where_traffic_explains_the_cpu(
    told_by_traffic: bool, kedge: Kedge, tmp_path: Path
) -> None:
    out = tmp_path / "plan.json"
    fake = with_cpu(server(), told_by_traffic=told_by_traffic)
    with serving(fake), clusters_from(lambda *_: small_cluster()):
        made = kedge(*words(fake.url, "--prometheus-range", "50m", "--out", str(out)))
    assert made.code == 0, made.err
    taken = next(path for path in tmp_path.iterdir() if "snapshot" in path.name)
    model = read_snapshot(taken).cpu_model
    if told_by_traffic:
        assert "balanced by that model" in made.err
        assert model is not None
        assert pytest.approx(model.leader_in + 2 * model.leader_out, rel=0.05) == 100 * (
            6e-8 + 2 * 2e-8
        )
    else:
        assert ": too little, not used" in made.err
        assert model is None


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
