"""`python -m tests.pipeline.commit_kills --kills 100`: kill -9 of runs while they commit.

Runs without Spark, which do little else but commit three tables and the row of the run. After each
kill the tables must be those of the last complete run, whole.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kedge.errors import InvalidRequest
from kedge.pipeline.table_reader import Tables
from tests.pipeline.numbered_runs import after, contents, publish

LONGEST_S = 1.0


def publish_forever(root: Path) -> None:
    """One run after the other, each with its number as the value."""
    value = complete_runs(root)
    print("ready", flush=True)
    while True:
        value += 1
        publish(root, value)


def complete_runs(root: Path) -> int:
    """The number of the last complete run."""
    try:
        return Tables(root).run.number
    except InvalidRequest:
        return 0


def kill_once(root: Path, rng: random.Random) -> int:
    """Kill a process that publishes; returns the runs that are complete after it."""
    command = [sys.executable, "-m", "tests.pipeline.commit_kills", "--publish", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0, LONGEST_S))
        os.kill(process.pid, signal.SIGKILL)
    complete = complete_runs(root)
    if complete:
        assert contents(root) == after(*range(1, complete + 1))
    return complete


def main() -> int:
    """Kill and check; the seed is drawn unless it is given."""
    options = argparse.ArgumentParser(prog="python -m tests.pipeline.commit_kills")
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, help="drawn without")
    options.add_argument("--publish", type=Path, help=argparse.SUPPRESS)
    parsed = options.parse_args()
    if parsed.publish:
        publish_forever(parsed.publish)
    seed = parsed.seed if parsed.seed is not None else secrets.randbelow(1_000_000)
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="kedge-kills-") as scratch:
        runs = [kill_once(Path(scratch) / "history", rng) for _ in range(parsed.kills)]
    print(f"{parsed.kills} kills, {runs[-1]} complete runs, and never a part of one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
