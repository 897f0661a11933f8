"""kill -9 of `kedge serve` at random moments of a run: the next start goes on, nothing is left.

KEDGE_KILLS sets the number of rounds; each is drawn from a seed that a failure names.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from secrets import randbelow

import pytest

from kedge.lab import Lab
from tests.web.kills import BROKERS, TOPIC, Round, play, skewed_lab
from tests.web.processes import server_process, throttles_of
from tests.web.served import ended_job, key

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

API = "/api/v1/clusters/lab"
ROUNDS = int(os.environ.get("KEDGE_KILLS", "3"))


SETTINGS = """
[server]
port = 0
database = "sqlite:///{folder}/serve.db"
[clusters.lab]
bootstrap_servers = "{bootstrap}"
"""


def test_a_killed_server_goes_on_with_its_run(tmp_path: Path) -> None:
    seed = randbelow(2**31)
    draw = random.Random(seed)
    with skewed_lab(tmp_path) as lab:
        for number in range(ROUNDS):
            _round(lab, tmp_path, draw, f"round {number} of seed {seed}", empty=[2, 0][number % 2])


def _round(lab: Lab, folder: Path, draw: random.Random, name: str, *, empty: int) -> None:
    config = folder / "kedge.toml"
    config.write_text(SETTINGS.format(folder=folder, bootstrap=lab.bootstrap_servers))
    with server_process(config) as server, server.client() as client:
        goals = {"remove_brokers": [empty]}
        planned = client.post(f"{API}/plans", json={"goals": goals}, headers=key())
        plan = ended_job(client, planned.json())["result"]["plan_id"]
        body = {"plan_id": plan, "throttle": "3MB"}
        job = client.post(f"{API}/runs", json=body, headers=key()).raise_for_status().json()
        time.sleep(draw.uniform(0.0, 4.0))
        server.kill()
    with server_process(config) as server, server.client() as client:
        ended = ended_job(client, job)
        assert ended["state"] == "done", f"{name}: {ended}"
        assert ended["result"]["complete"], f"{name}: {ended}"
    assert throttles_of(lab, TOPIC, BROKERS) == [], name


@pytest.mark.parametrize("standby", [False, True], ids=["restart", "standby"])
def test_an_automatic_run_goes_on_after_its_server_was_killed(
    new_database: Callable[[], str], tmp_path: Path, standby: bool
) -> None:
    """The short form of `python -m tests.web.kills`."""
    seed = randbelow(2**31)
    round_ = Round(random.Random(seed).uniform(0.0, 5.0), standby)
    assert "all in place" in play(round_, new_database(), tmp_path), f"seed {seed}"
