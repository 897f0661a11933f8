"""kill -9 in the middle of a move; the next process finishes it."""

import os
import signal
import subprocess
import sys
from pathlib import Path


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.sim.durable_cluster", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))


def test_a_move_survives_kill_9_of_the_process(tmp_path: Path) -> None:
    with start(tmp_path) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "moving\n"
        first.send_signal(signal.SIGKILL)
        assert "done" not in first.stdout.read()
    assert first.returncode == -signal.SIGKILL
    with start(tmp_path) as second:
        told, _ = second.communicate(timeout=120)
    assert told.splitlines() == [
        "found adding [4, 5, 6]",
        "done",
        *[f"broker {broker} has 40 records" for broker in (4, 5, 6)],
    ]
