"""Memory of a command, while it starts another program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.pipeline import processes

# The child opens a pipe before it runs `true`, and waits there: for a second it has the memory of
# its parent.
STARTS_A_PROGRAM = """
import os, subprocess, sys
pipe = sys.argv[1]
os.mkfifo(pipe)
held = b"x" * 100_000_000
writer = subprocess.Popen(["sh", "-c", 'sleep 1; : > "$1"', "sh", pipe])
opens = [(os.POSIX_SPAWN_OPEN, 0, pipe, os.O_RDONLY, 0)]
child = os.posix_spawn("/bin/true", ["true"], {}, file_actions=opens)
os.waitpid(child, 0)
writer.wait()
"""


def _memory_mb(pipe: Path) -> float:
    command = [sys.executable, "-c", STARTS_A_PROGRAM, str(pipe)]
    return processes.run_measured(command, timeout_s=60.0)[1].rss_mb


@pytest.mark.skipif(processes.KCMP is None, reason="the system call has no number here")
def test_memory_that_a_forked_process_has_in_common_with_its_parent_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = _memory_mb(tmp_path / "once")
    assert 100 < once < 150
    monkeypatch.setattr(processes, "KCMP", None)
    assert _memory_mb(tmp_path / "twice") > once + 95
