"""`kedge --server URL`: commands through a server, with the output that local ones have."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from kedge.cli.app import run
from kedge.web.access.roles import Role
from tests.web.kills import TOPIC, skewed_lab
from tests.web.processes import throttles_of
from tests.web.served import Served, serving, settings_for


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder = tmp_path_factory.mktemp("remote")
    with (
        skewed_lab(folder) as lab,
        serving(settings_for(lab.bootstrap_servers, folder)) as served,
    ):
        yield served
        assert throttles_of(lab, TOPIC, 4) == []


@pytest.fixture
def kedge(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command through the server; the exit code and both outputs."""
    monkeypatch.setenv("KEDGE_TOKEN", served.token)

    def command(*words: str) -> tuple[int, str, str]:
        code = run(["--server", served.url, *words])
        out, err = capsys.readouterr()
        return code, out, err

    return command


Kedge = Callable[..., tuple[int, str, str]]


def test_a_plan_is_made_applied_followed_and_rolled_back(
    kedge: Kedge, served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    code, out, err = kedge("plan", "--tolerance", "0.1", "--topics", TOPIC, "--out", str(plan))
    assert code == 0, err
    assert plan.exists()
    assert run(["plan", "verify", str(plan)]) == 0, "the snapshot is beside the plan"
    capsys.readouterr()
    code, lines, err = kedge("apply", str(plan), "--no-throttle", "--dry-run")
    assert (code, lines) == (0, "")
    assert "to copy" in err
    code, out, err = kedge("apply", str(plan), "--no-throttle", "--yes")
    assert code == 0, err
    assert "is done" in out
    code, shown, _ = kedge("status", "--output", "json")
    row = json.loads(shown)
    assert (code, row["state"]) == (0, "done")
    bootstrap = served.services.registry.of("lab").bootstrap_servers
    assert run(["runs", "--bootstrap-server", bootstrap]) == 0
    local = capsys.readouterr().out
    remote = kedge("runs")[1]
    assert [line.split()[:4] for line in remote.splitlines()] == [
        line.split()[:4] for line in local.splitlines()
    ]
    code, out, err = kedge("rollback", "--no-throttle", "--yes", "--run", row["run"])
    assert code == 0, err
    assert kedge("status", "--run", row["run"])[0] == 0


def test_a_run_is_steered_and_cancelled(kedge: Kedge, served: Served) -> None:
    code, _, err = kedge("plan", "--topics", TOPIC)
    assert code == 0, err
    plan = err.split()[-1]
    with served.client() as client:
        body = {"plan_id": plan, "throttle": "20kB"}
        keyed = {"Idempotency-Key": "steered-and-cancelled"}
        started = client.post("/api/v1/clusters/lab/runs", json=body, headers=keyed)
        assert started.status_code == 202, started.text
    code, out, err = kedge("throttle", "--rate", "40kB")
    assert code == 0, err
    assert "throttle 40.0 kB/s in and out of each broker" in out
    assert "starts no more moves" in kedge("pause")[1]
    assert "goes on" in kedge("continue")[1]
    code, out, err = kedge("cancel", "--yes")
    assert code == 0, err
    assert "its throttles are gone" in out
    assert "cancelled" in kedge("status")[1]


def test_refusals_are_one_sentence_with_the_exit_code_of_the_error(
    kedge: Kedge, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, out, err = kedge("status", "--run", "none")
    assert (code, out) == (2, "")
    assert err.startswith("kedge: ")
    assert kedge("topics", "list")[0] == 2
    assert "does not run through a server" in kedge("topics", "list")[2]
    other = tmp_path / "other.json"
    other.write_text('{"version": 1}')
    assert "not a plan that this server has made" in kedge("apply", str(other), "--no-throttle")[2]
    assert kedge("apply", "abc", "--throttle", "5MB", "--no-throttle")[0] == 2
    monkeypatch.setenv("KEDGE_TOKEN", served.token_for(lab=Role.READ))
    assert "needs plan" in kedge("plan", "--tolerance", "0.1")[2]
    assert kedge("runs")[0] == 0
    monkeypatch.setenv("KEDGE_TOKEN", "wrong")
    assert kedge("runs")[0] != 0
    monkeypatch.delenv("KEDGE_TOKEN")
    assert "set KEDGE_TOKEN" in kedge("runs")[2]
    assert run(["--server", "nowhere", "--token", "t", "runs"]) == 2
