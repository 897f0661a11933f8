"""`kedge plan`, `plan curve`, `explain`, `snapshot`: as typed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.files import read_snapshot, write_snapshot
from kedge.model import BrokerId
from kedge.plan import parse_plan
from kedge.wiring import clusters_from
from tests.balance.snapshots import lopsided, with_dirs
from tests.cli.conftest import Kedge


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    path = tmp_path / "cluster"
    write_snapshot(lopsided(), path)
    return str(path)


@pytest.fixture
def plan(kedge: Kedge, tmp_path: Path, snapshot: str) -> str:
    path = str(tmp_path / "plan.json")
    assert kedge("plan", "--snapshot", snapshot, "--out", path).code == 0
    return path


def test_a_plan_is_made_shown_and_verified(kedge: Kedge, tmp_path: Path, snapshot: str) -> None:
    path = str(tmp_path / "plan.json")
    made = kedge("plan", "--snapshot", snapshot, "--tolerance", "0.05,cpu=0.2", "--out", path)
    assert made.code == 0, made.err
    lines = made.out.splitlines()
    assert lines[0].split() == ["fullest", "÷", "mean", "before", "after", "best", "possible"]
    assert lines[1].startswith("disk")
    assert any(line.startswith("bytes") and "must move" in line for line in lines)
    assert any(line.startswith("time") and "no order is faster" in line for line in lines)
    found = parse_plan(Path(path).read_bytes())
    assert found.snapshot_sha256
    assert found.created_at
    assert found.goals == {"tolerances": {"cpu": 0.2}}
    checked = kedge("plan", "verify", path, "--snapshot", snapshot)
    assert (checked.code, checked.out) == (0, "")
    assert "0 errors, 0 warnings" in checked.err


def test_figures_for_programs(kedge: Kedge, snapshot: str) -> None:
    outcome = kedge("plan", "--snapshot", snapshot, "--output", "json", "--max-bytes", "100GB")
    assert outcome.code == 0
    row = json.loads(outcome.out)
    assert 0 < row["bytes_moved"] <= 100e9
    assert row["planning_seconds"] >= 0
    assert "Nothing was written" in outcome.err


def test_every_option_reaches_the_goals(kedge: Kedge, tmp_path: Path, snapshot: str) -> None:
    path = tmp_path / "plan.json"
    words = (
        *("--remove-brokers", "0", "--add-brokers", "9:a", "--exclude-brokers", "5"),
        *("--exclude-partitions", "small-1", "--max-moves", "500", "--max-moves-per-broker", "99"),
        *("--replication-factor", "small=1", "--weights", "disk=2", "--limits", "cpu=off"),
        *("--max-replicas-per-broker", "40", "--throttle", "10MB", "--moves-at-once", "3"),
    )
    outcome = kedge("plan", "--snapshot", snapshot, "--out", str(path), *words, "--seed", "4")
    assert outcome.code == 0, outcome.err
    assert parse_plan(path.read_bytes()).goals == {
        "weights": {"disk": 2.0},
        "limits": {"cpu": None},
        "max_moves": 500,
        "max_moves_per_broker": 99,
        "max_replicas_per_broker": 40,
        "remove_brokers": [0],
        "add_brokers": [{"id": 9, "rack": "a"}],
        "exclude_brokers": [5],
        "exclude_partitions": [["small", 1]],
        "replication_factor": {"small": 1},
        "rate_bytes_per_second": 10_000_000,
        "moves_each_way": 3,
    }
    assert kedge("plan", "verify", str(path), "--snapshot", snapshot).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--replication-factor", "large=9"],
            "Replication factor 9 of topic large needs 9 brokers; 6 stay",
        ),
        (["--exclude-topics", ".*"], "every partition is excluded"),
        (["--remove-brokers", "44"], "broker 44 is not in the snapshot"),
        (["--weights", "disk"], "--weights: 'disk' has no value"),
        (["--tolerance", "x"], "'x' is not a number from 0"),
        (["--tolerance", "1,0.2"], "has two general values"),
        (["--tolerance", "5"], "--tolerance: 5 is more than 1 (100%); write 5%"),
        (["--tolerance", "0.1,cpu=7"], "--tolerance: 7 is more than 1 (100%); write 7%"),
        (["--limits", "disk=2"], "--limits: 2 is more than 1 (100%); write disk=0.9, or disk=off"),
        (["--above", "85"], "--above: 85 is more than 1 (100%); write 85%"),
        (["--above", "850"], "--above: 850 is more than 1 (100%); write 85%"),
        (["--throttle", "50"], "--throttle 50 is 50 bytes/s, less than 1 kB/s; did you mean 50MB?"),
        (["--throttle", "0.5kB"], "--throttle 0.5kB is 500 bytes/s, less than 1 kB/s; write 50MB"),
        (["--max-bytes", "many"], "--max-bytes: 'many' is not an amount"),
        (["--replication-factor", "large"], "is not topic=number"),
        (["--exclude-partitions", "large"], "is not a partition"),
        (["--above", "1%"], "--above 1% cannot be met"),
        (["--limits", "disk=0.1"], "The load needs 1.04 TB of disk"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    kedge: Kedge, snapshot: str, words: list[str], said: str
) -> None:
    outcome = kedge("plan", "--snapshot", snapshot, *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_without_a_cluster_the_command_explains_itself(kedge: Kedge) -> None:
    bare = kedge("plan")
    assert bare.code == 2
    assert "Example: kedge plan --snapshot" in " ".join(bare.err.split())
    lost = kedge("plan", "--tolerance", "0.1")
    assert (lost.code, lost.out) == (2, "")
    assert "No cluster given; use either --snapshot FILE" in lost.err


def test_a_figure_that_was_tampered_with_is_named(kedge: Kedge, plan: str, snapshot: str) -> None:
    document = json.loads(Path(plan).read_text())
    document["summary"]["imbalance_after"]["disk"] = 1.0
    document["certificate"]["bytes"] *= 2
    Path(plan).write_text(json.dumps(document))
    outcome = kedge("plan", "verify", plan, "--snapshot", snapshot)
    assert outcome.code == 1
    assert "error: summary.imbalance_after.disk: says 1, the plan has" in outcome.out
    assert "error: certificate.bytes: says" in outcome.out


def test_the_curve_is_drawn_and_written(kedge: Kedge, tmp_path: Path, snapshot: str) -> None:
    page = tmp_path / "curve.html"
    outcome = kedge("plan", "curve", "--snapshot", snapshot, "--html", str(page))
    assert outcome.code == 0, outcome.err
    assert "furthest above the best level" in outcome.out
    assert "← knee" in outcome.out
    assert "plotly" in page.read_text()
    rows = json.loads(kedge("plan", "curve", "--snapshot", snapshot, "--output", "json").out)
    moved = [row["bytes_moved"] for row in rows["points"]]
    assert moved == sorted(moved)
    above = [max(row["above_best"].values()) for row in rows["points"]]
    assert above == sorted(above, reverse=True)


def test_a_plan_is_explained_whole_by_partition_and_by_broker(
    kedge: Kedge, plan: str, snapshot: str
) -> None:
    whole = kedge("explain", plan, "--snapshot", snapshot)
    assert whole.code == 0, whole.err
    assert "partitions, and why" in whole.out
    assert "far over" in whole.out
    name = str(parse_plan(Path(plan).read_bytes()).partitions[0].tp)
    one = kedge("explain", plan, "--partition", name)
    assert one.out.startswith(f"{name}  ")
    assert "→" in one.out
    some = kedge("explain", plan, "--broker", "0")
    assert some.out.startswith("broker 0: ")
    row: Any = json.loads(kedge("explain", plan, "--partition", name, "--output", "json").out)
    assert row["why"]
    for absent in ("large-99", "x"):
        assert kedge("explain", plan, "--partition", absent).code == 2


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_broker_that_the_cluster_does_not_have_is_not_explained(
    kedge: Kedge, plan: str, snapshot: str, form: str
) -> None:
    unknown = kedge("explain", plan, "--broker", "77", "--output", form)
    assert (unknown.code, unknown.out) == (2, "")
    assert "Broker 77 is not in the plan; brokers: 0, 1, 2" in unknown.err
    also = kedge("explain", plan, "--broker", "77", "--snapshot", snapshot)
    assert "Broker 77 is not in the plan and its cluster" in also.err


def test_new_replicas_are_given_directories(kedge: Kedge, tmp_path: Path) -> None:
    path, out = tmp_path / "jbod", tmp_path / "plan.json"
    write_snapshot(with_dirs(lopsided()), path)
    assert kedge("plan", "--snapshot", str(path), "--out", str(out), "--even-log-dirs").code == 0
    found = parse_plan(out.read_bytes())
    assert any("/d/1" in each.log_dirs for each in found.partitions)
    assert kedge("plan", "verify", str(out), "--snapshot", str(path)).code == 0


def live() -> MemoryCluster:
    cluster = MemoryCluster(4)
    lists = {p: [BrokerId(1 + p % 2), BrokerId(2 - p % 2)] for p in range(8)}
    cluster.create_topics([TopicCreation("orders", assignment=lists)])
    return cluster


def test_a_snapshot_of_a_live_cluster_is_taken_and_planned_from(
    kedge: Kedge, tmp_path: Path
) -> None:
    out, plan = tmp_path / "taken.json", tmp_path / "plan.json"
    with clusters_from(lambda _address, _settings: live()):
        taken = kedge("snapshot", "--bootstrap-server", "here:1", "--out", str(out))
        assert taken.code == 0, taken.err
        assert taken.out.startswith("8 partitions on 4 brokers")
        made = kedge("plan", "--bootstrap-server", "here:1", "--out", str(plan))
        assert made.code == 0, made.err
    assert taken.err.startswith("note: network and cpu: no data; ")
    assert "note    network and cpu: no data; they are not balanced\n" in made.out
    found = read_snapshot(out)
    assert found.cluster_id == "memory"
    assert [broker.id for broker in found.brokers] == [1, 2, 3, 4]
    assert found.assignment.rf.tolist() == [2] * 8
    after = found.assignment.to_mapping() | parse_plan(plan.read_bytes()).after
    assert {broker for ids in after.values() for broker in ids} == {1, 2, 3, 4}


def test_a_plan_holds_against_a_later_snapshot_of_a_cluster_that_grew(
    kedge: Kedge, tmp_path: Path
) -> None:
    first, later, plan = (str(tmp_path / name) for name in ("1.json", "2.json", "plan.json"))
    before = lopsided()
    write_snapshot(before, Path(first))
    write_snapshot(replace(before, size=before.size * 2), Path(later))
    assert kedge("plan", "--snapshot", first, "--out", plan).code == 0
    outcome = kedge("plan", "verify", plan, "--snapshot", later)
    assert outcome.code == 0, outcome.out
    assert "warning: summary.bytes_moved: " in outcome.out
    assert ", 0 errors, 2 warnings" in outcome.err


def test_a_controller_that_is_no_broker_is_not_planned_with(kedge: Kedge, tmp_path: Path) -> None:
    cluster = MemoryCluster(3, controller_node=BrokerId(1000))
    lists = {p: [BrokerId(1), BrokerId(2)] for p in range(6)}
    cluster.create_topics([TopicCreation("orders", assignment=lists)])
    out, plan = tmp_path / "taken.json", tmp_path / "plan.json"
    with clusters_from(lambda _address, _settings: cluster):
        assert kedge("snapshot", "--bootstrap-server", "here:1", "--out", str(out)).code == 0
        assert kedge("plan", "--bootstrap-server", "here:1", "--out", str(plan)).code == 0
    assert [broker.id for broker in read_snapshot(out).brokers] == [1, 2, 3]
    after = parse_plan(plan.read_bytes()).after
    assert {broker for ids in after.values() for broker in ids} == {1, 2, 3}


def test_a_broker_that_is_gone_is_dead_in_the_snapshot(kedge: Kedge, tmp_path: Path) -> None:
    out, cluster = tmp_path / "taken.json", live()
    cluster.stop_broker(BrokerId(1))
    with clusters_from(lambda _address, _settings: cluster):
        assert kedge("snapshot", "--bootstrap-server", "here:1", "--out", str(out)).code == 0
    states = {broker.id: str(broker.state) for broker in read_snapshot(out).brokers}
    assert states == {1: "dead", 2: "alive", 3: "alive", 4: "alive"}


def test_a_plan_of_a_live_cluster_can_be_verified_later(kedge: Kedge, tmp_path: Path) -> None:
    plan, cluster = tmp_path / "plan.json", live()
    with clusters_from(lambda _address, _settings: cluster):
        made = kedge("plan", "--bootstrap-server", "here:1", "--out", str(plan))
    assert made.code == 0
    kept = tmp_path / "plan.snapshot.json.gz"
    assert str(kept) in made.err
    verified = kedge("plan", "verify", str(plan))
    assert (verified.code, verified.out) == (0, "")
    assert f"note: using {kept}, the snapshot that the plan was made from" in verified.err
    explained = kedge("explain", str(plan))
    assert explained.code == 0
    assert "broker 1" in explained.out  # the brokers are drawn
    assert json.loads(kedge("explain", str(plan), "--output", "json").out)["partitions"]
    kept.unlink()
    assert "note" not in kedge("plan", "verify", str(plan)).err


def test_a_certificate_is_verified_with_the_snapshot_beside_its_plan(
    kedge: Kedge, tmp_path: Path
) -> None:
    plan, cluster = tmp_path / "plan.json", live()
    with clusters_from(lambda _address, _settings: cluster):
        kedge("plan", "--bootstrap-server", "here:1", "--out", str(plan))
    document = json.loads(plan.read_text())
    document["summary"]["replicas_moved"] += 1
    plan.write_text(json.dumps(document))
    outcome = kedge("plan", "verify", str(plan))
    assert outcome.code == 1
    assert "summary.replicas_moved" in outcome.out


def test_a_plan_of_a_snapshot_leaves_no_second_snapshot(
    kedge: Kedge, tmp_path: Path, plan: str
) -> None:
    assert not list(tmp_path.glob("plan.snapshot*"))


@pytest.mark.parametrize("option", ["--topics", "--exclude-topics"])
@pytest.mark.parametrize(
    "pattern", ["(", "[a", "*x", "a{99999999999999999999}", "(" * 3_000, "a" * 5_000]
)
def test_a_bad_pattern_is_one_sentence(
    kedge: Kedge, snapshot: str, option: str, pattern: str
) -> None:
    outcome = kedge("plan", "--snapshot", snapshot, option, pattern)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert "pattern" in outcome.err
