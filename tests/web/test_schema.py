"""schemathesis against the server's own OpenAPI: no request that it draws gets a 5xx."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from secrets import randbelow

import pytest

from kedge.lab import Lab, LabSettings
from tests.web.served import Served, serving, settings_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

EXAMPLES = 15  # of each call and phase
STREAMS = "/events$"  # they end with the server


@pytest.fixture
def own(tmp_path: Path, new_database: Callable[[], str]) -> Generator[Served]:
    """A server and a lab of its own: what is drawn creates and deletes topics."""
    database = new_database()
    with (
        Lab.running(LabSettings(brokers=3, speed=60), tmp_path / "lab") as lab,
        serving(settings_for(lab.bootstrap_servers, tmp_path, database=database)) as served,
    ):
        yield served


def test_no_drawn_request_gets_a_server_error(own: Served, tmp_path: Path) -> None:
    seed, report = randbelow(2**31), tmp_path / "report.json"
    command = [str(Path(sys.executable).with_name("schemathesis")), "run"]
    command += [f"{own.url}/api/v1/openapi.json", "--checks", "not_a_server_error"]
    command += ["--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES)]
    command += ["--seed", str(seed), "--exclude-path-regex", STREAMS, "--continue-on-failure"]
    command += ["--header", f"Authorization: Bearer {own.token}", "--request-timeout", "120"]
    command += ["--no-color", "--generation-database", "none", "--warnings", "off"]
    command += ["--report-json-path", str(report)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 0, f"seed {seed}: {ran.stdout[-6000:]}{ran.stderr[-2000:]}"
    assert json.loads(report.read_text())
    with own.client() as client:
        assert client.get("/health/ready").status_code == 200
