"""The commands of the README, as a test runs them: in order, on a given cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
PATIENCE_S = 60
AT_REST = "No partition reassignments found."


def commands() -> list[str]:
    """What stands behind a `$` in the README; a command goes on in lines that are indented."""
    blocks = re.findall(r"^```\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    return [
        command.replace("\n  ", "")
        for block in blocks
        for command in re.findall(r"^\$ (.*(?:\n  .*)*)", block, re.MULTILINE)
    ]


class Shell:
    """Runs commands in a directory of their own, without a terminal."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._environment = {**os.environ, "HOME": str(directory), "XDG_STATE_HOME": str(directory)}

    def __call__(self, command: str) -> str:
        """What a command printed; it must have succeeded."""
        line = command.replace(".venv/bin/kedge", f"{sys.executable} -m kedge")
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout


def run_in_order(shell: Shell, chosen: list[str], bootstrap: str) -> list[str]:
    """Run commands on a cluster; moves that one starts end before the next."""
    printed: list[str] = []
    for command in chosen:
        printed.append(shell(command.replace("…", bootstrap)))
        if "reassign execute" in command:
            _until_at_rest(shell, bootstrap)
    return printed


def _until_at_rest(shell: Shell, bootstrap: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while AT_REST not in shell(f".venv/bin/kedge reassign list --bootstrap-server {bootstrap}"):
        assert time.monotonic() < deadline, "the moves did not end"
