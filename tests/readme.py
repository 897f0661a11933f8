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
ADDRESS = "127.0.0.1:9092"  # of the README's cluster
SET_UP = "PATH="  # the line that finds `kedge`


def commands() -> list[str]:
    """The commands of the README; a quoted text may go over several lines."""
    blocks = re.findall(r"^```bash\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    found: list[str] = []
    for line in "".join(blocks).splitlines():
        if found and found[-1].count("'") % 2:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return [command for command in found if not command.startswith(SET_UP)]


class Shell:
    """Runs commands in a directory of their own, without a terminal."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        beside = str(Path(sys.executable).parent)
        self._environment = {
            **os.environ,
            "HOME": str(directory),
            "XDG_STATE_HOME": str(directory),
            "PATH": f"{beside}:{os.environ['PATH']}",
        }

    def __call__(self, command: str) -> str:
        """What a command printed; it must have succeeded."""
        done = subprocess.run(
            ["bash", "-c", command],
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
        printed.append(shell(command.replace(ADDRESS, bootstrap)))
        if "reassign execute" in command:
            _until_at_rest(shell, bootstrap)
    return printed


def _until_at_rest(shell: Shell, bootstrap: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while AT_REST not in shell(f"kedge reassign list --bootstrap-server {bootstrap}"):
        assert time.monotonic() < deadline, "the moves did not end"
