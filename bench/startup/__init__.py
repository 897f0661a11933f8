"""Commands as a user starts them: a fresh process each time, with everything that it imports.

The lower bound of a command is measured in the same run: an interpreter that imports what every
plan needs (numpy, numba, highspy), and for `kedge --help` an interpreter that imports nothing.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench.balance import SEED
from bench.balance.clusters import cluster
from bench.balance.snapshots import snapshot_of
from bench.report import BenchRow, BenchSection, Timing
from bench.startup.timed import Phases, timed
from kedge.files import write_snapshot

RUNS = 3  # of each command; the first fills caches and is not counted
LIBRARIES = "import numpy, numba, highspy"


class PlanCase(NamedTuple):
    """A snapshot to plan for, as a file or as a directory of Parquet tables."""

    size: str
    file: str
    tolerance: str


CASES = (
    PlanCase("S", "S.json", "0.02"),
    PlanCase("M", "M.json", "0.02"),
    PlanCase("L", "L", "0.05"),
)


def run() -> BenchSection:
    """Every command several times, each in a process of its own."""
    bare = _fastest([sys.executable, "-c", "pass"])
    libraries = _fastest([sys.executable, "-c", LIBRARIES])
    rows = [
        _row(f"`kedge {text}`", _kedge(*text.split()), "`python -c pass`", bare)
        for text in ("--help", "topics --help")
    ]
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            path = Path(folder) / case.file
            write_snapshot(snapshot_of(cluster(case.size, "skew", SEED)), path)
            plan = Path(folder) / "plan.json"
            arguments = ["plan", "--snapshot", str(path), "--tolerance", case.tolerance]
            took = _kedge(*arguments, "--out", str(plan))
            name = f"`kedge plan --snapshot` {case.size}"
            rows.append(_row(name, took, f"`{LIBRARIES}`", libraries))
    return BenchSection(
        "startup",
        "Start-up",
        "Wall time of commands in a fresh process, everything included, the best of "
        f"{RUNS - 1} runs after a first one. Sizes are those of the balance section, S and M from "
        "JSON, L from Parquet. The peer is a lower bound: an interpreter that imports the "
        "libraries of a plan, or nothing. In brackets: CPU seconds of all threads, and of the "
        "main thread in imports, reading, bounds, search, and the rest (waves, reasons, writing).",
        tuple(rows),
    )


def _kedge(*arguments: str) -> Phases:
    """The wall time of the command as a user starts it; its phases, from a run of their own."""
    program = str(Path(sys.executable).with_name("kedge"))
    seconds = _fastest([program, *arguments]).seconds
    if arguments[0] != "plan":
        return Phases(seconds)
    _, text = timed([sys.executable, "-m", "bench.startup.timed", *arguments])
    return Phases(seconds, json.loads(text.splitlines()[-1]))


def _fastest(command: list[str]) -> Phases:
    """The fastest run but the first."""
    return Phases(min([timed(command)[0] for _ in range(RUNS)][1:]))


def _row(what: str, ours: Phases, peer: str, theirs: Phases) -> BenchRow:
    note = ", ".join(f"{name} {seconds:.2f}" for name, seconds in ours.cpu.items())
    took, least = (Timing(one.seconds, one.seconds) for one in (ours, theirs))
    return BenchRow(what, took, peer, least, note)
