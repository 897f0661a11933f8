"""Names that steer terminals, outputs that cannot be written, and inputs that are no files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.model.examples import example

NAME = "[/] \x1b]0;owned\x07[bold]\n\x9b31m :smile: \u202e"
PLACE = ("place", "--partitions", "3", "--replication-factor", "1", "--start", "0")
TWO = (*PLACE, "--brokers", "0:a,1:b")


def _kedge(
    *arguments: str, shell: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The program as it is installed, its streams as the shell's words say."""
    command = ["bash", "-c", f'"$@" {shell}', "bash", sys.executable, "-m", "kedge", *arguments]
    return subprocess.run(
        command, capture_output=True, env={**os.environ, **environment}, timeout=60, check=False
    )


def _snapshot_with(path: Path, name: str) -> Path:
    document = example()
    document["cluster_id"] = name
    for broker in document["brokers"]:
        broker["rack"] = f"{name}{broker['id']}"
    for topic in document["topics"]:
        topic["name"] += name
        topic["replication_factor"] = 2
    path.write_text(json.dumps(document))
    return path


def _no_controls(data: bytes) -> bool:
    text = data.decode()
    return not any((ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160 for c in text)


def test_hostile_names_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    snapshot, plan = _snapshot_with(tmp_path / "s.json", NAME), tmp_path / "plan.json"
    asked = [
        (*PLACE, "--brokers-file", str(snapshot)),
        ("plan", "--snapshot", str(snapshot), "--out", str(plan)),
        ("explain", str(plan), "--snapshot", str(snapshot)),
        ("explain", str(plan), "--partition", f"{NAME}-0", "--output", "json"),
    ]
    for words in asked:
        done = _kedge(*words, FORCE_COLOR="", NO_COLOR="1")
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        assert _no_controls(done.stdout), words
        assert _no_controls(done.stderr), words


def test_a_rack_of_brackets_is_drawn_as_it_is() -> None:
    done = _kedge(*PLACE, "--brokers", "0:[/],1:[red]")
    assert done.returncode == 0
    assert b"rack [/] " in done.stdout
    assert b"rack [red]" in done.stdout


@pytest.mark.parametrize(
    ("shell", "code", "stderr"),
    [
        ("> /dev/full", 1, b"kedge: the output cannot be written: No space left on device\n"),
        ("<&- >&- 2>&-", 0, b""),
    ],
)
def test_an_output_that_cannot_be_written_is_no_traceback(
    shell: str, code: int, stderr: bytes
) -> None:
    done = _kedge(*TWO, shell=shell)
    assert (done.returncode, done.stderr) == (code, stderr)


def test_a_refusal_that_cannot_be_written_keeps_its_exit_code() -> None:
    assert _kedge("place", "--brokers", "x", shell="2> /dev/full").returncode == 2


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1", "LC_ALL": "C"}],
)
def test_any_encoding_of_the_output_will_do(environment: dict[str, str], tmp_path: Path) -> None:
    snapshot = _snapshot_with(tmp_path / "s.json", "é漢")
    out = tmp_path / "é漢.json"
    done = _kedge(*PLACE, "--brokers-file", str(snapshot), **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    asked = ("plan", "--snapshot", str(snapshot), "--out", str(out), "--output", "json")
    planned = _kedge(*asked, **environment)
    assert planned.returncode == 0
    json.loads(planned.stdout)


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "/dev/stdin", "directory"])
def test_an_input_that_is_no_regular_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = Path(kind) if kind.startswith("/") else tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    done = _kedge("explain", str(path), shell="< <(echo {})")
    assert done.returncode == 2, done
    assert done.stderr.count(b"\n") == 1
    assert b"file" in done.stderr
