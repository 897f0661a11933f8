"""The lock of runs in a directory tells whether a process of this machine acts on them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kedge.apply import Runs
from kedge.apply.directory_lease import DirectoryLease
from kedge.cluster.memory_log import MemoryLog, MemoryTopic

HOLDS = """
import sys
from pathlib import Path
from kedge.apply import Runs
with Runs(Path(sys.argv[1]), "c").held():
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(state: Path) -> Generator[subprocess.Popen[str]]:
    """A process that acts on the runs until its input ends."""
    words = [sys.executable, "-c", HOLDS, str(state)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_process_that_was_killed_no_longer_acts(tmp_path: Path) -> None:
    runs = Runs(tmp_path, "c")
    with another_process(tmp_path) as process:
        assert runs.has_process() is True
        process.kill()
        process.wait()
        assert runs.has_process() is False
    with runs.held():
        assert runs.has_process() is True


def test_without_a_lease_a_process_that_has_let_go_leaves_nothing_known(tmp_path: Path) -> None:
    runs = Runs(tmp_path, "c")
    assert runs.has_process() is None
    with runs.held():
        assert runs.has_process() is True
    assert runs.has_process() is None


def test_a_process_that_goes_on_without_its_lease_is_seen_by_the_lock(tmp_path: Path) -> None:
    lease = DirectoryLease(MemoryLog(MemoryTopic()), on_note=lambda _: None)
    runs = Runs(tmp_path, "c", lease)
    with runs.held():
        pass
    assert runs.has_process() is False, "the lease was given up"
    with another_process(tmp_path):
        assert runs.has_process() is True


@pytest.mark.parametrize("text", ["", "17", "[]", "{", '["h", 1, "n", "", ""]', "\x00"])
def test_a_lock_that_names_no_process_tells_nothing(tmp_path: Path, text: str) -> None:
    runs = Runs(tmp_path, "c")
    with runs.held():
        pass
    Path(runs.place, "lock").write_text(text)
    assert runs.has_process() is None
