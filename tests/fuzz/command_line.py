"""The program on damaged files: no traceback, no control characters, no long sentences."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.fuzz.documents import plan_document, snapshot_document
from tests.fuzz.driver import start
from tests.fuzz.mutation import maybe_packed, mutated_json

PROCESS_ONE_IN = 20
CODES = (0, 1, 2)
WALL_S_MAX = 60


def fuzz(seed: int) -> None:
    """Run a command in this process, and now and then as a process of its own."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        snapshot, plan = Path(directory, "s.json"), Path(directory, "p.json")
        snapshot.write_bytes(maybe_packed(mutated_json(snapshot_document(random), random), random))
        plan.write_bytes(maybe_packed(mutated_json(plan_document(random), random), random))
        words = _words(str(snapshot), str(plan), random)
        run = _process if seed % PROCESS_ONE_IN == 0 else _call
        code, stdout, stderr = run(words)
        assert code in CODES, f"{words} ended with {code}: {stderr}"
        assert "Traceback" not in stderr, stderr
        assert len(stderr) < 5_000, f"{words} said {len(stderr)} characters"
        controls = {*range(32), *range(127, 160)} - {9, 10}
        bad = [sign for sign in stdout + stderr if ord(sign) in controls]
        assert not bad, f"{words} wrote {bad[:5]}"


def _words(snapshot: str, plan: str, random: Random) -> list[str]:
    placed = ["--partitions", "3", "--replication-factor", "1", "--seed", "1"]
    words = random.choice(
        (
            ["place", "--brokers-file", snapshot, *placed],
            ["explain", plan],
            ["explain", plan, "--snapshot", snapshot],
            ["explain", plan, "--broker", "1"],
            ["plan", "verify", plan, "--snapshot", snapshot],
            ["plan", "--snapshot", snapshot, "--out", f"{plan}.out", "--tolerance", "0.1"],
        )
    )
    return [*words, "--output", random.choice(("table", "json"))]


def _call(words: list[str]) -> tuple[int, str, str]:
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    from kedge.cli.app import run

    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(words)
    return code, out.getvalue(), err.getvalue()


def _process(words: list[str]) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "kedge", *words],
        capture_output=True,
        env={**os.environ, "NO_COLOR": "1"},
        timeout=WALL_S_MAX,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


if __name__ == "__main__":
    start(fuzz)
