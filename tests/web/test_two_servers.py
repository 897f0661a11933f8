"""Two servers on one database: each ends the runs that the other carries out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from kedge.lab import Lab
from kedge.watch.policy import Budget, Detection, Kind, Mode, Policy
from tests.lab.labs import MB, create, running
from tests.web.processes import throttles_of
from tests.web.run_calls import API, GOALS, planned, started, until_state
from tests.web.served import ended_job, key, serving, settings_for, until, watched_by

Clients = tuple[httpx.Client, httpx.Client]


@pytest.fixture
def database(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def clients(skewed_lab: Lab, tmp_path: Path, database: str) -> Iterator[Clients]:
    settings = settings_for(skewed_lab.bootstrap_servers, tmp_path, database=database)
    with (
        serving(settings) as first,
        serving(settings) as second,
        first.client() as one,
        second.client() as other,
    ):
        yield one, other


def test_a_run_of_another_server_is_cancelled(clients: Clients, skewed_lab: Lab) -> None:
    one, other = clients
    job = started(one, planned(one), "1MB")
    until_state(one, job["run"], "moving")
    new = {"plan_id": job["request"]["plan_id"], "throttle": None}
    second = other.post(f"{API}/runs", json=new, headers=key())
    assert (second.status_code, "--take-over" in second.text) == (409, False), second.text
    cancelled = other.post(f"{API}/runs/{job['run']}/cancel", headers=key())
    assert cancelled.status_code == 202, cancelled.text
    assert ended_job(one, job)["result"] == {"left": True}
    assert ended_job(other, cancelled.json())["state"] == "done"
    until_state(one, job["run"], "cancelled")
    assert throttles_of(skewed_lab, "skewed", 4) == []


def test_a_refused_rollback_leaves_the_run_of_another_server_at_work(clients: Clients) -> None:
    one, other = clients
    ended = ended_job(one, started(one, planned(one), None))["run"]
    job = started(one, planned(one, remove_brokers=[2]), "1MB")
    until_state(one, job["run"], "moving")
    back = other.post(f"{API}/runs/{ended}/rollback", json={"throttle": None}, headers=key())
    assert back.status_code == 409, back.text
    assert one.get(f"{API}/jobs/{job['id']}").json()["state"] == "running"
    path = f"{API}/runs/{job['run']}/rollback"
    back = other.post(path, json={"throttle": None}, headers=key())
    assert back.status_code == 202, back.text
    assert ended_job(other, back.json())["result"]["complete"]
    until_state(one, job["run"], "rolled back")


def test_a_read_only_server_stops_searches_of_another_server_but_no_run(
    clients: Clients, skewed_lab: Lab, tmp_path: Path, database: str
) -> None:
    one, _ = clients
    settings = settings_for(
        skewed_lab.bootstrap_servers, tmp_path, database=database, read_only=True
    )
    job = started(one, planned(one), "1MB")
    until_state(one, job["run"], "moving")
    search = {"goals": GOALS, "time_limit_s": 60}
    plan = one.post(f"{API}/plans", json=search, headers=key()).raise_for_status().json()
    with serving(settings) as served, served.client() as reading:
        refused = reading.post(f"{API}/jobs/{job['id']}/stop", headers=key())
        assert (refused.status_code, "read-only" in refused.text) == (403, True), refused.text
        stopped = reading.post(f"{API}/jobs/{plan['id']}/stop", headers=key())
        assert stopped.status_code in (200, 409), stopped.text
        assert ("job.stop", "refused", 403) in served.audited()
    assert one.get(f"{API}/jobs/{job['id']}").json()["state"] == "running"
    until_state(one, job["run"], "moving")
    one.post(f"{API}/runs/latest/cancel", headers=key()).raise_for_status()
    ended_job(one, job)


SLOW = Policy(
    mode=Mode.APPROVE,
    sample_every_s=1.0,
    throttle=10_000,
    budget=Budget(kinds=frozenset({Kind.REPAIR})),
    detect=Detection(broker_down_for_s=1.0, new_broker_after_s=1e6, windows=1000),
)


def test_a_run_of_the_loop_is_cancelled_by_a_server_that_does_not_lead_it(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    with running(brokers=4, speed=30.0) as (lab, admin), ExitStack() as stack:
        create(admin, "t", (0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1))
        lab.fill("t", 10 * MB)
        settings = watched_by(lab, tmp_path, SLOW, database=new_database())
        leader = stack.enter_context(serving(settings))
        one = stack.enter_context(leader.client())
        until(one, f"{API}/loop", lambda found: found["last_sample_at"] is not None)
        until(one, API, lambda found: found["state"] == "healthy")
        other = stack.enter_context(stack.enter_context(serving(settings)).client())
        lab.inject("broker-crash", 2)
        proposed = until(one, f"{API}/proposals?state=open", lambda each: each["proposals"])
        proposal = f"{API}/proposals/{proposed['proposals'][0]['id']}"
        body = {"version": 1, "at_once": True}
        other.post(f"{proposal}/approve", json=body, headers=key()).raise_for_status()
        runs = until(one, f"{API}/runs", lambda each: _is_moving(each["runs"]))["runs"]
        assert leader.services.loops.leads("lab")
        cancelled = other.post(f"{API}/runs/latest/cancel", headers=key())
        assert cancelled.status_code == 202, cancelled.text
        assert ended_job(other, cancelled.json())["state"] == "done"
        # the way back to a broker that is down does not end
        until(one, f"{API}/runs/{runs[0]['run']}", lambda each: "cancel" in each["state"])


def _is_moving(runs: list[dict[str, Any]]) -> bool:
    return bool(runs) and runs[0]["state"] == "moving"
