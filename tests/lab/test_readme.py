"""The README's commands, in order, on a fresh lab."""

from __future__ import annotations

from pathlib import Path

from tests.readme import Shell, commands, run_in_order


def test_the_commands_of_the_readme_work_in_order_on_a_fresh_lab(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    up, *rest = commands()
    *rest, down = rest
    assert ("lab up" in up, "lab down" in down) == (True, True)
    started = shell(up.replace("--port 9092", "--port 0"))
    try:
        bootstrap = started.split("--bootstrap-server ")[1].split()[0]
        assert len(run_in_order(shell, rest, bootstrap)) > 5
    finally:
        shell(down)
