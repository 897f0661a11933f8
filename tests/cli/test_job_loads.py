"""Jobs with loads of partitions: from Prometheus, or from tables of the pipeline."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from kedge.cli.job_options import PlannedJobOptions
from kedge.files import read_snapshot
from kedge.model import Snapshot
from tests.cli.cluster_commands import Desk
from tests.pipeline.cluster_with_rates import renamed, server, small_cluster
from tests.pipeline.fake_prometheus import FakePrometheus, serving

RANGE = ("--prometheus-range", "10m", "--at", "mean")
NO_LOADS = "note: no loads from Prometheus ("


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(small_cluster(), capsys)


@pytest.fixture
def state(tmp_path: Path) -> tuple[str, str]:
    return ("--state", str(tmp_path / "state"))


def kept_snapshot(state: tuple[str, str]) -> Snapshot:
    (found,) = Path(state[1]).rglob("plan.snapshot.json.gz")
    return read_snapshot(found)


def rates(snapshot: Snapshot) -> dict[tuple[str, int], float]:
    found = zip(snapshot.assignment.keys(), snapshot.bytes_in.tolist(), strict=True)
    return {(tp.topic, tp.partition): rate for tp, rate in found}


def with_times(fake: FakePrometheus) -> FakePrometheus:
    """The server, which has the request times of a broker as well."""
    metric = "kafka_network_requestmetrics_totaltimems"
    labels = {"__name__": metric, "instance": "b1.example:7071", "request": "Produce"}
    fake.series.append(({**labels, "quantile": "0.99"}, {time.time(): 20.0}))
    return fake


def test_a_job_balances_the_traffic_that_prometheus_reports(
    desk: Desk, state: tuple[str, str]
) -> None:
    words = ("balance", "--yes", "--weights", "replicas=0,leaders=0,disk=0", *state)
    assert "Nothing to move" in desk.lines(*words)[0], "a live cluster has no rates"
    with serving(server()) as fake:
        done = desk.json(*words, "--prometheus", fake.url, *RANGE)
    assert done["complete"]
    assert done["done"] > 0
    assert rates(kept_snapshot(state))["hot", 3] == pytest.approx(4000, rel=0.01)


def test_a_job_refuses_a_throttle_at_which_moves_cannot_end(
    desk: Desk, state: tuple[str, str]
) -> None:
    words = ("drain", "1", "--yes", "--throttle", "2kB", *state)
    with serving(server()) as fake:
        refused = desk(*words, "--prometheus", fake.url, *RANGE)
    assert refused.code == 2
    assert "The throttle of 2000 bytes/s is too low: producers write" in refused.err
    assert not list(Path(state[1]).rglob("journal.jsonl"))
    assert desk.json(*words)["complete"], "without loads this is not known"


def test_a_throttle_that_adapts_begins_at_what_producers_need(
    desk: Desk, state: tuple[str, str]
) -> None:
    words = ("drain", "1", "--yes", "--throttle", "auto:1kB-1MB", *state)
    with serving(with_times(server())) as fake:
        desk.json(*words, "--prometheus", fake.url, *RANGE)
    (journal,) = Path(state[1]).rglob("journal.jsonl")
    assert json.loads(journal.read_bytes().splitlines()[0])["rate"] >= 7000


def test_a_prediction_of_a_job_has_the_traffic_of_clients(
    desk: Desk, state: tuple[str, str]
) -> None:
    words = ("drain", "1", "--dry-run", *state)
    without = desk.json(*words)["prediction"]["assumptions"]
    with serving(server()) as fake:
        loaded = desk.json(*words, "--prometheus", fake.url, *RANGE)["prediction"]["assumptions"]
    assert any(line.startswith("no traffic: the snapshot has no rates") for line in without)
    assert any(line.startswith("traffic stays as in the snapshot") for line in loaded)


def test_a_throttle_that_adapts_goes_on_without_loads(desk: Desk, state: tuple[str, str]) -> None:
    words = ("drain", "1", "--yes", *state)
    with serving(with_times(FakePrometheus())) as fake:
        refused = desk(*words, "--prometheus", fake.url, *RANGE)
        done = desk(*words, "--throttle", "auto", "--prometheus", fake.url, *RANGE)
    assert refused.code == 2
    assert done.code == 0, done.err
    (told,) = (line for line in done.err.splitlines() if line.startswith(NO_LOADS))
    assert told.endswith("): planned without traffic")


def test_series_of_other_exporter_rules_are_read_by_a_job(
    desk: Desk, state: tuple[str, str], tmp_path: Path
) -> None:
    rules = tmp_path / "rules.toml"
    with serving(renamed(server(), rules)) as fake:
        words = ("drain", "1", "--dry-run", "--prometheus", fake.url, *RANGE, *state)
        assert desk(*words).code == 2
        done = desk(*words, "--mapping", str(rules))
    assert done.code == 0, done.err
    assert "loads (mean) of 8 of 8 partitions" in done.err


@pytest.mark.parametrize("throttle", ["50MB", "auto"])
@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--prometheus-range", "6"), "--prometheus-range '6'"),
        (("--prometheus-step", "often"), "--prometheus-step 'often'"),
        (("--at", "p99"), "unknown load 'p99'"),
        (("--mapping", "nowhere.toml"), "nowhere.toml"),
        (("--metadata", "nowhere.json"), "nowhere.json"),
        (("--prometheus-auth", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_options_that_are_wrong_are_refused_before_the_cluster_is_asked(
    desk: Desk, state: tuple[str, str], throttle: str, more: tuple[str, ...], why: str
) -> None:
    server_words = ("--prometheus", "http://127.0.0.1:1", "--throttle", throttle)
    assert why in desk.refusal("drain", "1", "--yes", *server_words, *more, *state)
    assert not Path(state[1]).exists()


def test_loads_come_from_one_place(desk: Desk, state: tuple[str, str]) -> None:
    words = ("drain", "1", "--yes", "--loads", "tables", "--prometheus", "http://127.0.0.1:1")
    assert "loads from two places" in desk.refusal(*words, *state)


def test_beside_tables_prometheus_serves_the_throttle_alone() -> None:
    options = PlannedJobOptions(
        throttle="auto", prometheus="http://127.0.0.1:1", loads=Path("tables")
    )
    source = options.load_source()
    assert (source.loads, source.prometheus) == (Path("tables"), "")
