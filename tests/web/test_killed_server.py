"""kill -9 of `kedge serve` at random moments of a run: the next start goes on, nothing is left.

KEDGE_KILLS sets the number of rounds; each is drawn from a seed that a failure names.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import randbelow

import httpx
import pytest

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId
from tests.web.served import ended_job, key

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

API = "/api/v1/clusters/lab"
START_S = 120.0
ROUNDS = int(os.environ.get("KEDGE_KILLS", "3"))


@contextmanager
def _process(bootstrap: str, folder: Path) -> Generator[tuple[subprocess.Popen[str], str, str]]:
    """A server as a process of its own: the process, its URL, and a token."""
    command = [sys.executable, "-m", "kedge", "serve", "--bootstrap-server", bootstrap]
    command += ["--cluster", "lab", "--port", "0", "--new-admin-token"]
    command += ["--database", f"sqlite:///{folder / 'serve.db'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            token = process.stdout.readline().rpartition(" ")[2].strip()
            url = re.search(r"http://\S+", process.stdout.readline())
            assert url is not None, "the server did not start"
            yield process, url[0], token
        finally:
            process.kill()


def _client(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=START_S)


def _throttled(lab: Lab) -> list[str]:
    admin = KafkaAdmin(lab.bootstrap_servers)
    from kedge.cluster.port import broker_resource, topic_resource

    resources = [topic_resource("skewed"), *(broker_resource(BrokerId(n)) for n in range(4))]
    found = admin.describe_configs(resources)
    admin.close()
    return [
        f"{resource} {entry.name}"
        for resource, entries in found.items()
        for entry in (entries if isinstance(entries, tuple) else ())
        if "throttled" in entry.name and "DYNAMIC" in str(entry.source) and entry.value
    ]


def test_a_killed_server_goes_on_with_its_run(tmp_path: Path) -> None:
    seed = randbelow(2**31)
    draw = random.Random(seed)
    with Lab.running(LabSettings(brokers=4, racks=2, speed=30), tmp_path / "lab") as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        lists = {p: [BrokerId(p % 2), BrokerId((p + 1) % 2)] for p in range(8)}
        admin.create_topics([TopicCreation("skewed", assignment=lists)])
        admin.close()
        lab.fill("skewed", 200_000_000)
        for number in range(ROUNDS):
            _round(lab, tmp_path, draw, f"round {number} of seed {seed}", empty=[2, 0][number % 2])


def _round(lab: Lab, folder: Path, draw: random.Random, name: str, *, empty: int) -> None:
    with (
        _process(lab.bootstrap_servers, folder) as (process, url, token),
        _client(url, token) as client,
    ):
        goals = {"remove_brokers": [empty]}
        planned = client.post(f"{API}/plans", json={"goals": goals}, headers=key())
        plan = ended_job(client, planned.json())["result"]["plan_id"]
        body = {"plan_id": plan, "throttle": "3MB"}
        job = client.post(f"{API}/runs", json=body, headers=key()).raise_for_status().json()
        time.sleep(draw.uniform(0.0, 4.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    with _process(lab.bootstrap_servers, folder) as (_, url, token), _client(url, token) as client:
        ended = ended_job(client, job)
        assert ended["state"] == "done", f"{name}: {ended}"
        assert ended["result"]["complete"], f"{name}: {ended}"
    assert _throttled(lab) == [], name
