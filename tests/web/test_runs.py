"""Plans, predictions and runs over HTTP, on a lab: every verb, and servers that end on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId
from tests.web.processes import throttles_of
from tests.web.served import DEADLINE_S, Served, ended_job, key, serving, settings_for

API = "/api/v1/clusters/lab"
GOALS = {"tolerance": 0.1, "topics": "skewed"}


@pytest.fixture
def skewed_lab(tmp_path: Path) -> Iterator[Lab]:
    """Four brokers, of which the first two hold everything."""
    settings = LabSettings(brokers=4, racks=2, speed=30)
    with Lab.running(settings, tmp_path / "lab") as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        lists = {p: [BrokerId(p % 2), BrokerId((p + 1) % 2)] for p in range(8)}
        assert admin.create_topics([TopicCreation("skewed", assignment=lists)]) == {"skewed": None}
        admin.close()
        lab.fill("skewed", 200_000_000)
        yield lab


@pytest.fixture
def server(skewed_lab: Lab, tmp_path: Path, new_database: Callable[[], str]) -> Iterator[Served]:
    settings = settings_for(skewed_lab.bootstrap_servers, tmp_path, database=new_database())
    with serving(settings) as served:
        yield served


def _planned(client: httpx.Client) -> str:
    job = client.post(f"{API}/plans", json={"goals": GOALS}, headers=key()).raise_for_status()
    row = ended_job(client, job.json())
    assert row["state"] == "done", row
    return row["result"]["plan_id"]


def _started(client: httpx.Client, plan: str, throttle: str | None) -> dict[str, Any]:
    body = {"plan_id": plan, "throttle": throttle}
    response = client.post(f"{API}/runs", json=body, headers=key())
    assert response.status_code == 202, response.text
    return response.json()


def _until(client: httpx.Client, run: str, wanted: str) -> dict[str, Any]:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        row = client.get(f"{API}/runs/{run}").raise_for_status().json()
        if row["state"] == wanted:
            return row
        assert time.monotonic() < deadline, f"{wanted} was not reached: {row}"
        time.sleep(0.2)


def test_a_plan_is_made_verified_predicted_applied_and_rolled_back(
    server: Served, skewed_lab: Lab
) -> None:
    with server.client() as client:
        plan = _planned(client)
        shown = client.get(f"{API}/plans/{plan}").json()
        assert shown["summary"]["replicas_moved"] > 0
        assert shown["summary"]["bytes_moved"] >= shown["summary"]["bytes_moved_lower_bound"]
        assert len(shown["brokers"]) == 4
        listed = client.get(f"{API}/plans/{plan}/changes?limit=2").json()
        assert listed["total"] == shown["summary"]["partitions"]
        assert len(listed["changes"]) == 2
        assert client.get(f"{API}/plans/{plan}/verification").json()["errors"] == 0
        file = client.get(f"{API}/plans/{plan}/file")
        assert file.json()["version"] == 1, "a reassignment file of Kafka's tool"
        job = client.post(
            f"{API}/plans/{plan}/predictions", json={"throttle": "50MB"}, headers=key()
        )
        prediction = ended_job(client, job.json())["result"]["prediction_id"]
        assert client.get(f"{API}/predictions/{prediction}").json()["seconds"] > 0
        seen = client.post(
            f"{API}/runs/preview", json={"plan_id": plan, "throttle": "50MB"}
        ).raise_for_status()
        assert seen.json()["bytes_total"] > 0
        run = ended_job(client, _started(client, plan, None))
        assert run["result"]["complete"]
        assert client.get(f"{API}/runs").json()["runs"][0]["state"] == "done"
        back = client.post(
            f"{API}/runs/{run['run']}/rollback", json={"throttle": None}, headers=key()
        )
        assert ended_job(client, back.json())["result"]["complete"]
        _until(client, run["run"], "rolled back")
    assert throttles_of(skewed_lab, "skewed", 4) == []


def test_a_run_is_throttled_paused_continued_and_cancelled(server: Served, skewed_lab: Lab) -> None:
    with server.client() as client:
        job = _started(client, _planned(client), "1MB")
        run = job["run"]
        _until(client, run, "moving")
        second = client.post(
            f"{API}/runs",
            json={"plan_id": job["request"]["plan_id"], "throttle": None},
            headers=key(),
        )
        assert second.status_code == 409, "two runs at once are refused"
        changed = client.post(f"{API}/runs/{run}/throttle", json={"throttle": "2MB"}, headers=key())
        assert changed.json()["rate"] == 2_000_000, changed.text
        assert any("2000000" in each for each in throttles_of(skewed_lab, "skewed", 4))
        client.post(f"{API}/runs/{run}/pause", headers=key()).raise_for_status()
        client.post(f"{API}/runs/{run}/continue", headers=key()).raise_for_status()
        low = client.post(f"{API}/runs/{run}/throttle", json={"throttle": "5"}, headers=key())
        assert low.status_code == 400, "a unit was forgotten"
        cancelled = client.post(f"{API}/runs/{run}/cancel", headers=key())
        assert cancelled.status_code == 202, cancelled.text
        assert ended_job(client, cancelled.json())["state"] == "done"
        assert _until(client, run, "cancelled")["partitions"]["moving"] == 0
    assert throttles_of(skewed_lab, "skewed", 4) == []
    actions = [action for action, outcome, _ in server.audited() if outcome == "done"]
    assert {"run.start", "run.throttle", "run.pause", "run.continue", "run.cancel"} <= set(actions)


def test_a_run_goes_on_at_the_next_start_of_the_server(skewed_lab: Lab, tmp_path: Path) -> None:
    settings = settings_for(skewed_lab.bootstrap_servers, tmp_path)
    with serving(settings) as first, first.client() as client:
        job = _started(client, _planned(client), "1MB")
        _until(client, job["run"], "moving")
    with serving(settings) as second, second.client() as client:
        assert client.get(f"{API}/jobs/{job['id']}").json()["state"] in ("waiting", "running")
        changed = client.post(
            f"{API}/runs/{job['run']}/throttle", json={"throttle": "500MB"}, headers=key()
        )
        assert changed.status_code == 200, changed.text
        assert ended_job(client, job)["result"]["complete"]
        _until(client, job["run"], "done")
    assert throttles_of(skewed_lab, "skewed", 4) == []


def test_bad_goals_and_unknown_plans_are_refused(server: Served) -> None:
    with server.client() as client:
        bad = client.post(f"{API}/plans", json={"goals": {"tolerence": 1}}, headers=key())
        assert (bad.status_code, bad.json()["detail"]) == (400, "goals: unknown goal tolerence")
        both = {"remove_brokers": [1], "exclude_brokers": [1]}
        assert client.post(f"{API}/plans", json={"goals": both}, headers=key()).status_code == 400
        body = {"plan_id": "abc", "throttle": "50MB"}
        assert client.post(f"{API}/runs", json=body, headers=key()).status_code == 404
        assert client.get(f"{API}/runs/none").status_code == 400
        infeasible = {"goals": {"remove_brokers": [0, 1, 2, 3]}}
        job = client.post(f"{API}/plans", json=infeasible, headers=key()).json()
        ended = ended_job(client, job)
        assert ended["state"] == "failed"
        assert ended["problem"]["status"] in (400, 422)
