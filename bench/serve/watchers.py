"""Many clients that watch one run, as the page of the run does."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

import httpx

from bench.serve.processes import FILLED, ServerProcess

POLL_S = 4.0
START_S = 120.0
BASE = "/api/v1/clusters/lab"


def cpu_share_of_watchers(server: ServerProcess, clients: int, seconds: float) -> float:
    """CPU seconds of the server per second while clients watch a run."""
    headers = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=START_S) as client:
        run = _begun(client)
        job = client.get(f"{BASE}/runs/{run}").raise_for_status().json()["job"]["id"]
        try:
            return asyncio.run(_watched(server, headers, run, job, clients, seconds))
        finally:
            _changed(client, f"{BASE}/runs/{run}/cancel", None)


def _begun(client: httpx.Client) -> str:
    """A run that takes longer than it is watched: a slow throttle on data that must move."""
    goals = {"topics": FILLED, "tolerance": 0.2}
    job = _changed(client, f"{BASE}/plans", {"goals": goals, "time_limit_s": 20})
    deadline = time.monotonic() + START_S
    while job["state"] not in ("done", "failed"):
        assert time.monotonic() < deadline, "no plan was made in time"
        time.sleep(0.5)
        job = client.get(f"{BASE}/jobs/{job['id']}").raise_for_status().json()
    assert job["state"] == "done", job["problem"]
    body = {"plan_id": job["result"]["plan_id"], "throttle": "1MB"}
    return str(_changed(client, f"{BASE}/runs", body)["run"])


def _changed(client: httpx.Client, path: str, body: Any) -> dict[str, Any]:
    answer = client.post(path, json=body, headers={"Idempotency-Key": str(uuid.uuid4())})
    assert answer.is_success, answer.text
    return answer.json()


async def _watched(
    server: ServerProcess,
    headers: dict[str, str],
    run: str,
    job: str,
    clients: int,
    seconds: float,
) -> float:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=server.url, headers=headers, timeout=None, limits=limits
    ) as client:
        tasks = [
            asyncio.create_task(each)
            for number in range(clients)
            for each in (
                _listened(client, f"{BASE}/jobs/{job}/events"),
                _polled(client, f"{BASE}/runs/{run}", POLL_S * number / clients),
            )
        ]
        await asyncio.sleep(2.0)
        before, began = server.cpu_seconds(), time.monotonic()
        await asyncio.sleep(seconds)
        share = (server.cpu_seconds() - before) / (time.monotonic() - began)
        broken = [task for task in tasks if task.done()]
        assert not broken, f"{len(broken)} clients were cut off"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return share


async def _listened(client: httpx.AsyncClient, path: str) -> None:
    async with client.stream("GET", path) as stream:
        stream.raise_for_status()
        async for _ in stream.aiter_bytes():
            pass


async def _polled(client: httpx.AsyncClient, path: str, after_s: float) -> None:
    await asyncio.sleep(after_s)
    while True:
        (await client.get(path)).raise_for_status()
        await asyncio.sleep(POLL_S)
