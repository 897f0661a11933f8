"""A cancel or a rollback takes the run that it names from its work, and no other run from its."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from kedge.lab import Lab
from tests.web.processes import throttles_of
from tests.web.run_calls import API, planned, started, until_state
from tests.web.served import Served, ended_job, key

ROLLBACK = {"throttle": None}


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def ended(client: httpx.Client) -> str:
    """A run that is done."""
    run = ended_job(client, started(client, planned(client), None))
    assert run["result"]["complete"]
    return run["run"]


@pytest.fixture
def at_work(client: httpx.Client, ended: str) -> dict[str, Any]:
    """The job of a later run, whose moves are slow."""
    job = started(client, planned(client, remove_brokers=[2]), "1MB")
    assert job["run"] != ended
    until_state(client, job["run"], "moving")
    return job


def _goes_on(client: httpx.Client, job: dict[str, Any]) -> bool:
    """Whether a job is still at work on its run, and completes it once it may be fast."""
    if client.get(f"{API}/jobs/{job['id']}").json()["state"] != "running":
        return False
    path = f"{API}/runs/{job['run']}/throttle"
    client.post(path, json={"throttle": "500MB"}, headers=key()).raise_for_status()
    return ended_job(client, job)["result"].get("complete", False)


def test_a_refused_command_about_another_run_leaves_the_run_at_work(
    client: httpx.Client, ended: str, at_work: dict[str, Any], skewed_lab: Lab
) -> None:
    back = client.post(f"{API}/runs/{ended}/rollback", json=ROLLBACK, headers=key())
    assert back.status_code == 409, back.text
    cancelled = client.post(f"{API}/runs/{ended}/cancel", headers=key())
    assert (cancelled.status_code, cancelled.json()["detail"]) == (409, f"Run {ended} is done")
    for verb, body in (("cancel", None), ("rollback", ROLLBACK)):
        unknown = client.post(f"{API}/runs/unknown/{verb}", json=body, headers=key())
        assert unknown.status_code == 400, unknown.text
    assert _goes_on(client, at_work)
    assert throttles_of(skewed_lab, "skewed", 4) == []


def test_a_rollback_that_the_checks_refuse_leaves_its_own_run_at_work(
    client: httpx.Client, at_work: dict[str, Any]
) -> None:
    body = {"throttle": "5"}  # a unit was forgotten
    path = f"{API}/runs/{at_work['run']}/rollback"
    assert client.post(path, json=body, headers=key()).status_code == 400
    assert _goes_on(client, at_work)


def test_a_run_at_work_is_rolled_back(
    client: httpx.Client, at_work: dict[str, Any], skewed_lab: Lab
) -> None:
    path = f"{API}/runs/{at_work['run']}/rollback"
    back = client.post(path, json=ROLLBACK, headers=key())
    assert back.status_code == 202, back.text
    assert ended_job(client, at_work)["result"] == {"left": True}
    assert ended_job(client, back.json())["result"]["complete"]
    until_state(client, at_work["run"], "rolled back")
    assert throttles_of(skewed_lab, "skewed", 4) == []


def test_a_command_about_the_latest_run_keeps_its_name(
    client: httpx.Client, at_work: dict[str, Any]
) -> None:
    """Another server may have to go on with it, and another run be the latest by then."""
    client.post(f"{API}/jobs/{at_work['id']}/stop", headers=key()).raise_for_status()
    path = f"{API}/runs/{at_work['run']}/throttle"
    client.post(path, json={"throttle": "20MB"}, headers=key()).raise_for_status()
    assert ended_job(client, at_work)["state"] == "done"
    resumed = client.post(f"{API}/runs/latest/resume", json={"throttle": "1MB"}, headers=key())
    assert resumed.json()["request"]["run"] == at_work["run"], resumed.text
    cancelled = client.post(f"{API}/runs/latest/cancel", headers=key())
    assert cancelled.json()["request"]["run"] == at_work["run"], cancelled.text
    assert ended_job(client, cancelled.json())["state"] == "done"
