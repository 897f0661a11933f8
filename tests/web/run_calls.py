"""Calls about plans and runs that tests share, on the cluster `lab` with a topic `skewed`."""

from __future__ import annotations

import time
from typing import Any

import httpx

from tests.web.served import DEADLINE_S, ended_job, key

API = "/api/v1/clusters/lab"
GOALS = {"tolerance": 0.1, "topics": "skewed"}


def planned(client: httpx.Client, **goals: Any) -> str:
    """The id of a new plan for the topic `skewed`: balanced, unless other goals are given."""
    job = client.post(
        f"{API}/plans", json={"goals": goals or GOALS}, headers=key()
    ).raise_for_status()
    row = ended_job(client, job.json())
    assert row["state"] == "done", row
    return row["result"]["plan_id"]


def started(client: httpx.Client, plan: str, throttle: str | None) -> dict[str, Any]:
    """The job of a run that was started."""
    body = {"plan_id": plan, "throttle": throttle}
    response = client.post(f"{API}/runs", json=body, headers=key())
    assert response.status_code == 202, response.text
    return response.json()


def until_state(client: httpx.Client, run: str, wanted: str) -> dict[str, Any]:
    """A run once it is in a state."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        row = client.get(f"{API}/runs/{run}").raise_for_status().json()
        if row["state"] == wanted:
            return row
        assert time.monotonic() < deadline, f"{wanted} was not reached: {row}"
        time.sleep(0.2)
