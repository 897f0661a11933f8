"""The container file, the systemd unit and the chart call the server as it can be called."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from kedge.cli.app import run

ROOT = Path(__file__).parents[2]
CONTAINER = (ROOT / "packaging/Containerfile").read_text()
UNIT = (ROOT / "packaging/kedge.service").read_text()
DEPLOYMENT = (ROOT / "packaging/helm/kedge/templates/deployment.yaml").read_text()


@pytest.fixture
def options(capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The options of `kedge serve`."""
    assert run(["serve", "--help"]) == 0
    return set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


@pytest.mark.parametrize(
    ("text", "place"),
    [(CONTAINER, r"^CMD .*$"), (UNIT, r"^ExecStart=.*$"), (DEPLOYMENT, r"args:(?s:.)*?env:")],
    ids=["container", "unit", "chart"],
)
def test_every_option_is_one_of_the_command(text: str, place: str, options: set[str]) -> None:
    command = re.search(place, text, re.MULTILINE)
    assert command is not None
    used = set(re.findall(r"--[a-z][a-z-]+", command[0]))
    assert "--config" in used
    assert used <= options, used - options


def test_the_container_installs_extras_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.search(r"\.\[([a-z,]+)\]", CONTAINER)
    assert named is not None
    assert set(named[1].split(",")) <= set(project["optional-dependencies"])
    user = re.search(r"USER (\d+)", CONTAINER)
    assert user is not None
    assert f"runAsUser: {user[1]}" in DEPLOYMENT, "the chart runs the user of the image"
    entry = re.search(r"^CMD (.*)$", CONTAINER, re.MULTILINE)
    assert entry is not None
    assert json.loads(entry[1])[0] == "serve"
