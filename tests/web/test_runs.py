"""Plans, predictions and runs over HTTP, on a lab: every verb, and servers that end on the way."""

from __future__ import annotations

from pathlib import Path

from kedge.lab import Lab
from tests.web.processes import throttles_of
from tests.web.run_calls import API, planned, started, until_state
from tests.web.served import Served, ended_job, key, serving, settings_for


def test_a_plan_is_made_verified_predicted_applied_and_rolled_back(
    server: Served, skewed_lab: Lab
) -> None:
    with server.client() as client:
        plan = planned(client)
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
        run = ended_job(client, started(client, plan, None))
        assert run["result"]["complete"]
        assert client.get(f"{API}/runs").json()["runs"][0]["state"] == "done"
        back = client.post(
            f"{API}/runs/{run['run']}/rollback", json={"throttle": None}, headers=key()
        )
        assert ended_job(client, back.json())["result"]["complete"]
        until_state(client, run["run"], "rolled back")
    assert throttles_of(skewed_lab, "skewed", 4) == []


def test_a_run_is_throttled_paused_continued_and_cancelled(server: Served, skewed_lab: Lab) -> None:
    with server.client() as client:
        job = started(client, planned(client), "1MB")
        run = job["run"]
        until_state(client, run, "moving")
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
        assert until_state(client, run, "cancelled")["partitions"]["moving"] == 0
    assert throttles_of(skewed_lab, "skewed", 4) == []
    actions = [action for action, outcome, _ in server.audited() if outcome == "done"]
    assert {"run.start", "run.throttle", "run.pause", "run.continue", "run.cancel"} <= set(actions)


def test_a_run_goes_on_at_the_next_start_of_the_server(skewed_lab: Lab, tmp_path: Path) -> None:
    settings = settings_for(skewed_lab.bootstrap_servers, tmp_path)
    with serving(settings) as first, first.client() as client:
        job = started(client, planned(client), "1MB")
        until_state(client, job["run"], "moving")
    with serving(settings) as second, second.client() as client:
        assert client.get(f"{API}/jobs/{job['id']}").json()["state"] in ("waiting", "running")
        changed = client.post(
            f"{API}/runs/{job['run']}/throttle", json={"throttle": "500MB"}, headers=key()
        )
        assert changed.status_code == 200, changed.text
        assert ended_job(client, job)["result"]["complete"]
        until_state(client, job["run"], "done")
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
