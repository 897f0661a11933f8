"""`kedge plan` that is stopped while it searches, by a time limit or by Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from kedge.files import write_snapshot
from kedge.model import Assignment, Capacity, Snapshot
from kedge.plan import parse_plan
from tests.balance.snapshots import CPU, GB, broker

STOPPED = re.compile(
    r"the search was stopped before its end: this is the best plan found by then, "
    r"(\d+\.\d) % above the bound of bytes moved"
)
AT_MOST = 120.0  # seconds: far more than any step takes on a busy machine


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """Partitions too large to fill brokers evenly: the search comes nowhere near its bound."""
    rng = np.random.default_rng(3)
    brokers = [broker(b, f"r{b % 3}", capacity=Capacity(4e12, 1e9, 1e9, 1e4)) for b in range(9)]
    rows = [(f"t{p % 7}", p // 7, rng.permutation(9)[:2].tolist()) for p in range(150)]
    cluster = Snapshot.of(
        brokers,
        Assignment.from_rows(rows),
        cluster_id="uneven",
        size=(rng.lognormal(0, 1, 150) * 20 * GB).astype(np.int64),
        bytes_in=rng.lognormal(0, 1, 150) * 1e5,
        bytes_out=rng.lognormal(0, 1, 150) * 1e5,
        cpu_model=CPU,
    )
    path = tmp_path / "cluster.json"
    write_snapshot(cluster, path)
    return path


def command(snapshot: Path, *more: str) -> list[str]:
    plan = str(snapshot.with_name("plan.json"))
    words = ["plan", "--snapshot", str(snapshot), "--tolerance", "0.01", "--out", plan, *more]
    return [sys.executable, "-m", "kedge", *words]


def gap_of_stopped_plan(snapshot: Path, shown: str) -> float:
    """Verify the plan that was written; the gap to the bound in its note, which was also shown."""
    path = snapshot.with_name("plan.json")
    verify = ["plan", "verify", str(path), "--snapshot", str(snapshot), "--output", "json"]
    checked = subprocess.run(
        [sys.executable, "-m", "kedge", *verify], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    assert json.loads(checked.stdout) == {"findings": []}
    plan = parse_plan(path.read_bytes())
    found = [match for note in plan.notes if (match := STOPPED.fullmatch(note))]
    assert len(found) == 1, plan.notes
    assert found[0].group() in shown
    gap = float(found[0].group(1))
    summary = plan.summary
    assert summary is not None
    assert summary.bytes_moved is not None
    assert summary.bytes_moved_lower_bound
    exact = 100 * (summary.bytes_moved / summary.bytes_moved_lower_bound - 1)
    assert gap == pytest.approx(exact, abs=0.051)
    return gap


def test_a_time_limit_ends_the_search_with_the_best_plan_so_far(snapshot: Path) -> None:
    began = monotonic()
    done = subprocess.run(
        command(snapshot, "--time-limit", "0.5"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert monotonic() - began < AT_MOST
    assert gap_of_stopped_plan(snapshot, done.stdout) >= 0


def test_ctrl_c_ends_the_search_with_the_best_plan_so_far(snapshot: Path) -> None:
    screen, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    search = subprocess.Popen(
        command(snapshot, "--time-limit", "600"),
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        env=environment,
    )
    os.close(terminal)
    try:
        progress = read_until(screen, r"anneal: \d+ moves, .*\(bound .*, \+\d+\.\d %\)")
        search.send_signal(signal.SIGINT)
        shown, _ = search.communicate(timeout=AT_MOST)
    finally:
        search.kill()
        search.wait()
        os.close(screen)
    assert "drain: " in progress
    assert search.returncode == 0
    assert gap_of_stopped_plan(snapshot, shown) >= 0


def read_until(screen: int, pattern: str) -> str:
    """What was written to a terminal until it matches a pattern."""
    text = ""
    while not re.search(pattern, text):
        piece = os.read(screen, 4096)
        assert piece, text
        text += piece.decode(errors="replace")
    return text
