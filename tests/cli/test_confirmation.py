"""Changes are confirmed: by an answer at a terminal, or by --yes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation, topic_resource
from kedge.model import BrokerId
from tests.cli.cluster_commands import Desk

PROGRAM = """
import sys
from kedge.cli.app import run
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.wiring import clusters_from

cluster = MemoryCluster(1)
cluster.create_topics([TopicCreation("orders"), TopicCreation("kept")])
with clusters_from(lambda bootstrap, settings: cluster):
    words = ["topics", "delete", "--topic", "orders", "--bootstrap-server", "x:1"]
    code = run([*words, *sys.argv[1:]])
print(code, list(cluster.topic_names()))
"""


def at_a_terminal(answer: bytes, *arguments: str) -> tuple[str, str]:
    """What the terminal shows and what stdout gets, after this answer."""
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
    assert out.endswith("2 ['kept', 'orders']\n")


@pytest.mark.parametrize("flag", ["--yes", "--force"])
def test_a_flag_answers_beforehand(flag: str) -> None:
    seen, out = at_a_terminal(b"", flag)
    assert "Delete" not in seen
    assert out.endswith("0 ['kept']\n")


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    cluster = MemoryCluster(3)
    both = (BrokerId(1), BrokerId(2))
    cluster.create_topics([TopicCreation("orders", assignment={0: both})])
    cluster.stop_broker(BrokerId(2))
    cluster.stop_broker(BrokerId(1))
    cluster.alive.add(BrokerId(2))
    return Desk(cluster, capsys)


MOVES = '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[3,2]}]}'
ASKING = [
    ("topics", "delete", "--topic", "orders"),
    ("reassign", "execute", "--reassignment-json-file", "moves.json", "--throttle", "5000"),
    ("elect", "--election-type", "unclean", "--topic", "orders", "--partition", "0"),
]


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_without_a_terminal_only_a_yes_changes_the_cluster(
    desk: Desk, words: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "moves.json"
    file.write_text(MOVES)
    typed = [str(file) if word == file.name else word for word in words]

    def state() -> object:
        cluster = desk.cluster
        throttled = cluster.describe_configs([topic_resource("orders")])
        return [cluster.describe_topics(["orders"]), cluster.reassignments(), throttled]

    before = repr(state())
    refused = desk(*typed)
    assert refused.code == 2
    assert refused.err == "kedge: Not confirmed: no terminal to ask on; use --yes to go on\n"
    assert repr(state()) == before
    assert desk(*typed, "--yes").code == 0
    assert repr(state()) != before
