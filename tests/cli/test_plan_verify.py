"""`kedge plan verify`: what passes, what fails, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Kedge

SNAPSHOT: dict[str, Any] = {
    "format": "kedge.snapshot/1",
    "cluster_id": "harbour",
    "brokers": [{"id": b, "rack": "ab"[b % 2]} for b in range(4)]
    + [{"id": 4, "state": "dead", "rack": "a"}],
    "topics": [
        {
            "name": "orders",
            "replication_factor": 2,
            "partitions": [{"id": 0, "replicas": [0, 1]}, {"id": 1, "replicas": [1, 2]}],
        }
    ],
}
PLAN: dict[str, Any] = {
    "format": "kedge.plan/1",
    "version": 1,
    "cluster_id": "harbour",
    "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 1]}],
    "before": [{"topic": "orders", "partition": 0, "replicas": [0, 1]}],
}


def _write(path: Path, value: object) -> str:
    path.write_text(json.dumps(value))
    return str(path)


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    return _write(tmp_path / "snapshot.json", SNAPSHOT)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    return _write(tmp_path / "plan.json", PLAN)


def test_a_sound_plan_passes(kedge: Kedge, plan: str, snapshot: str) -> None:
    outcome = kedge("plan", "verify", plan, "--snapshot", snapshot)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "1 partitions checked, 0 errors, 0 warnings\n"


def test_a_plan_that_the_cluster_has_left_behind_fails(
    kedge: Kedge, tmp_path: Path, snapshot: str
) -> None:
    drifted = {**PLAN, "before": [{"topic": "orders", "partition": 0, "replicas": [3, 1]}]}
    outcome = kedge("plan", "verify", _write(tmp_path / "p", drifted), "--snapshot", snapshot)
    assert outcome.code == 1
    assert "orders-0 is on [0, 1], the plan expects [3, 1]" in outcome.out


def test_findings_are_told_as_json(kedge: Kedge, tmp_path: Path, snapshot: str) -> None:
    to_dead = {**PLAN, "partitions": [{"topic": "orders", "partition": 0, "replicas": [4, 1]}]}
    file = _write(tmp_path / "p", to_dead)
    outcome = kedge("plan", "verify", file, "--snapshot", snapshot, "--output", "json")
    assert outcome.code == 1
    finding = json.loads(outcome.out)["findings"][0]
    assert finding["severity"] == "error"
    assert finding["place"].startswith("partitions[0]")


def test_a_plain_reassignment_file_is_checked_against_the_cluster(
    kedge: Kedge, tmp_path: Path, snapshot: str
) -> None:
    kafka = {"version": 1, "partitions": [{"topic": "orders", "partition": 9, "replicas": [0, 1]}]}
    outcome = kedge("plan", "verify", _write(tmp_path / "k", kafka), "--snapshot", snapshot)
    assert outcome.code == 1
    assert "orders-9 is not in the snapshot" in outcome.out


TWICE = [*PLAN["partitions"], *PLAN["partitions"]]
BAD: dict[str, bytes] = {
    "an empty file": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"format":"kedge.plan/1","version":1,"cluster_id":"\xff"}',
    "a list": b"[]",
    "another version": json.dumps({**PLAN, "version": 2}).encode(),
    "another format": json.dumps({**PLAN, "format": "kedge.plan/7"}).encode(),
    "a partition twice": json.dumps({**PLAN, "partitions": TWICE}).encode(),
    "a broker twice": json.dumps(
        {**PLAN, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 1]}]}
    ).encode(),
    "a huge number": json.dumps(
        {**PLAN, "partitions": [{"topic": "orders", "partition": 10**30, "replicas": [1]}]}
    ).encode(),
    "a plain reassignment file without a cluster": b'{"version":1,"partitions":[]}',
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_what_is_no_plan_is_refused_in_one_sentence(
    kedge: Kedge, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(content)
    outcome = kedge("plan", "verify", str(file))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert str(file) in outcome.err


def test_a_missing_file_is_refused(kedge: Kedge, tmp_path: Path) -> None:
    outcome = kedge("plan", "verify", str(tmp_path / "nowhere.json"))
    assert outcome.code == 2
    assert "there is no such file" in outcome.err
