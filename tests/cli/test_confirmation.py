"""Deleting at a terminal: somebody sits there and is asked."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from kedge.cli.app import run
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicOrder
from kedge.wiring import clusters_from

cluster = MemoryCluster(1)
cluster.create_topics([TopicOrder("orders"), TopicOrder("kept")])
with clusters_from(lambda bootstrap, settings: cluster):
    words = ["topics", "delete", "--topic", "orders", "--bootstrap-server", "x:1"]
    code = run([*words, *sys.argv[1:]])
print(code, list(cluster.topic_names()))
"""


def at_a_terminal(answer: bytes, *arguments: str) -> tuple[str, str]:
    """What a person sees and what a pipe gets, when somebody answers so."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    os.write(ours, answer)
    out, _ = process.communicate(timeout=60)
    seen = b""
    try:
        while piece := os.read(ours, 4096):
            seen += piece
    except OSError:  # the far end of a terminal that is gone
        pass
    os.close(ours)
    return seen.decode(), out


def test_a_yes_deletes() -> None:
    seen, out = at_a_terminal(b"y\n")
    assert "Delete topic of cluster memory: orders?" in seen
    assert out.endswith("0 ['kept']\n")


@pytest.mark.parametrize("answer", [b"n\n", b"\n"])
def test_anything_else_deletes_nothing(answer: bytes) -> None:
    _, out = at_a_terminal(answer)
    assert "'orders'" in out
    assert not out.startswith("0 ")


@pytest.mark.parametrize("flag", ["--yes", "--force"])
def test_a_flag_answers_beforehand(flag: str) -> None:
    seen, out = at_a_terminal(b"", flag)
    assert "Delete" not in seen
    assert out.endswith("0 ['kept']\n")
